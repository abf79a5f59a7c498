"""Win rates from the ledger: over games, by version and by result axis, for each purpose of games."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from understudy.ledger.connection import Ledger
from understudy.ledger.history import EVALUATION, GAME_SIZES, VERSION_SIZES, labelled
from understudy.models.intervals import wilson

_RATE_GAMES = 50  # a win rate covers at least this many games, if there are as many
_BARS = 40
_ROWS_A_POINT = 8  # most rows or blocks read for a point: a refresh must not cost much CPU


@dataclass(frozen=True, slots=True)
class Rates:
    """A win rate; a tie counts half. Point i covers the `games[i]` games up to game `x[i]`.

    `low` and `high` are its 95 % confidence interval. By version, `x[i]` is the first and `to[i]` the last version of a
    range that played.
    """

    x: list[int] = field(default_factory=list)
    to: list[int] = field(default_factory=list)
    at: list[float] = field(default_factory=list)
    value: list[float] = field(default_factory=list)
    low: list[float] = field(default_factory=list)
    high: list[float] = field(default_factory=list)
    games: list[int] = field(default_factory=list)
    played: list[int] = field(default_factory=list)
    """The number of games of this series up to each point."""


@dataclass(frozen=True, slots=True)
class Results:
    """Win rates of the games of one purpose: over games, by the version that played, by result axis and value."""

    rate: Rates = field(default_factory=Rates)
    by_version: Rates = field(default_factory=Rates)
    by_axis: dict[str, dict[str, Rates]] = field(default_factory=dict)


@dataclass(slots=True)
class _Counts:
    x: int
    to: int
    until: float = 0.0
    won: int = 0
    lost: int = 0
    tied: int = 0

    @property
    def games(self) -> int:
        return self.won + self.lost + self.tied


def read_results(ledger: Ledger, games: int, points: int, since: float) -> dict[str, Results]:
    """Results by purpose; the bot's own games have the purpose ''. In evaluation, each version is one point."""
    window = max(_RATE_GAMES, games // 50)
    size, group = game_blocks(games, points)
    found = {
        purpose: Results(
            _rates_by_game(ledger, purpose, (size, group, games), since, window),
            _rates_by_version(ledger, purpose, since),
        )
        for purpose in _purposes(ledger)
    }
    for axis, values in _rates_by_axis(ledger, (size, group, games), since, window).items():
        # A purpose and a note; both may contain spaces.
        purpose = max((name for name in found if name and axis.startswith(f"{name} ")), key=len, default="")
        found.setdefault(purpose, Results()).by_axis[axis.removeprefix(purpose).lstrip()] = values
    if evaluated := _evaluations(ledger, since):
        rate = _trailing(evaluated, 0)
        found[EVALUATION] = Results(rate, rate, found.get(EVALUATION, Results()).by_axis)
    return found


def _purposes(ledger: Ledger) -> list[str]:
    rows = ledger.query("SELECT DISTINCT along FROM result_blocks WHERE along LIKE '%game'")
    return sorted(along.removesuffix("game").strip() for (along,) in rows)


def _rates_by_game(ledger: Ledger, purpose: str, blocks: tuple[int, int, int], since: float, window: int) -> Rates:
    size, group, games = blocks
    rows = ledger.query(
        "SELECT block, won, lost, tied, until FROM result_blocks"
        " WHERE along = ? AND size = ? AND until >= ? ORDER BY block",
        (labelled(purpose, "game"), size, since),
    )
    return _trailing(_grouped(rows, group, size, games), window)


def _rates_by_axis(
    ledger: Ledger, blocks: tuple[int, int, int], since: float, window: int
) -> dict[str, dict[str, Rates]]:
    size, group, games = blocks
    rows = ledger.query(
        "SELECT axis, value, block, won, lost, tied, until FROM axis_blocks"
        " WHERE size = ? AND until >= ? ORDER BY axis, value, block",
        (size, since),
    )
    rates: defaultdict[str, dict[str, Rates]] = defaultdict(dict)
    for (axis, value), of_one in itertools.groupby(rows, key=lambda row: (row[0], row[1])):
        rates[axis][value] = _trailing(_grouped([row[2:] for row in of_one], group, size, games), window)
    return dict(rates)


def _evaluations(ledger: Ledger, since: float) -> list[_Counts]:
    """The results of each evaluated version, by the evaluator that was used last."""
    if not ledger.query("SELECT 1 FROM sqlite_master WHERE name = 'evaluations'"):
        return []
    found: dict[int, _Counts] = {}
    for version, results, at in ledger.query(
        "SELECT version, results, at FROM evaluations WHERE at >= ? AND evaluator ="
        " (SELECT evaluator FROM evaluations ORDER BY at DESC LIMIT 1) ORDER BY version",
        (since,),
    ):
        part = found.setdefault(version, _Counts(version, version))
        for name, letter in (("won", "W"), ("lost", "L"), ("tied", "T")):
            setattr(part, name, getattr(part, name) + results.count(letter))
        part.until = max(part.until, at)
    return list(found.values())


def _grouped(rows: Iterable[Sequence[Any]], group: int, size: int, games: int) -> list[_Counts]:
    """Results of (block, won, lost, tied, until), with `group` neighbouring blocks merged."""
    found: dict[int, _Counts] = {}
    for block, won, lost, tied, until in rows:
        number = block // group
        last = min((number + 1) * group * size - 1, games)
        part = found.setdefault(number, _Counts(last, last))
        part.won, part.lost, part.tied = part.won + won, part.lost + lost, part.tied + tied
        part.until = max(part.until, until)
    return list(found.values())


def _rates_by_version(ledger: Ledger, purpose: str, since: float) -> Rates:
    along = labelled(purpose, "version")
    of_one = "FROM result_blocks WHERE along = ? AND size = 1"
    ((oldest, newest),) = ledger.query(
        f"SELECT (SELECT min(block) {of_one}), (SELECT max(block) {of_one})", (along, along)
    )
    if oldest is None:
        return Rates()
    size = block_size(newest - oldest + 1, VERSION_SIZES, _BARS)
    group = group_size(newest // size - oldest // size + 1, _BARS)
    bars: dict[int, _Counts] = {}
    for block, won, lost, tied, until in ledger.query(
        "SELECT block, sum(won), sum(lost), sum(tied), max(until) FROM result_blocks"
        " WHERE along = ? AND size = ? AND until >= ? GROUP BY block ORDER BY block",
        (along, size, since),
    ):
        number = block // group
        first = max(number * group * size, oldest)
        bar = bars.setdefault(number, _Counts(first, min((number + 1) * group * size - 1, newest)))
        bar.won, bar.lost, bar.tied, bar.until = bar.won + won, bar.lost + lost, bar.tied + tied, until
    return _trailing(list(bars.values()), 0)


def _trailing(results: Sequence[_Counts], window: int) -> Rates:
    """The rate at each point over its own games and enough earlier ones to fill the window."""
    rates = Rates()
    start, won, games, played = 0, 0.0, 0, 0
    for end, point in enumerate(results):
        played += point.games
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
        rates.played.append(played)
    return rates


def game_blocks(games: int, points: int) -> tuple[int, int]:
    """The size of block to read, and the number of blocks per point."""
    size = block_size(games, GAME_SIZES, points)
    return size, group_size(games // size + 1, points)


def block_size(rows: int, sizes: Sequence[int], points: int) -> int:
    """The finest block size that does not need too many blocks."""
    return next((size for size in sizes if rows / size <= _ROWS_A_POINT * points), sizes[-1])


def group_size(blocks: int, points: int) -> int:
    """The number of neighbouring blocks per point. They begin at multiples of it, which may need one more point."""
    return max(math.ceil(blocks / max(points - 1, 1)), 1)
