"""What the ledger says about a comparison: whether its games have results, and which comparison a champion won."""

from __future__ import annotations

from typing import NamedTuple

from understudy.ledger.connection import Ledger
from understudy.ledger.gate import has_gate

_LIVE = """
SELECT max(contest) FROM gate_games ours JOIN gate_blocks USING (block) JOIN gate_games theirs USING (block)
WHERE difference IS NOT NULL AND ours.version = ? AND ours.role IN ('line', 'challenger')
  AND theirs.version = ? AND theirs.role IN ('champion', 'control')
"""
_SIMULATED = "SELECT max(contest) FROM gate_simulated WHERE candidate = ? AND champion = ?"
_OTHERS = """
SELECT 1 FROM gate_games JOIN gate_blocks USING (block)
WHERE contest = ? AND difference IS NOT NULL AND role IN ('line', 'challenger') AND version != ? LIMIT 1
"""
_OTHERS_SIMULATED = "SELECT 1 FROM gate_simulated WHERE contest = ? AND candidate != ? LIMIT 1"


class WonContest(NamedTuple):
    """The contest that made a version champion, the champion before it, and whether no other version took part."""

    number: int
    beaten: int
    alone: bool


def compared_by_results(ledger: Ledger, contest: int) -> bool:
    """Whether all games of the complete blocks of a contest have a result; otherwise rewards are compared."""
    query = "SELECT count(*), count(score) FROM gate_games JOIN gate_blocks USING (block)"
    [(games, scores)] = ledger.query(f"{query} WHERE contest = ? AND difference IS NOT NULL", (contest,))
    return bool(games) and games == scores


def contest_won(ledger: Ledger, version: int) -> WonContest | None:
    """The contest that a champion won; None if it was not promoted or did not play in one."""
    query = "SELECT champion FROM gate_events WHERE what = 'promoted' AND version = ? ORDER BY number DESC LIMIT 1"
    beaten = [row[0] for row in ledger.query(query, (version,)) if row[0] not in (None, version)]
    if not beaten:
        return None
    simulated = has_gate(ledger, "gate_simulated")  # ledgers of older versions lack it
    found = ledger.query(_LIVE, (version, beaten[0])) + (
        ledger.query(_SIMULATED, (version, beaten[0])) if simulated else []
    )
    contests = [int(row[0]) for row in found if row[0] is not None]
    if not contests:
        return None
    ours = (max(contests), version)
    others = ledger.query(_OTHERS, ours) or (simulated and ledger.query(_OTHERS_SIMULATED, ours))
    return WonContest(max(contests), int(beaten[0]), not others)
