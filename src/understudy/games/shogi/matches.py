"""Shogi as a batch of matches for self-play; a finished match is followed by a new one within the same step.

A state is the planes, then the legal moves by their index among the 13,527 actions, −1 for an empty entry. A decision
is an index into that list. So no array is as wide as all actions, of which a position allows about a hundred.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from understudy.errors import MatchesDamaged
from understudy.games.game import Bools, Game, Step
from understudy.games.saved import generator_of, pack, unpack, unpacking
from understudy.games.shogi.actions import actions_of_moves
from understudy.games.shogi.batch import PLANES, write_planes
from understudy.games.shogi.endgames import Endgames
from understudy.games.shogi.errors import GameError
from understudy.games.shogi.potential import material, potential, shaping
from understudy.games.shogi.rules import START, Ending, ShogiGame, opened, played

MOST_LEGAL = 593  # no position of shogi has more legal moves
BOARD = PLANES * 81
NOBODY = -1
MOST_RANDOM = 24
SELF_PLAY_MOVES = 240  # longer games are cut off: what two beginners do after that teaches little


class Rival(Protocol):
    """An opponent of the learner, in several matches at a time."""

    def prepare(self, rng: np.random.Generator) -> None:
        """Start all matches again; from here on, all random draws come from this generator."""
        ...

    def answer(self, games: Sequence[ShogiGame]) -> Sequence[int | None]:
        """A legal move in each of these games, None to resign; the games are not changed."""
        ...

    def next_game(self, points: float | None) -> None:
        """A match against it ended with these points for the learner: 1, 0.5 or 0; None if it does not count."""
        ...

    def snapshot(self) -> Mapping[str, Any]:
        """Plain values for `restore`."""
        ...

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Continue from a snapshot; called instead of `prepare`."""
        ...


class LeagueEntry(NamedTuple):
    """A rival and the number of matches it plays at first."""

    rival: Rival
    matches: int


class ShogiMatches(Game):
    """B matches from the start position. In some of them, rivals play the other side.

    A rival's moves are part of the step: nobody learns from them. The learner changes sides after each game. Rewards
    are results; with a `discount`, they are also shaped by material. The share `late` of the games against rivals
    begins shortly before the end of an earlier game, with the learner in the winner's place.
    """

    name, players, state_dim, masked = "shogi", 2, BOARD + MOST_LEGAL, True
    actions = tuple(f"legal move {place}" for place in range(MOST_LEGAL))

    def __init__(
        self,
        matches: int,
        max_moves: int = SELF_PLAY_MOVES,
        rivals: Sequence[LeagueEntry] = (),
        *,
        discount: float | None = None,
        late: float = 0.0,
        opened: float = 0.0,
    ) -> None:
        """`rivals` take the first matches, in this order; in the others the learner plays both sides.

        Each match keeps its rival unless `next_rival` is overridden.
        """
        super().__init__(matches)
        self._max_moves = max_moves
        self._discount = discount
        self._late = late
        self._opened = opened
        self._entries = rivals
        self._rival_of = self._first_rivals()
        self._endgames = [Endgames() for _ in range(len(rivals) + 1)]  # the last: of the learner with itself
        self._learner_side = np.zeros(matches, np.int8)
        self.games: list[ShogiGame] = []
        self._finals = np.zeros((matches, self.state_dim), np.float32)
        self._final_sides = np.zeros(matches, np.int8)

    def reset(self, seed: np.random.SeedSequence) -> None:
        """Start all matches from the start position; rivals and late starts are drawn at random."""
        *of_rivals, own = seed.spawn(len(self._entries) + 1)
        for entry, lots in zip(self._entries, of_rivals, strict=True):
            entry.rival.prepare(np.random.default_rng(lots))
        self._rng = np.random.default_rng(own)
        for endgames in self._endgames:
            endgames.clear()
        self._rival_of = self._first_rivals()
        self._learner_side[:] = np.arange(self.matches) % 2
        self.games = [ShogiGame(max_moves=self._max_moves) for _ in range(self.matches)]
        self._let_rivals_move()

    def observe(self, out: NDArray[np.float32]) -> None:
        """Write the positions and their legal moves (B, S), each from the view of the player to move."""
        write_states(self.games, out)

    def legal(self, out: NDArray[np.bool_]) -> None:
        """Write which entries of the lists are in use (B, A)."""
        counts = np.array([len(game.legal_moves) for game in self.games])
        np.less(np.arange(MOST_LEGAL), counts[:, None], out=out)

    def to_move(self) -> NDArray[np.int8]:
        """(B,) the player to move: 0 for Black, 1 for White."""
        return np.array([game.board.turn for game in self.games], np.int8)

    def step(self, actions: NDArray[np.int64]) -> Step:
        """Decide once in every match; the arrays are valid until the next step. GameError for an illegal action."""
        movers = self.to_move()
        before = self._potentials()
        for i, (game, place) in enumerate(zip(self.games, actions.tolist(), strict=True)):
            if not 0 <= place < len(game.legal_moves):
                raise GameError(f"Match {i}: there is no legal move {place} in {game.board.sfen()}.")
            game.push(game.legal_moves[place])
        self._let_rivals_move()
        n = self.matches
        rewards, over, cut = np.zeros(n, np.float32), np.zeros(n, np.bool_), np.zeros(n, np.bool_)
        for i, game in enumerate(self.games):
            if game.result is not None:
                cut[i] = game.result.ending is Ending.MAX_MOVES
                over[i] = not cut[i]
                rewards[i] = game.result.for_player(movers[i])
        if self._discount is not None:
            rewards += (1 - 2 * movers) * shaping(before, self._potentials(), over, self._discount)
        if over.any() or cut.any():
            for i in np.flatnonzero(over | cut).tolist():
                self._begin_anew(i)
            self._let_rivals_move()
        return Step(rewards, over, cut, self._finals, self._final_sides)

    def begin_anew(self, which: Bools) -> Bools:
        """See Game.begin_anew."""
        for i in np.flatnonzero(which).tolist():
            self._begin_anew(i)
        self._let_rivals_move()
        return which

    def snapshot(self) -> bytes:
        """See Game.snapshot: the moves of every game, and the state of rivals and random numbers."""
        facts = {
            "rng": self._rng.bit_generator.state,
            "rivals": [dict(entry.rival.snapshot()) for entry in self._entries],
            "endgames": [endgames.moves() for endgames in self._endgames],
            "games": [(game.start, game.moves) for game in self.games],
        }
        return pack(facts, {"learner_side": self._learner_side, "rival_of": self._rival_of})

    def restore(self, saved: bytes) -> Bools:
        """See Game.restore."""
        facts, arrays = unpack(saved)
        try:
            with unpacking():
                self._take_apart(facts, arrays)
        except GameError as error:
            raise MatchesDamaged(f"The snapshot is not valid shogi: {error}") from error
        return np.ones(self.matches, np.bool_)

    def _take_apart(self, facts: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        games = [played(start, moves, self._max_moves) for start, moves in facts["games"]]
        if len(games) != self.matches:
            raise ValueError(f"{len(games)} games")
        self.games = games
        np.copyto(self._learner_side, arrays["learner_side"] & 1)
        np.copyto(self._rival_of, np.clip(arrays["rival_of"], NOBODY, len(self._entries) - 1))
        for entry, rival in zip(self._entries, facts["rivals"], strict=True):
            entry.rival.restore(rival)
        for endgames, won in zip(self._endgames, facts["endgames"], strict=True):
            endgames.restore(won)
        self._rng = generator_of(facts["rng"])

    def next_rival(self, match: int) -> int:
        """The rival for the next game of a match, by index; NOBODY: the learner plays both sides."""
        return int(self._rival_of[match])

    def _first_rivals(self) -> NDArray[np.int64]:
        counts = [entry.matches for entry in self._entries]
        return np.repeat([*range(len(counts)), NOBODY], [*counts, self.matches - sum(counts)])

    def _let_rivals_move(self) -> None:
        """Every rival answers in the matches where it is to move."""
        for number, entry in enumerate(self._entries):
            rows = np.flatnonzero(self._rival_of == number).tolist()
            games = [g for i in rows if (g := self.games[i]).result is None and g.turn != self._learner_side[i]]
            for game, move in zip(games, entry.rival.answer(games) if games else (), strict=True):
                if move is None:
                    game.resign()
                else:
                    game.push(move)

    def _begin_anew(self, i: int) -> None:
        game = self.games[i]
        write_states([game], self._finals[i : i + 1])
        self._final_sides[i] = game.turn
        self._learner_side[i] ^= 1
        if (number := self._rival_of[i]) != NOBODY:
            self._finished(int(number), self._points(game, 1 - self._learner_side[i]))
        self._endgames[number].add(game)
        self._rival_of[i] = number = self.next_rival(i)
        self.games[i] = self._late_game(i, number) or self._opened_game()

    def _late_game(self, i: int, number: int) -> ShogiGame | None:
        if self._rng.random() >= self._late or (endgame := self._endgames[number].draw(self._rng)) is None:
            return None
        self._learner_side[i] = endgame.winner
        return ShogiGame(endgame.sfen, self._max_moves)

    def _opened_game(self) -> ShogiGame:
        if self._rng.random() >= self._opened:
            return ShogiGame(max_moves=self._max_moves)
        return opened(self._rng, int(self._rng.integers(1, MOST_RANDOM + 1)), self._max_moves)

    def _finished(self, rival: int, points: float | None) -> None:
        """Tell a rival that a game against it has ended."""
        self._entries[rival].rival.next_game(points)

    @staticmethod
    def _points(game: ShogiGame, side: int) -> float | None:
        """The learner's points in a finished game; None for a game that was restarted or began near its end."""
        if game.start != START or game.result is None:
            return None
        return (1 + game.result.for_player(side)) / 2

    def _potentials(self) -> NDArray[np.float64]:
        """(B,) the potential of the current positions for Black; all 0 if rewards are not shaped."""
        if self._discount is None:
            return np.zeros(self.matches)
        return potential(material([game.board for game in self.games]))


def write_states(games: Sequence[ShogiGame], out: NDArray[np.float32]) -> None:
    """Write planes and lists of legal moves into `out` (N, S), which must be contiguous."""
    write_planes(games, out)
    lists = [game.legal_moves for game in games]
    counts = np.array([len(moves) for moves in lists])
    moves = np.fromiter(chain.from_iterable(lists), np.int32, int(counts.sum()))
    turns = np.repeat([game.board.turn for game in games], counts)
    out[:, BOARD:] = -1
    out[:, BOARD:][np.arange(MOST_LEGAL) < counts[:, None]] = actions_of_moves(moves, turns)
