"""What can be wrong with shogi that somebody else gives us."""

from __future__ import annotations

from understudy.errors import UnderstudyError


class GameError(UnderstudyError):
    """A move, position or game record that is not shogi; the message says what was found."""


class EngineError(UnderstudyError):
    """Another program that plays shogi did not start, died, or did not keep to the USI protocol."""


class IllegalAnswer(EngineError):
    """A program answered with a move that is not legal: that loses the game, not the match."""
