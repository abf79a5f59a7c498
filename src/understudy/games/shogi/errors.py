"""Errors in shogi data and programs from outside."""

from __future__ import annotations

from understudy.errors import UnderstudyError


class GameError(UnderstudyError):
    """A move, position or game record that is not valid shogi; the message says what was found."""


class EngineError(UnderstudyError):
    """Another shogi program did not start, died, or violated the USI protocol."""


class IllegalAnswer(EngineError):
    """A program answered with an illegal move: that loses the game, not the match."""
