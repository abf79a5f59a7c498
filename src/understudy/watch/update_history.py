"""The metrics of self-play per update, as series to draw."""

from __future__ import annotations

import dataclasses
import itertools
from pathlib import Path

from understudy.run.update_log import Row, merged, read_updates
from understudy.watch.history import RunHistory, Series
from understudy.watch.win_rates import group_size

UPDATE = "update"


def with_updates(history: RunHistory, path: Path, points: int = 400) -> RunHistory:
    """The history with metrics per update instead of per version, if the run has them."""
    rows = read_updates(path)
    if not rows:
        return history
    players = rows[-1]["values"].get("players")
    known = None if players is None else round(players)
    return dataclasses.replace(history, metrics=as_series(rows, points), along=UPDATE, players=known)


def as_series(rows: list[Row], points: int) -> dict[str, Series]:
    """At most `points` points for each metric; a point that stands for several rows has their extremes."""
    size = group_size(len(rows), points)
    groups = [rows[start : start + size] for start in range(0, len(rows), size)]
    series: dict[str, Series] = {}
    for group in groups:
        for name, value in merged(group)["values"].items():
            of_rows = [row["values"][name] for row in group if name in row["values"]]
            _append(series.setdefault(name, Series()), group[-1], value, min(of_rows), max(of_rows))
    for before, group in itertools.pairwise(groups):
        seconds = group[-1]["at"] - before[-1]["at"]
        for name, counted in (("games_per_second", "games"), ("samples_per_second", "decisions")):
            if seconds > 0:
                rate = (group[-1][counted] - before[-1][counted]) / seconds
                _append(series.setdefault(name, Series()), group[-1], rate, rate, rate)
    return series


def _append(series: Series, row: Row, value: float, low: float, high: float) -> None:
    places = (row["update"], row["at"], row["games"], row["decisions"], row["version"])
    names = ("x", "at", "games", "decisions", "version")
    for name, number in zip((*names, "value", "low", "high"), (*places, value, low, high), strict=True):
        getattr(series, name).append(number)
