"""Shogi as a batch of matches for self-play: a match that ends begins anew within the same step.

A state is the planes, then the legal moves by their number among the 13,527 actions, −1 where there is none; a decision
is a place in that list. So nothing is ever as wide as all actions, of which a position allows about a hundred.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from understudy.games.game import Game, Step
from understudy.games.shogi.batch import PLANES, write_planes
from understudy.games.shogi.errors import GameError
from understudy.games.shogi.players import Player
from understudy.games.shogi.policy import actions_of_moves
from understudy.games.shogi.rules import Ending, ShogiGame

MOST_LEGAL = 593  # no position of shogi has more legal moves
BOARD = PLANES * 81
SELF_PLAY_MOVES = 320  # a longer game is cut: what two beginners do after that teaches little
Rival = Callable[[np.random.Generator], Player]


class ShogiMatches(Game):
    """B matches from the start position. In the first of them a rival, if there are any, plays the other side.

    A rival's moves are part of the step: nobody learns from them. Matches with rivals change sides after each game.
    """

    name, players, state_dim, masked = "shogi", 2, BOARD + MOST_LEGAL, True
    actions = tuple(f"legal move {place}" for place in range(MOST_LEGAL))

    def __init__(self, matches: int, max_moves: int = SELF_PLAY_MOVES, rivals: Sequence[Rival] = ()) -> None:
        """`rivals`: who plays against the learner in the matches 0, 1, …; the others are its own on both sides."""
        super().__init__(matches)
        self._max_moves = max_moves
        self._make_rivals = rivals
        self._rivals: list[Player] = []
        self._learner_side = np.zeros(len(rivals), np.int8)
        self.games: list[ShogiGame] = []
        self._finals = np.zeros((matches, self.state_dim), np.float32)
        self._final_sides = np.zeros(matches, np.int8)

    def reset(self, seed: np.random.SeedSequence) -> None:
        """Begin all matches anew; only rivals draw lots."""
        self._rivals = [make(np.random.default_rng(s)) for make, s in zip(self._make_rivals, seed.spawn(len(self._make_rivals)), strict=True)]
        self._learner_side[:] = np.arange(len(self._rivals)) % 2
        self.games = [ShogiGame(max_moves=self._max_moves) for _ in range(self.matches)]
        for i in range(len(self._rivals)):
            self._reply(i)

    def observe(self, out: NDArray[np.float32]) -> None:
        """Write the positions and their legal moves (B, S), each as the player to move sees it."""
        write_states(self.games, out)

    def legal(self, out: NDArray[np.bool_]) -> None:
        """Write which places of the lists are taken (B, A)."""
        counts = np.array([len(game.legal_moves) for game in self.games])
        np.less(np.arange(MOST_LEGAL), counts[:, None], out=out)

    def to_move(self) -> NDArray[np.int8]:
        """(B,) whose turn it is: 0 for Black, 1 for White."""
        return np.array([game.board.turn for game in self.games], np.int8)

    def step(self, actions: NDArray[np.int64]) -> Step:
        """Decide once in every match; the arrays are valid until the next step. GameError for an illegal action."""
        n = self.matches
        rewards, over, cut = np.zeros(n, np.float32), np.zeros(n, np.bool_), np.zeros(n, np.bool_)
        for i, (game, place) in enumerate(zip(self.games, actions.tolist(), strict=True)):
            if not 0 <= place < len(game.legal_moves):
                raise GameError(f"Match {i}: there is no legal move {place} in {game.board.sfen()}.")
            player = game.turn
            result = game.push(game.legal_moves[place])
            if result is None and i < len(self._rivals):
                result = self._reply(i)
            if result is None:
                continue
            cut[i] = result.ending is Ending.MAX_MOVES
            over[i] = not cut[i]
            rewards[i] = result.for_player(player)
            self._end(i, bool(cut[i]))
        return Step(rewards, over, cut, self._finals, self._final_sides)

    def _reply(self, i: int):
        game = self.games[i]
        if game.turn == self._learner_side[i]:
            return None
        move = self._rivals[i].choose(game).move
        return game.resign() if move is None else game.push(move)

    def _end(self, i: int, cut: bool) -> None:
        if cut:
            write_states([self.games[i]], self._finals[i : i + 1])
            self._final_sides[i] = self.games[i].turn
        self.games[i] = ShogiGame(max_moves=self._max_moves)
        if i < len(self._rivals):
            self._learner_side[i] ^= 1
            self._reply(i)


def write_states(games: Sequence[ShogiGame], out: NDArray[np.float32]) -> None:
    """Write planes and lists of legal moves into `out` (N, S), which must be contiguous."""
    write_planes(games, out)
    lists = [game.legal_moves for game in games]
    counts = np.array([len(moves) for moves in lists])
    moves = np.fromiter(chain.from_iterable(lists), np.int32, int(counts.sum()))
    turns = np.repeat([game.board.turn for game in games], counts)
    out[:, BOARD:] = -1
    out[:, BOARD:][np.arange(MOST_LEGAL) < counts[:, None]] = actions_of_moves(moves, turns)
