"""Positions with mates, how long these are by looking at everything, and whether a claimed mate holds."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from understudy.games.shogi.mate import MateSearch
from understudy.games.shogi.players import GreedyPlayer
from understudy.games.shogi.rules import Ending, ShogiGame

LENGTHS = (1, 3, 5, 7, 9)
SHORT = ["2h4h", "1c1d", "6i6h", "2b1c", "4g4f", "1c4f", "4h4f", "6a7b", "4f4c+", "5a6a", "4c4a", "6a6b", "G*5b"]
"""A game in which Black mates."""
_OPENING = 30
_AT_RANDOM = 0.2


def positions(seed: int) -> Iterator[ShogiGame]:
    """Positions of games in which the greedy player, and now and then the random one, plays both sides."""
    rng = np.random.default_rng(seed)
    player = GreedyPlayer(rng)
    while True:
        game = ShogiGame(max_moves=300)
        while game.result is None:
            if len(game.moves) >= _OPENING:
                yield game
            random = rng.random() < _AT_RANDOM
            game.push(
                game.legal_moves[rng.integers(len(game.legal_moves))] if random else player.choose(game).move or 0
            )


class TooMany(Exception):
    """Looking at everything would take too long here."""


class Exhaustive:
    """Whether there is a mate within this many plies, by examining every check and every answer."""

    def __init__(self, game: ShogiGame, most: int) -> None:
        self._board, self._left = game.board.copy(), most  # a search that is broken off leaves it as it is
        self._seen: dict[tuple[int, int], bool] = {}

    def shortest(self, most: int) -> int:
        """The plies of the shortest mate; 0 if none is within `most`."""
        return next((plies for plies in range(1, most + 1, 2) if self._mates(plies)), 0)

    def _mates(self, plies: int) -> bool:
        key = self._board.zobrist_hash(), plies
        if key not in self._seen:
            self._left -= 1
            if self._left < 0:
                raise TooMany
            self._seen[key] = any(self._forces(move, plies) for move in list(self._board.check_moves))
        return self._seen[key]

    def _forces(self, move: int, plies: int) -> bool:
        self._board.push(move)
        answers = list(self._board.legal_moves)
        forced = not answers or (plies > 1 and all(self._stays(answer, plies - 2) for answer in answers))
        self._board.pop()
        return forced

    def _stays(self, answer: int, plies: int) -> bool:
        self._board.push(answer)
        stays = self._mates(plies)
        self._board.pop()
        return stays


def holds(search: MateSearch, game: ShogiGame) -> bool:
    """Whether the moves of a search that found a mate win against every answer, by the rules of the game."""
    mover = game.turn
    game.push(search.move_towards_mate(game))
    try:
        if game.result is not None:
            return game.result.winner == mover
        return game.in_check and all(_answered(search, game, mover, answer) for answer in list(game.legal_moves))
    finally:
        game.pop()


def _answered(search: MateSearch, game: ShogiGame, mover: int, answer: int) -> bool:
    result = game.push(answer)
    try:
        if result is not None:
            return result.ending is Ending.DECLARATION and result.winner == mover
        return holds(search, game)
    finally:
        game.pop()


def known_mates(seed: int, each: int, most: int = 30_000, lengths: tuple[int, ...] = LENGTHS) -> dict[int, list[str]]:
    """Positions whose shortest mate has each of the lengths."""
    found: dict[int, list[str]] = {length: [] for length in lengths}
    for game in positions(seed):
        if MateSearch(game, 20).solve().none:
            continue
        try:
            length = Exhaustive(game, most).shortest(lengths[-1])
        except TooMany:
            continue
        if length in found and len(found[length]) < each:
            found[length].append(game.board.sfen())
        if all(len(some) == each for some in found.values()):
            break
    return found
