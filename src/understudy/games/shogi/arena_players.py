"""Opponents for the versions of a run in `understudy arena`: simple players and USI engines, by name.

`NAME@LEVEL` says how an engine plays: words after `go`, and options, separated by commas. `fairy-stockfish@depth 1` and
`usi:COMMAND@nodes 500,Skill Level=-10` are two players of the arena's ratings.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext

import numpy as np
from numpy.typing import NDArray

from understudy.errors import SettingsError
from understudy.games.game import Bools, Game, Singles
from understudy.games.shogi.matches import ShogiMatches
from understudy.games.shogi.players import GreedyPlayer, RandomPlayer, ShogiPlayer, opening
from understudy.games.shogi.rules import MAX_MOVES, START, played
from understudy.games.shogi.usi_client import UsiPlayer
from understudy.games.shogi.usi_process import find_engines

_GO = "byoyomi 100"
_SIMPLE: Mapping[str, Callable[[np.random.Generator], ShogiPlayer]] = {
    "random": RandomPlayer,
    "greedy": GreedyPlayer,
}
_LEVEL = re.compile(r"@(?=(depth|nodes|byoyomi|movetime) \d|[^@]*=)")
RESIGNS = -1


def known(name: str) -> bool:
    """Whether a player of this name exists here."""
    engine = _engine(name)
    return name in _SIMPLE or engine.startswith("usi:") or engine in find_engines()


def matches(count: int) -> ShogiMatches:
    """Even games, each from its own random opening."""
    return OpenedMatches(count, MAX_MOVES)


def seat(name: str, game: Game, rng: np.random.Generator) -> ShogiSeat:
    """The player of this name, for a batch of matches."""
    assert isinstance(game, ShogiMatches)
    return ShogiSeat(_SIMPLE[name](rng) if name in _SIMPLE else _start(name), game)


def contestant(name: str, rng: np.random.Generator) -> AbstractContextManager[ShogiPlayer]:
    """The player of this name, for single games."""
    return nullcontext(_SIMPLE[name](rng)) if name in _SIMPLE else _start(name)


class OpenedMatches(ShogiMatches):
    """Matches that begin with random moves; otherwise two engines would repeat the same game."""

    def reset(self, seed: np.random.SeedSequence) -> None:
        """See Game.reset."""
        super().reset(seed)
        rng = np.random.default_rng(seed.spawn(1)[0])
        for number in range(self.matches):
            self.games[number] = played(START, opening(rng), MAX_MOVES)


class ShogiSeat:
    """A player that needs the games, not only the states."""

    def __init__(self, player: ShogiPlayer, game: ShogiMatches) -> None:
        self._player, self._game = player, game

    def decide(self, states: Singles, legal: Bools, asked: Bools) -> NDArray[np.int64]:
        """See ArenaSeat: decides for one match after the other."""
        actions = np.zeros(len(asked), np.int64)
        for match in np.flatnonzero(asked).tolist():
            game = self._game.games[match]
            move = self._player.choose(game).move
            actions[match] = RESIGNS if move is None else game.legal_moves.index(move)
        return actions

    def forget(self, which: Bools) -> None:
        """See ArenaSeat."""

    def close(self) -> None:
        """See ArenaSeat."""
        if isinstance(self._player, UsiPlayer):
            self._player.close()


def _engine(name: str) -> str:
    return _LEVEL.split(name, maxsplit=1)[0]


def _start(name: str) -> UsiPlayer:
    engine = _engine(name)
    go, options = _GO, {}
    for part in filter(None, name[len(engine) + 1 :].split(",")):
        key, equals, value = part.partition("=")
        if equals:
            options[key.strip()] = value.strip()
        else:
            go = part.strip()
    engines = find_engines()
    if engine in engines:
        return UsiPlayer(engines[engine], go, options)
    command = shlex.split(engine.removeprefix("usi:"), posix=os.name == "posix")
    if not command:
        raise SettingsError(f"{name!r} does not name a program: write usi:COMMAND.")
    return UsiPlayer(command, go, options)
