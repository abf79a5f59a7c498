"""Warnings about games that cannot tell models apart; without a warning, the gate would silently stay undecided."""

from __future__ import annotations

import math
from collections.abc import Sequence

from understudy.ledger.connection import Ledger
from understudy.ledger.gate import has_gate

_LOOKED_AT, _ENOUGH = 60, 40  # newest games examined; fewer say nothing yet
_RESULTS = 'Call `end_episode` with "Victory", "Defeat" or "Tie" when a game ends.'
_NEWEST = "SELECT score, reward, finished FROM gate_games ORDER BY rowid DESC LIMIT ?"


def uninformative_games(ledger: Ledger) -> str | None:
    """Why the newest games of a run cannot tell its models apart, with what to do; None if they can."""
    games = ledger.query(_NEWEST, (_LOOKED_AT,)) if has_gate(ledger, "gate_games") else []
    ended = [(score, reward) for score, reward, finished in games if finished is not None]
    if len(games) >= _ENOUGH and not ended:
        return f"None of the last {len(games)} games has reported its end. {_RESULTS}"
    return _sameness(ended) if len(ended) >= _ENOUGH else None


def _sameness(games: Sequence[tuple[float | None, float]]) -> str | None:
    scores, rewards, count = {score for score, _ in games}, {reward for _, reward in games}, len(games)
    if rewards == {-math.inf}:
        return f"None of the last {count} games came to its end: each counts as crashed. {_RESULTS}"
    if scores == {None} and len(rewards) == 1:
        return f"The last {count} games have no result, and the sum of their rewards is always the same. {_RESULTS}"
    if scores == {0.5}:
        return (
            f"All of the last {count} games were drawn or cut off, which does not show who plays better. "
            "Longer games, or weaker and stronger opponents, would."
        )
    return None
