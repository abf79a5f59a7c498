"""Time series from the ledger, short enough to draw: every point is a true sum or mean over the rows it stands for.

`read_history` never reads more rows than a few thousand, however long the run is: see `understudy.ledger.history`.
"""

from __future__ import annotations

import itertools
import json
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from understudy.experience.archive import OTHER_ACTIONS
from understudy.ledger.connection import Ledger
from understudy.ledger.history import GAME_SIZES, METRIC_SIZES, VERSION_SIZES, finite_numbers, version_numbers
from understudy.models.intervals import wilson

_RATE_GAMES = 50  # a win rate is over at least so many games, where there are so many
_BARS = 40
_SHOWN_ACTIONS = 12
_ROWS_A_POINT = 8  # at most so many rows or blocks are read for a point: a look must not cost much CPU


@dataclass(frozen=True, slots=True)
class Series:
    """One metric. Point i stands for the versions up to `x[i]`; `low` and `high` are the extremes among them."""

    x: list[int] = field(default_factory=list)
    at: list[float] = field(default_factory=list)
    value: list[float] = field(default_factory=list)
    low: list[float] = field(default_factory=list)
    high: list[float] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Rates:
    """A win rate, a tie counting half. Point i is over `games[i]` games that ended with `x[i]`; low to high holds 95 %.

    By version, `x[i]` is the first and `to[i]` the last version of a range that played.
    """

    x: list[int] = field(default_factory=list)
    to: list[int] = field(default_factory=list)
    at: list[float] = field(default_factory=list)
    value: list[float] = field(default_factory=list)
    low: list[float] = field(default_factory=list)
    high: list[float] = field(default_factory=list)
    games: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Mix:
    """What was decided: for each label its share of all decisions of the games up to `x[i]`."""

    x: list[int] = field(default_factory=list)
    at: list[float] = field(default_factory=list)
    shares: dict[str, list[float]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class History:
    """Everything that changes over time in a run."""

    versions: int = 0
    games: int = 0
    metrics: dict[str, Series] = field(default_factory=dict)
    win_rate: Rates = field(default_factory=Rates)
    by_axis: dict[str, dict[str, Rates]] = field(default_factory=dict)
    """Axis of results → value → rates, as difficulty → Hard → …"""
    by_version: Rates = field(default_factory=Rates)
    mix: Mix = field(default_factory=Mix)


def read_history(ledger: Ledger, *, points: int = 400, since: float = 0.0) -> History:
    """The whole history, or what came after the time `since`, in at most `points` points a line."""
    head = ledger.head() or 0
    ((last_game,),) = ledger.query("SELECT coalesce(max(rowid), 0) FROM games")
    window = max(_RATE_GAMES, last_game // 50)
    return History(
        versions=head,
        games=last_game,
        metrics=_metrics(ledger, head, points, since),
        win_rate=_rates_by_game(ledger, last_game, points, since, window),
        by_axis=_rates_by_axis(ledger, last_game, points, since, window),
        by_version=_rates_by_version(ledger, since),
        mix=_mix(ledger, last_game, points, since),
    )


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
    """Neighbouring blocks, merged."""

    x: int = 0
    since: float = math.inf
    until: float = -math.inf
    sums: defaultdict[str, _Sum] = field(default_factory=lambda: defaultdict(_Sum))


def _metrics(ledger: Ledger, head: int, points: int, since: float) -> dict[str, Series]:
    first = _first_version(ledger, since)
    size = _size(head - first + 1, (1, *METRIC_SIZES), points)
    group = _group(head // size - first // size + 1, points)
    rows = _version_rows(ledger, first) if size == 1 else _block_rows(ledger, size, first // size)
    spans: dict[int, _Span] = {}
    for block, name, n, total, low, high, begin, end in rows:
        number = block // group
        span = spans.setdefault(number, _Span(min((number + 1) * group * size - 1, head)))
        span.since, span.until = min(span.since, begin), max(span.until, end)
        span.sums[name].add(n, total, low, high)
    return _as_series([spans[number] for number in sorted(spans)])


def _first_version(ledger: Ledger, since: float) -> int:
    """The first version published at or after a time, to within the largest block."""
    if since <= 0:
        ((first,),) = ledger.query("SELECT coalesce(min(version), 0) FROM versions")
        return int(first)
    size = METRIC_SIZES[0]
    ((block,),) = ledger.query("SELECT min(block) FROM metric_blocks WHERE size = ? AND until >= ?", (size, since))
    return (ledger.head() or 0) + 1 if block is None else int(block) * size


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
    series.value.append(value)
    series.low.append(low)
    series.high.append(high)


# ---- results --------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Results:
    x: int
    to: int
    until: float = 0.0
    won: int = 0
    lost: int = 0
    tied: int = 0

    @property
    def games(self) -> int:
        return self.won + self.lost + self.tied


def _rates_by_game(ledger: Ledger, games: int, points: int, since: float, window: int) -> Rates:
    size, group = _game_blocks(games, points)
    rows = ledger.query(
        "SELECT block, won, lost, tied, until FROM result_blocks"
        " WHERE along = 'game' AND size = ? AND until >= ? ORDER BY block",
        (size, since),
    )
    return _trailing(_grouped(rows, group, size, games), window)


def _rates_by_axis(ledger: Ledger, games: int, points: int, since: float, window: int) -> dict[str, dict[str, Rates]]:
    size, group = _game_blocks(games, points)
    rows = ledger.query(
        "SELECT axis, value, block, won, lost, tied, until FROM axis_blocks"
        " WHERE size = ? AND until >= ? ORDER BY axis, value, block",
        (size, since),
    )
    rates: defaultdict[str, dict[str, Rates]] = defaultdict(dict)
    for (axis, value), of_one in itertools.groupby(rows, key=lambda row: (row[0], row[1])):
        rates[axis][value] = _trailing(_grouped([row[2:] for row in of_one], group, size, games), window)
    return dict(rates)


def _grouped(rows: Iterable[Sequence[Any]], group: int, size: int, games: int) -> list[_Results]:
    """Results of (block, won, lost, tied, until), `group` neighbouring blocks in one."""
    found: dict[int, _Results] = {}
    for block, won, lost, tied, until in rows:
        number = block // group
        last = min((number + 1) * group * size - 1, games)
        part = found.setdefault(number, _Results(last, last))
        part.won, part.lost, part.tied = part.won + won, part.lost + lost, part.tied + tied
        part.until = max(part.until, until)
    return list(found.values())


def _rates_by_version(ledger: Ledger, since: float) -> Rates:
    of_one = "FROM result_blocks WHERE along = 'version' AND size = 1"
    ((oldest, newest),) = ledger.query(f"SELECT (SELECT min(block) {of_one}), (SELECT max(block) {of_one})")
    if oldest is None:
        return Rates()
    size = _size(newest - oldest + 1, VERSION_SIZES, _BARS)
    group = _group(newest // size - oldest // size + 1, _BARS)
    bars: dict[int, _Results] = {}
    for block, won, lost, tied, until in ledger.query(
        "SELECT block, sum(won), sum(lost), sum(tied), max(until) FROM result_blocks"
        " WHERE along = 'version' AND size = ? AND until >= ? GROUP BY block ORDER BY block",
        (size, since),
    ):
        number = block // group
        first = max(number * group * size, oldest)
        bar = bars.setdefault(number, _Results(first, min((number + 1) * group * size - 1, newest)))
        bar.won, bar.lost, bar.tied, bar.until = bar.won + won, bar.lost + lost, bar.tied + tied, until
    return _trailing(list(bars.values()), 0)


def _trailing(results: Sequence[_Results], window: int) -> Rates:
    """The rate at each point over its own games and as many before as make up the window."""
    rates = Rates()
    start, won, games = 0, 0.0, 0
    for end, point in enumerate(results):
        won += point.won + point.tied / 2
        games += point.games
        while start < end and games - results[start].games >= window:
            games -= results[start].games
            won -= results[start].won + results[start].tied / 2
            start += 1
        if not games:
            continue
        low, high = wilson(won, games)
        for name, value in (("x", point.x), ("to", point.to), ("at", point.until), ("value", won / games)):
            getattr(rates, name).append(value)
        rates.low.append(low)
        rates.high.append(high)
        rates.games.append(games)
    return rates


# ---- decisions ------------------------------------------------------------------------------------------------------


def _mix(ledger: Ledger, games: int, points: int, since: float) -> Mix:
    size, group = _game_blocks(games, points)
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


def _game_blocks(games: int, points: int) -> tuple[int, int]:
    """The size of block to read, and how many of them make a point."""
    size = _size(games, GAME_SIZES, points)
    return size, _group(games // size + 1, points)


def _size(rows: int, sizes: Sequence[int], points: int) -> int:
    """The finest block of which not too many are needed."""
    return next((size for size in sizes if rows / size <= _ROWS_A_POINT * points), sizes[-1])


def _group(blocks: int, points: int) -> int:
    """How many neighbouring blocks make a point. They begin at multiples of it, which may take one point more."""
    return max(math.ceil(blocks / max(points - 1, 1)), 1)
