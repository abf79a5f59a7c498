"""Time series from the ledger, short enough to draw: every point is the sum or mean of the rows it stands for.

`read_history` reads at most a few thousand rows, however long the run is: see `understudy.ledger.history`.
"""

from __future__ import annotations

import itertools
import json
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from understudy.experience.archive import OTHER_ACTIONS
from understudy.ledger.connection import Ledger
from understudy.ledger.history import EVALUATION, METRIC_SIZES, PRACTICE, PURPOSE, finite_numbers, version_numbers
from understudy.watch.win_rates import Rates, Results, block_size, game_blocks, group_size, read_results

_SHOWN_ACTIONS = 12
_RETURNS = 200


@dataclass(frozen=True, slots=True)
class Series:
    """One metric. Point i stands for the versions (or updates) up to `x[i]`; `low` and `high` are their extremes.

    `at`, `games`, `decisions` and `version` are the positions of each point on other x-axes.
    """

    x: list[int] = field(default_factory=list)
    at: list[float] = field(default_factory=list)
    games: list[float] = field(default_factory=list)
    decisions: list[float] = field(default_factory=list)
    version: list[int] = field(default_factory=list)
    value: list[float] = field(default_factory=list)
    low: list[float] = field(default_factory=list)
    high: list[float] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Mix:
    """The actions: for each label, its share of all decisions in the games up to `x[i]`."""

    x: list[int] = field(default_factory=list)
    at: list[float] = field(default_factory=list)
    shares: dict[str, list[float]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RunHistory:
    """All time series of a run."""

    versions: int = 0
    games: int = 0
    metrics: dict[str, Series] = field(default_factory=dict)
    along: str = "model version"
    """The x-axis of the metrics: model versions, or updates of self-play."""
    win_rate: Rates = field(default_factory=Rates)
    by_axis: dict[str, dict[str, Rates]] = field(default_factory=dict)
    """Result axis → value → rates, for example opponent → random → …"""
    by_version: Rates = field(default_factory=Rates)
    others: dict[str, Results] = field(default_factory=dict)
    """The same for games that are not the bot's own, by purpose: practice, trial, evaluation."""
    mix: Mix = field(default_factory=Mix)
    returns: list[float] = field(default_factory=list)
    """Returns of the bot's own latest games, oldest first, if none has a winner and so there is no win rate."""
    last_played: int | None = None
    """The version that played the bot's latest game."""
    players: int | None = None
    """The number of players in a self-play run, if it was recorded."""


def read_history(ledger: Ledger, *, points: int = 400, since: float = 0.0) -> RunHistory:
    """The whole history, or the part after the time `since`, with at most `points` points per line."""
    head = ledger.head() or 0
    ((last_game,),) = ledger.query("SELECT coalesce(max(rowid), 0) FROM games")
    results = read_results(ledger, last_game, points, since)
    own = results.pop("", Results())
    return RunHistory(
        versions=head,
        games=last_game,
        metrics=_metrics(ledger, head, points, since),
        win_rate=own.rate,
        by_axis=own.by_axis,
        by_version=own.by_version,
        others=results,
        mix=_mix(ledger, last_game, points, since),
        returns=[] if own.rate.games else _returns(ledger),
        last_played=_last_played(ledger),
    )


def _returns(ledger: Ledger) -> list[float]:
    own = f"json_extract(axes, '$.{PURPOSE}') IS NULL AND outcome != 'evaluated'"
    rows = ledger.query(f"SELECT reward FROM games WHERE {own} ORDER BY rowid DESC LIMIT ?", (_RETURNS,))
    return [reward for (reward,) in reversed(rows)]


def _last_played(ledger: Ledger) -> int | None:
    by_bot = f"coalesce(json_extract(axes, '$.{PURPOSE}'), '') NOT IN ('{PRACTICE}', '{EVALUATION}')"
    newest = f"SELECT played_by, axes, ended FROM games ORDER BY rowid DESC LIMIT {_RETURNS}"
    query = f"SELECT played_by FROM ({newest}) WHERE played_by IS NOT NULL AND {by_bot} ORDER BY ended DESC LIMIT 1"
    return next((version for (version,) in ledger.query(query)), None)


# ---- metrics --------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Sum:
    n: int = 0
    total: float = 0.0
    low: float = math.inf
    high: float = -math.inf

    def add(self, n: int, total: float, low: float, high: float) -> None:
        self.n += n
        self.total += total
        self.low, self.high = min(self.low, low), max(self.high, high)


@dataclass(slots=True)
class _Span:
    """Merged neighbouring blocks."""

    x: int = 0
    games: float = 0.0
    decisions: float = 0.0
    since: float = math.inf
    until: float = -math.inf
    sums: defaultdict[str, _Sum] = field(default_factory=lambda: defaultdict(_Sum))


def _metrics(ledger: Ledger, head: int, points: int, since: float) -> dict[str, Series]:
    first = _first_version(ledger, since)
    size = block_size(head - first + 1, (1, *METRIC_SIZES), points)
    group = group_size(head // size - first // size + 1, points)
    rows = _version_rows(ledger, first) if size == 1 else _block_rows(ledger, size, first // size)
    spans: dict[int, _Span] = {}
    for block, name, n, total, low, high, begin, end in rows:
        number = block // group
        span = spans.setdefault(number, _Span(min((number + 1) * group * size - 1, head)))
        span.since, span.until = min(span.since, begin), max(span.until, end)
        span.sums[name].add(n, total, low, high)
    ordered = [spans[number] for number in sorted(spans)]
    for before, span in itertools.pairwise([_Span(), *ordered]):
        span.games = before.games + span.sums["games"].total
        span.decisions = before.decisions + span.sums["steps"].total
    return _as_series(ordered)


def _first_version(ledger: Ledger, since: float) -> int:
    """The first version published at or after a time, rounded to the largest block."""
    if since <= 0:
        size = METRIC_SIZES[-1]  # blocks of this size are never deleted
        ((block,),) = ledger.query("SELECT min(block) FROM metric_blocks WHERE size = ?", (size,))
        ((first,),) = ledger.query("SELECT coalesce(min(version), 0) FROM versions")
        return int(first) if block is None or first - block * size < size else int(block) * size
    for size in METRIC_SIZES:  # the small blocks of old versions were deleted
        ((block,),) = ledger.query("SELECT min(block) FROM metric_blocks WHERE size = ? AND until >= ?", (size, since))
        if block is None:
            break
        ((oldest,),) = ledger.query("SELECT min(block) FROM metric_blocks WHERE size = ?", (size,))
        if block > oldest or size == METRIC_SIZES[-1]:
            return int(block) * size
    return (ledger.head() or 0) + 1


def _version_rows(ledger: Ledger, first: int) -> Iterable[tuple[int, str, int, float, float, float, float, float]]:
    for version, at, games, steps, seconds, loss, stats in ledger.query(
        "SELECT version, at, games, steps, seconds, loss, stats FROM versions WHERE version >= ? ORDER BY version",
        (first,),
    ):
        for name, value in finite_numbers(version_numbers(games, steps, seconds, loss, json.loads(stats))).items():
            yield version, name, 1, value, value, value, at, at


def _block_rows(
    ledger: Ledger, size: int, first: int
) -> Iterable[tuple[int, str, int, float, float, float, float, float]]:
    return ledger.query(
        "SELECT block, name, n, total, low, high, since, until FROM metric_blocks WHERE size = ? AND block >= ?",
        (size, first),
    )


def _as_series(spans: Sequence[_Span]) -> dict[str, Series]:
    series: defaultdict[str, Series] = defaultdict(Series)
    for span in spans:
        for name, part in span.sums.items():
            if part.n:
                _append(series[name], span, part.total / part.n, part.low, part.high)
    for name, of in (("games_per_second", "games"), ("samples_per_second", "steps")):
        for before, span in itertools.pairwise(spans):
            if span.until > before.until and span.sums[of].total:
                rate = span.sums[of].total / (span.until - before.until)
                _append(series[name], span, rate, rate, rate)
    return dict(series)


def _append(series: Series, span: _Span, value: float, low: float, high: float) -> None:
    series.x.append(span.x)
    series.at.append(span.until)
    series.games.append(span.games)
    series.decisions.append(span.decisions)
    series.version.append(span.x)
    series.value.append(value)
    series.low.append(low)
    series.high.append(high)


# ---- decisions ------------------------------------------------------------------------------------------------------


def _mix(ledger: Ledger, games: int, points: int, since: float) -> Mix:
    size, group = game_blocks(games, points)
    times = dict(
        ledger.query(
            "SELECT block, max(until) FROM result_blocks"
            " WHERE along = 'game' AND size = ? AND until >= ? GROUP BY block",
            (size, since),
        )
    )
    counts: defaultdict[int, defaultdict[str, int]] = defaultdict(lambda: defaultdict(int))
    at: dict[int, float] = {}
    totals: defaultdict[str, int] = defaultdict(int)
    for block, label, n in ledger.query("SELECT block, label, n FROM action_blocks WHERE size = ?", (size,)):
        if block in times:
            number = block // group
            counts[number][label] += n
            totals[label] += n
            at[number] = max(at.get(number, 0.0), times[block])
    return _shares(counts, at, totals, group * size, games)


def _shares(
    counts: Mapping[int, Mapping[str, int]], at: Mapping[int, float], totals: Mapping[str, int], step: int, games: int
) -> Mix:
    ranked = sorted((label for label in totals if label != OTHER_ACTIONS), key=lambda label: (-totals[label], label))
    shown = ranked[:_SHOWN_ACTIONS]
    mix = Mix(shares={label: [] for label in shown})
    rest: list[float] = []
    for number in sorted(counts):
        part = counts[number]
        total = sum(part.values())
        mix.x.append(min((number + 1) * step - 1, games))
        mix.at.append(at[number])
        for label in shown:
            mix.shares[label].append(part.get(label, 0) / total)
        rest.append((total - sum(part.get(label, 0) for label in shown)) / total)
    if any(rest):
        mix.shares[OTHER_ACTIONS] = rest
    return mix
