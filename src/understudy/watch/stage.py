"""The data about the stage: the gate's report, ratings, pairwise results, and results by opponent."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from understudy.errors import RunDirError
from understudy.ledger.arena import arena_results
from understudy.ledger.connection import Ledger
from understudy.ledger.gate import has_gate
from understudy.models.gate_report import GateReport, report_of
from understudy.models.ratings import PairResults, Rating, fit
from understudy.watch.ledger_reading import open_gate_ledger

EVALUATION_GAMES = "evaluation games"
_NAME = re.compile(r".* v(\d+)")
_Counts = Counter[int]  # of results: 1, 0, −1
_MOST_RATED = 200


@dataclass(frozen=True, slots=True)
class StageRecord:
    """Live games against one opponent: games and points of champion and line, and the file of the newest game."""

    opponent: str
    champion_games: int
    champion_points: float
    line_games: int
    line_points: float
    file: str


@dataclass(frozen=True, slots=True)
class StageView:
    """The content of the page Stage."""

    trouble: str = ""
    """Why the ledger could not be read."""
    report: GateReport | None = None
    ratings: tuple[Rating, ...] = ()
    """Players are "v7", opponents and anchors by name."""
    published: Mapping[int, float] | None = None
    """When each version was published."""
    met: Mapping[tuple[int, int], tuple[float, int]] | None = None
    """(version, version) → points of the first, games."""
    opponents: tuple[StageRecord, ...] = ()


def read_stage(ledger: Path) -> StageView:
    """Read everything; an empty view if there is no run yet."""
    if not ledger.exists():
        return StageView()
    try:
        with open_gate_ledger(ledger) as opened:
            report = report_of(opened)
            games = _games(opened)
            published = {version.version: version.at for version in opened.versions()}
            opponents = _opponents(opened)
    except RunDirError:
        trouble = f"The ledger {ledger} cannot be read. `understudy doctor {ledger.parent}` says how to repair it."
        return StageView(trouble)
    rated = _rated(games)
    results = [PairResults(*two, counts[1], counts[0], counts[-1]) for two, counts in games.items() if rated >= {*two}]
    anchors = {EVALUATION_GAMES: 0.0} if any(EVALUATION_GAMES in two for two in games) else {}
    return StageView("", report, fit(results, anchors).table, published, _met(games), opponents)


def _games(ledger: Ledger) -> dict[tuple[str, str], _Counts]:
    """(player, player) → counts of results, from everything that compares versions."""
    found: defaultdict[tuple[str, str], _Counts] = defaultdict(Counter)
    if _has(ledger, "evaluations"):
        query = "SELECT version, results FROM evaluations WHERE evaluator NOT LIKE '% for the gate'"
        for version, letters in ledger.query(query):
            counts = found[f"v{version}", EVALUATION_GAMES]
            counts.update({1: letters.count("W"), 0: letters.count("T"), -1: letters.count("L")})
    if has_gate(ledger, "gate_simulated"):
        for candidate, champion, difference in ledger.query(
            "SELECT candidate, champion, difference FROM gate_simulated"
        ):
            found[f"v{candidate}", f"v{champion}"][_sign(difference)] += 1
    if has_gate(ledger, "gate_blocks", "gate_games"):
        for line, champion, difference in ledger.query(_BLOCKS):
            if line is not None and champion is not None and line != champion:
                found[f"v{line}", f"v{champion}"][_sign(difference)] += 1
    for (first, second), counts in arena_results(ledger).items():
        found[_version_name(first), _version_name(second)].update(counts)
    return {two: counts for two, counts in found.items() if two[0] != two[1]}


_BLOCKS = """
SELECT max(CASE WHEN role IN ('line', 'challenger') THEN version END),
       max(CASE WHEN role IN ('champion', 'control') THEN version END), difference
FROM gate_blocks JOIN gate_games USING (block) WHERE difference IS NOT NULL GROUP BY block
"""


def _rated(games: Mapping[tuple[str, str], _Counts]) -> set[str]:
    """All players of one fit. In a long run, only the versions with the most games, because the cost grows with n³."""
    played: Counter[str] = Counter()
    for two, counts in games.items():
        for name in two:
            played[name] += counts.total()
    return {name for name, _ in played.most_common(_MOST_RATED)}


def _version_name(player: str) -> str:
    """The name of a player; "run v7" is version 7 here, other names stay."""
    found = _NAME.fullmatch(player)
    return f"v{found[1]}" if found and "vote" not in player else player


def _sign(difference: float) -> int:
    return (difference > 0) - (difference < 0)


def _has(ledger: Ledger, table: str) -> bool:
    return bool(ledger.query("SELECT 1 FROM sqlite_master WHERE name = ?", (table,)))


def _met(games: Mapping[tuple[str, str], _Counts]) -> dict[tuple[int, int], tuple[float, int]]:
    found: defaultdict[tuple[int, int], list[float]] = defaultdict(lambda: [0.0, 0.0])
    for (one, other), counts in games.items():
        if one[1:].isdecimal() and other[1:].isdecimal():
            played = sum(counts.values())
            points = counts[1] + counts[0] / 2
            for key, mine in (
                ((int(one[1:]), int(other[1:])), points),
                ((int(other[1:]), int(one[1:])), played - points),
            ):
                found[key][0] += mine
                found[key][1] += played
    return {key: (points, int(played)) for key, (points, played) in found.items()}


def _opponents(ledger: Ledger) -> tuple[StageRecord, ...]:
    """For games with a score, the most frequent opponents first."""
    if not has_gate(ledger, "gate_blocks", "gate_games"):
        return ()
    query = """
SELECT b.opponent, sum(role IN ('champion', 'control')), sum(score * (role IN ('champion', 'control'))),
       sum(role IN ('line', 'challenger')), sum(score * (role IN ('line', 'challenger'))),
       (SELECT g.name FROM games g JOIN gate_games o ON o.id = g.id JOIN gate_blocks p ON p.block = o.block
        WHERE p.opponent = b.opponent AND g.archived = 1 ORDER BY o.finished DESC LIMIT 1)
FROM gate_games JOIN gate_blocks b USING (block) WHERE score IS NOT NULL
GROUP BY b.opponent ORDER BY count(*) DESC LIMIT 100
"""
    return tuple(
        StageRecord(opponent, n_champion, champion, n_line, line, file or "")
        for opponent, n_champion, champion, n_line, line, file in ledger.query(query)
    )
