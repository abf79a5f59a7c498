"""Random play with planes and mask, on one thread, beside cshogi alone and beside plain code over cshogi."""

from __future__ import annotations

import random
import time

import cshogi
import numpy as np
from numpy.typing import NDArray

from measure import Row, quantile, run_alone, take_turns
from understudy.games.shogi.actions import ACTIONS, PolicyOutputMapper, actions_of_moves
from understudy.games.shogi.batch import SHAPE, ShogiBatch

GAMES, ROUNDS, STEPS = 64, 9, 40


class OurRules:
    """A batch of games: planes and masks into two arrays, a random legal action in each game."""

    def __init__(self) -> None:
        self.batch = ShogiBatch(GAMES)
        self.planes = np.zeros((GAMES, *SHAPE), np.float32)
        self.legal = np.zeros((GAMES, ACTIONS), np.bool_)
        self.rng = np.random.default_rng(0)

    def __call__(self) -> list[float]:
        start = time.perf_counter()
        for _ in range(STEPS):
            self.batch.observe(self.planes, self.legal)
            stepped = self.batch.step(self.draw(), self.legal)
            self.batch.reset(np.flatnonzero(stepped.over))
        return [(time.perf_counter() - start) / (STEPS * GAMES)]

    def draw(self) -> NDArray[np.int32]:
        uniform = self.rng.random(GAMES).tolist()
        lists = (game.legal_moves for game in self.batch.games)
        moves = np.array([moves[int(u * len(moves))] for u, moves in zip(uniform, lists, strict=True)], np.int32)
        return actions_of_moves(moves, self.batch.turns)


class Plain:
    """Game by game: cshogi's own piece planes and a mask by our mapper; ends by cshogi's `is_draw`."""

    def __init__(self) -> None:
        self.boards = [cshogi.Board() for _ in range(GAMES)]
        self.planes = np.zeros((GAMES, 104, 9, 9), np.float32)
        self.legal = np.zeros((GAMES, ACTIONS), np.bool_)
        self.mapper = PolicyOutputMapper()
        self.rng = random.Random(0)

    def __call__(self) -> list[float]:
        start = time.perf_counter()
        for _ in range(STEPS):
            for i, board in enumerate(self.boards):
                self.planes[i] = 0
                (board.piece_planes_rotate if board.turn else board.piece_planes)(self.planes[i])
                self.legal[i] = False
                moves = list(board.legal_moves)
                for move in moves:
                    self.legal[i, self.mapper.shogi_move_to_policy_index(move, board.turn)] = True
                board.push(self.rng.choice(moves))
                if board.is_game_over() or board.is_draw() or board.move_number > 500:
                    board.reset()
        return [(time.perf_counter() - start) / (STEPS * GAMES)]


class Bare:
    """cshogi without planes, masks and the rules of repetition: the floor."""

    def __init__(self) -> None:
        self.board = cshogi.Board()
        self.rng = random.Random(0)

    def __call__(self) -> list[float]:
        start = time.perf_counter()
        for _ in range(STEPS * GAMES):
            moves = list(self.board.legal_moves)
            if not moves or self.board.move_number > 500:
                self.board.reset()
                continue
            self.board.push(self.rng.choice(moves))
        return [(time.perf_counter() - start) / (STEPS * GAMES)]


def measure() -> list[Row]:
    """Steps a second, as the median of rounds taken in turns."""
    results = take_turns({"ours": OurRules(), "plain": Plain(), "bare": Bare()}, ROUNDS)
    rates = {name: 1e-3 / quantile([r[0] for r in rounds], 0.5) for name, rounds in results.items()}
    what = f"shogi, random play with planes and mask, {GAMES} games"
    return [
        Row(what, rates["ours"], "k/s", "cshogi, game by game", rates["plain"], limit=30.0),
        Row("the same", rates["ours"], "k/s", "cshogi, moves only", rates["bare"]),
    ]


if __name__ == "__main__":
    run_alone("Shogi rules", measure)
