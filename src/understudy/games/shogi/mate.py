"""Df-pn (Nagai 2002): is there a forced mate by checks alone?

A position is searched to a number of plies, and every move leaves one less. So every line is finite, and what is proved
or refuted for a number of plies is valid wherever the position recurs: repetitions within the search need no special
rule. A mate that was found is shortened while nodes are left.

The rules of the game apply: the legal moves are cshogi's, without mates by a dropped pawn; a fourth occurrence of a
position of the game is not a mate; a declaration wins for the player who gives the checks (the opponent is in check and
may not declare).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from understudy.games.shogi.actions import BLACK
from understudy.games.shogi.rules import ShogiGame
from understudy.games.shogi.search import Limits

NODES = 100_000
MOST_PLIES = 63
_EVER = 1 << 20  # plies; stands for "no mate of any length"
_INFINITE = 1 << 40
_LOOKS = 256  # nodes between two checks of the clock


class MateAnswer(NamedTuple):
    """The result of a search for a mate."""

    line: tuple[int, ...]
    """The mate against the longest defence; empty if none was found."""
    none: bool
    """Whether it is proved that there is no mate by checks of any length."""
    nodes: int
    shortest: bool = False
    """Whether it is proved that no shorter mate exists."""


class _Spent(Exception):
    """The limits are reached."""


class _Position:
    """A position of the search, however it is reached: what is proved, and its proof numbers by remaining plies."""

    __slots__ = ("children", "mate", "moves", "no_mate", "numbers", "reply", "start")

    def __init__(self) -> None:
        self.moves: list[int] | None = None
        self.children: list[_Position] = []
        self.mate = _EVER
        """Plies within which it is mate; `reply` is then the mating player's next move."""
        self.no_mate = -1
        """Plies within which there is no mate."""
        self.reply = 0
        self.start = (1, 1)
        """The proof and disproof numbers at the start of a search."""
        self.numbers: dict[int, tuple[int, int]] = {}
        """The same, by remaining plies."""

    def look(self, plies: int) -> tuple[int, int]:
        """The proof and disproof numbers with `plies` remaining."""
        if self.mate <= plies:
            return 0, _INFINITE
        if self.no_mate >= plies:
            return _INFINITE, 0
        return self.numbers.get(plies) or self.start


class MateSearch:
    """The search for one position of a game; after the search, the game is as before."""

    def __init__(self, game: ShogiGame, nodes: int = NODES, limits: Limits | None = None) -> None:
        """It ends after `nodes` positions, or at the deadline or `stop` of `limits`."""
        self._board = game.board
        self._attacker = game.turn
        self._most, self._limits = nodes, limits or Limits()
        self._room = game.max_moves - len(game.moves)
        self.nodes = self._visits = 0
        self._known: dict[int, _Position] = {}
        for key in game.often(3):
            self._known[key] = never = _Position()
            never.no_mate = _EVER
        self._root = _Position()
        self._known.setdefault(game.key, self._root)
        self._over = game.result is not None

    def solve(self) -> MateAnswer:
        """Look for a mate, then for a shorter one."""
        root, most = self._root, min(MOST_PLIES, self._room)
        if self._over or most < 1:
            return MateAnswer((), none=True, nodes=0)
        try:
            self._attack(root, most, _INFINITE, _INFINITE)
            while 2 < root.mate < _EVER and root.no_mate < root.mate - 2:
                self._attack(root, root.mate - 2, _INFINITE, _INFINITE)
        except _Spent:
            pass
        if root.mate == _EVER:
            return MateAnswer((), none=root.no_mate >= _EVER, nodes=self.nodes)
        shortest = root.mate <= 2 or root.no_mate >= root.mate - 2
        return MateAnswer(self._line(), none=False, nodes=self.nodes, shortest=shortest)

    def move_towards_mate(self, game: ShogiGame) -> int:
        """The mating move in a position that the search proved to be mate; 0 in any other."""
        known = self._known.get(game.key)
        return 0 if known is None or known.mate >= _EVER else known.reply

    def _attack(self, position: _Position, plies: int, proof_limit: int, disproof_limit: int) -> None:
        """Search a position whose player to move must give check, until a number reaches its limit."""
        self._count()
        if position.moves is None:
            self._give_checks(position)
        moves, children, board = position.moves, position.children, self._board
        assert moves is not None
        while True:
            first = second = _INFINITE
            chosen, alive, hardest = -1, 0, 0
            refuted = _EVER
            for place, child in enumerate(children):
                proof, disproof = child.look(plies - 1)
                if proof == 0:
                    position.mate, position.reply = child.mate + 1, moves[place]
                    return
                if proof >= _INFINITE:
                    refuted = min(refuted, child.no_mate)
                    continue
                alive += 1
                hardest = max(hardest, disproof)
                if proof < first:
                    first, second, chosen = proof, first, place
                elif proof < second:
                    second = proof
            if chosen < 0:
                position.no_mate = max(position.no_mate, refuted + 1 if refuted < _EVER else _EVER)
                return
            against = hardest + alive - 1
            if first >= proof_limit or against >= disproof_limit:
                position.numbers[plies] = first, against
                return
            board.push(moves[chosen])
            try:
                self._defend(
                    children[chosen], plies - 1, min(proof_limit, second + 1 + first // 4), disproof_limit - alive + 1
                )
            finally:
                board.pop()

    def _defend(self, position: _Position, plies: int, proof_limit: int, disproof_limit: int) -> None:
        """Search a position whose player is in check, until a number reaches its limit."""
        self._count()
        if not position.children:
            self._evade(position)
        moves, children, board = position.moves, position.children, self._board
        assert moves is not None
        while True:
            first = second = _INFINITE
            chosen, alive, hardest, longest = -1, 0, 0, 0
            for place, child in enumerate(children):
                proof, disproof = child.look(plies - 1)
                if disproof == 0:
                    position.no_mate = max(position.no_mate, min(child.no_mate + 1, _EVER))
                    return
                if proof == 0:
                    longest = max(longest, child.mate)
                    continue
                alive += 1
                hardest = max(hardest, proof)
                if disproof < first:
                    first, second, chosen = disproof, first, place
                elif disproof < second:
                    second = disproof
            if chosen < 0:
                position.mate = longest + 1
                return
            towards = hardest + alive - 1
            if first >= disproof_limit or towards >= proof_limit:
                position.numbers[plies] = towards, first
                return
            board.push(moves[chosen])
            try:
                self._attack(
                    children[chosen], plies - 1, proof_limit - alive + 1, min(disproof_limit, second + 1 + first // 4)
                )
            finally:
                board.pop()

    def _count(self) -> None:
        self._visits += 1
        if max(self.nodes, self._visits) > self._most or (self._visits % _LOOKS == 0 and self._limits.reached(0)):
            raise _Spent

    def _give_checks(self, position: _Position) -> None:
        """The checks, and the positions after them; a mate in one is found immediately."""
        board, known = self._board, self._known
        position.moves = list(board.check_moves)
        for move in position.moves:
            board.push(move)
            key = board.zobrist_hash()
            child = known.get(key)
            if child is None:
                child = known[key] = _Position()
                child.moves = list(board.legal_moves)
                if child.moves:
                    child.no_mate, child.start = 0, (len(child.moves), 1)
                else:
                    child.mate = 0
            position.children.append(child)
            board.pop()
        position.start = 1, max(len(position.moves), 1)
        self.nodes += len(position.moves)

    def _evade(self, position: _Position) -> None:
        """The positions after all legal moves; a mate in one and a declaration are found immediately."""
        board, known = self._board, self._known
        assert position.moves is not None
        for move in position.moves:
            board.push(move)
            key = board.zobrist_hash()
            child = known.get(key)
            if child is None:
                child = known[key] = _Position()
                if self._may_declare() and board.is_nyugyoku():
                    child.mate = 0
                elif not board.is_check() and (mate := board.mate_move_in_1ply()):
                    child.mate, child.reply = 1, mate
            position.children.append(child)
            board.pop()
        self.nodes += len(position.moves)

    def _may_declare(self) -> bool:
        """Whether the attacker's king is in the opponent's camp: the rest of the rule takes longer to check."""
        rank = int(self._board.king_square(self._attacker)) % 9
        return rank < 3 if self._attacker == BLACK else rank > 5

    def _line(self) -> tuple[int, ...]:
        """The mate against the longest defence; the game ends with it, or with a declaration after it."""
        board, position, line = self._board, self._root, []
        while position.reply:
            line.append(position.reply)
            board.push(position.reply)
            after = self._known.get(board.zobrist_hash())
            if after is None or not after.children:  # mate
                break
            assert after.moves is not None
            place = max(range(len(after.moves)), key=lambda place: after.children[place].mate)
            line.append(after.moves[place])
            board.push(after.moves[place])
            position = after.children[place]
        for _ in line:
            board.pop()
        return tuple(line)


def mate_of(game: ShogiGame, nodes: int = NODES, limits: Limits | None = None) -> MateAnswer:
    """Whether the player to move can force mate by checks."""
    return MateSearch(game, nodes, limits).solve()


def root_mate(nodes: int, share: float = 0.1) -> Callable[[ShogiGame, Limits], Sequence[int]]:
    """For `SearchSettings.root_mate`: at most this number of nodes, and this share of the remaining time."""

    def look(game: ShogiGame, limits: Limits) -> Sequence[int]:
        now = time.monotonic()
        until = now + share * (limits.deadline - now) if limits.deadline < math.inf else math.inf
        return mate_of(game, nodes, Limits(deadline=until, stop=limits.stop)).line

    return look
