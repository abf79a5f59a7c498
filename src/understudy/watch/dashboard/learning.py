"""How learning goes: every figure of the updates, how fast it is, and how results differ by opponent and version."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial

from understudy.games.spec import all_axes
from understudy.watch.dashboard import charts, words
from understudy.watch.dashboard.charts import Form, Line, Options
from understudy.watch.dashboard.overview import metric_card, mix_card, win_rate_card
from understudy.watch.dashboard.parts import Update, box, chart_card
from understudy.watch.dashboard.runs import Watched
from understudy.watch.history import Rates

_UNKNOWN = "No finished game says it yet."

# Metric, how its values read, and the bounds of its axis.
_METRICS: tuple[tuple[str, Form, float | None, float | None], ...] = (
    ("loss", "number", None, None),
    ("entropy", "number", 0, None),
    ("kl", "number", 0, None),
    ("clip_fraction", "percent", 0, None),
    ("value_loss", "number", 0, None),
    ("explained_variance", "number", -1, 1),
    ("staleness", "number", 0, None),
    ("effective_sample_size", "percent", 0, 1),
    ("mean_return", "number", None, None),
    ("games_per_second", "number", 0, None),
    ("samples_per_second", "number", 0, None),
    ("grad_norm", "number", 0, None),
    ("learning_rate", "number", 0, None),
    ("entropy_weight", "number", 0, None),
    ("shortened", "percent", 0, 1),
)
_BARS = 14


def show(watched: Watched) -> list[Update]:
    """A chart for each metric."""
    with box("grid"):
        return [metric_card(watched, *metric) for metric in _METRICS]


def show_results(watched: Watched) -> list[Update]:
    """Win rates by version and by each result axis, and what was decided."""
    axes = axis_titles(watched.history.by_axis)
    with box("grid wide"):
        updates = [win_rate_card(watched), mix_card(watched)]
    bars: tuple[tuple[str, Callable[[], Options | None]], ...] = (
        ("By model version", lambda: _by_version(watched.history.by_version)),
        *((f"By {title.lower()}", partial(_bars_of, watched, axis)) for axis, title in axes.items()),
    )
    lines: tuple[tuple[str, Callable[[], Options | None]], ...] = tuple(
        (f"{title} over time", partial(_lines_of, watched, axis)) for axis, title in axes.items()
    )
    with box("grid"):
        for title, options in bars:
            unit = "% won, 95 % confidence (games)"
            updates.append(chart_card("win_rate", options, title=title, unit=unit, empty=_UNKNOWN, tall=True))
    with box("grid wide"):
        for title, options in lines:
            updates.append(chart_card("win_rate", options, title=title, unit="% won", empty=_UNKNOWN))
    return updates


def axis_titles(found: Iterable[str]) -> dict[str, str]:
    """Title of each axis that the run has results by: first those that games declare, in their order."""
    declared = {axis.note: axis.title for axis in all_axes()}
    known = set(found)
    titles = {axis: title for axis, title in declared.items() if axis in known}
    return titles | {axis: axis.replace("_", " ").capitalize() for axis in sorted(known - declared.keys())}


def _bars_of(watched: Watched, axis: str) -> Options | None:
    return _by_name(watched.history.by_axis.get(axis, {}))


def _lines_of(watched: Watched, axis: str) -> Options | None:
    return _over_time(watched.history.by_axis.get(axis, {}))


def _by_name(rates: Mapping[str, Rates]) -> Options | None:
    """The latest rate of each name."""
    rows = [
        (f"{name or 'unknown'} ({words.count(of.games[-1])})", of.value[-1], of.low[-1], of.high[-1])
        for name, of in rates.items()
        if of.value
    ]
    return charts.rate_bars(rows[:_BARS]) if rows else None


def _by_version(rates: Rates) -> Options | None:
    points = zip(rates.x, rates.to, rates.games, rates.value, rates.low, rates.high, strict=True)
    rows = [
        (f"v{first} ({words.count(games)})" if first == last else f"v{first}–{last} ({words.count(games)})", *rate)
        for first, last, games, *rate in points
    ]
    return charts.rate_bars(rows[-_BARS:]) if rows else None


def _over_time(rates: Mapping[str, Rates]) -> Options | None:
    lines = [
        Line(name or "unknown", list(zip(of.x, of.value, strict=True)), charts.COLORS[number % len(charts.COLORS)])
        for number, (name, of) in enumerate(rates.items())
        if of.x
    ]
    return charts.line_chart(lines, x_name="game", form="percent", low=0, high=1) if lines else None
