"""A network's opinion of a position, without search: its most probable moves and the value, also as a comment."""

from __future__ import annotations

import re
from typing import NamedTuple

import cshogi
import numpy as np
from numpy.typing import NDArray

from understudy.games.shogi.actions import BLACK, actions_of_moves
from understudy.games.shogi.rules import ShogiGame

LISTED = 5
_COMMENT = re.compile(r"policy value=([+-]\d\.\d{3})((?: [1-9PLNSGBR][a-i*][1-9][a-i]\+?=[01]\.\d{4})*)")


class Thought(NamedTuple):
    """The most probable moves with their probabilities, and the value of the position for Black, -1 to 1.

    The move that was played is included, as the last one if it is not among the most probable.
    """

    moves: tuple[tuple[str, float], ...]
    value: float

    def as_text(self) -> str:
        """One line, for a comment in a game record."""
        return f"policy value={self.value:+.3f}" + "".join(f" {usi}={share:.4f}" for usi, share in self.moves)

    @classmethod
    def from_text(cls, text: str) -> Thought | None:
        """Parse the output of `as_text`; None for any other text."""
        match = _COMMENT.fullmatch(text.strip())
        if match is None:
            return None
        pairs = (pair.split("=") for pair in match[2].split())
        return cls(tuple((usi, float(share)) for usi, share in pairs), float(match[1]))


def thought_of(
    game: ShogiGame, logits: NDArray[np.float32], wdl: NDArray[np.float32], played: int | None = None
) -> Thought:
    """A Thought from a network's outputs (13527,) and (3,) for the position of this game."""
    value = round(float(wdl[0] - wdl[2]) * (1 if game.turn == BLACK else -1), 3)
    moves = np.array(game.legal_moves, np.int32)
    if not len(moves):
        return Thought((), value)
    scores = logits[actions_of_moves(moves, np.full(len(moves), game.turn))].astype(np.float64)
    weights = np.exp(scores - scores.max())
    shares = weights / weights.sum()
    listed = list(np.argsort(-shares, kind="stable")[:LISTED])
    if played is not None and played not in moves[listed]:
        listed.append(int(np.flatnonzero(moves == played)[0]))
    return Thought(tuple((cshogi.move_to_usi(int(moves[n])), round(float(shares[n]), 4)) for n in listed), value)
