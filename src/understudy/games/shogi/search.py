"""PUCT (Silver et al. 2017) over the network's policy and value, a few leaves at a time."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from understudy.games.shogi.actions import actions_of_moves
from understudy.games.shogi.batch import SHAPE, observe
from understudy.games.shogi.inference import Evaluator
from understudy.games.shogi.rules import ShogiGame
from understudy.learning.losses import softmax

EXPLORATION = 1.5
UNVISITED_PENALTY = 0.2  # a move not tried yet is thought this much worse than the position
LEAVES = 8  # evaluated together


class SearchResult(NamedTuple):
    """What a search found: the move, how good it is for the player to move (−1 to 1), and the line it expects."""

    move: int
    value: float
    line: tuple[int, ...]
    nodes: int
    visits: tuple[tuple[int, int], ...]
    """(move, visits) of all moves."""


class Limits(NamedTuple):
    """When a search ends: whatever comes first."""

    nodes: int | None = None
    deadline: float = math.inf
    """In the time of `time.monotonic`."""
    stop: threading.Event | None = None

    def reached(self, nodes: int, next_seconds: float = 0.0) -> bool:
        """Whether the search is over after this many nodes, when the next step takes `next_seconds`."""
        return (
            (self.nodes is not None and nodes >= self.nodes)
            or time.monotonic() + next_seconds >= self.deadline
            or (self.stop is not None and self.stop.is_set())
        )


class Node:
    """A position that was evaluated. Values are those of the player to move in it."""

    __slots__ = ("children", "moves", "priors", "q", "sums", "total", "visits")

    def __init__(self, moves: list[int], priors: NDArray[np.float32], value: float) -> None:
        self.moves = moves
        self.priors = priors
        self.visits = np.zeros(len(moves), np.int32)
        self.sums = np.zeros(len(moves), np.float32)
        self.q = np.full(len(moves), value - UNVISITED_PENALTY, np.float32)
        self.total = 0
        self.children: dict[int, Node] = {}

    def select(self) -> int:
        """The index of the move with the highest upper bound."""
        return int((self.q + EXPLORATION * math.sqrt(self.total + 1) * self.priors / (1 + self.visits)).argmax())

    def add(self, place: int, visits: int, value: float) -> None:
        """Count visits of a move, and add to the sum of their values."""
        self.total += visits
        self.visits[place] += visits
        self.sums[place] += value
        self.q[place] = self.sums[place] / self.visits[place]


class _Leaf(NamedTuple):
    path: list[tuple[Node, int]]
    moves: list[int]
    turn: int
    value: float | None
    """For its player to move, if the rules know it; else the network is asked."""


class Search:
    """Thinks about positions with an evaluator; keeps nothing from one position to the next."""

    def __init__(self, evaluate: Evaluator, leaves: int = LEAVES) -> None:
        self.evaluate = evaluate
        self._planes = np.empty((leaves, *SHAPE), np.float32)

    def think(
        self, game: ShogiGame, limits: Limits, on_progress: Callable[[SearchResult], None] | None = None
    ) -> SearchResult:
        """Search a position that has a legal move. The game is as before when this returns, even by an error.

        The root is always evaluated, so that there is a move however short the time was.
        """
        if mate := mating_move(game):
            return SearchResult(mate, 1.0, (mate,), 1, ((mate, 1),))
        root, value = self._root(game)
        nodes, told, slowest = 1, time.monotonic(), 0.0
        while not limits.reached(nodes, slowest):  # a large network must not begin what it cannot end in time
            room = len(self._planes) if limits.nodes is None else min(len(self._planes), limits.nodes - nodes)
            begun = time.monotonic()
            nodes += self._round(game, root, room)
            slowest = max(slowest, time.monotonic() - begun)
            if on_progress is not None and time.monotonic() - told > 1:
                told = time.monotonic()
                on_progress(_thought(root, value, nodes))
        return _thought(root, value, nodes)

    def _root(self, game: ShogiGame) -> tuple[Node, float]:
        observe([game], self._planes[:1])
        logits, wdl = self.evaluate(self._planes[:1])
        value = float(wdl[0, 0] - wdl[0, 2])
        return Node(game.legal_moves, _priors(logits[0], game.legal_moves, game.turn), value), value

    def _round(self, game: ShogiGame, root: Node, room: int) -> int:
        """Walk to up to `room` leaves, evaluate them together and back their values up; how many there were."""
        leaves: list[_Leaf] = []
        waiting: set[tuple[int, int]] = set()
        known = 0
        while known + len(leaves) < room:
            leaf = self._walk(game, root, len(leaves))
            node, place = leaf.path[-1]
            if leaf.value is not None:
                known += 1
                _back_up(leaf.path, leaf.value, virtual=False)
                continue
            if (id(node), place) in waiting:  # the same leaf again: nothing new to learn before it is evaluated
                break
            waiting.add((id(node), place))
            leaves.append(leaf)
            for parent, chosen in leaf.path:  # until its value is known it counts as lost, so that others are tried
                parent.add(chosen, 1, -1.0)
        self._expand(leaves)
        return known + len(leaves)

    def _walk(self, game: ShogiGame, root: Node, row: int) -> _Leaf:
        """Play to a leaf and back; if only the network knows its value, its planes go to `row`."""
        node = root
        path: list[tuple[Node, int]] = []
        while True:
            place = node.select()
            path.append((node, place))
            if game.push(node.moves[place]) is not None or place not in node.children:
                break
            node = node.children[place]
        value: float | None = None
        if game.result is not None:
            value = game.result.for_player(game.turn)
        elif mating_move(game):
            value = 1.0
        else:
            observe([game], self._planes[row : row + 1])
        leaf = _Leaf(path, game.legal_moves, game.turn, value)
        for _ in path:
            game.pop()
        return leaf

    def _expand(self, leaves: list[_Leaf]) -> None:
        if not leaves:
            return
        logits, wdl = self.evaluate(self._planes[: len(leaves)])
        for leaf, row, value in zip(leaves, logits, (wdl[:, 0] - wdl[:, 2]).tolist(), strict=True):
            node, place = leaf.path[-1]
            node.children[place] = Node(leaf.moves, _priors(row, leaf.moves, leaf.turn), value)
            _back_up(leaf.path, value, virtual=True)


def mating_move(game: ShogiGame) -> int:
    """A move that mates at once, or 0; cshogi looks for it faster than the network is asked."""
    return 0 if game.in_check else int(game.board.mate_move_in_1ply())


def centipawns(value: float) -> int:
    """A value from −1 to 1 on the scale that shogi programs show, where 600 is a chance of 73 %."""
    chance = min(max((value + 1) / 2, 1e-4), 1 - 1e-4)
    return round(600 * math.log(chance / (1 - chance)))


def _priors(logits: NDArray[np.float32], moves: list[int], turn: int) -> NDArray[np.float32]:
    chosen = logits[actions_of_moves(np.array(moves, np.int32), np.full(len(moves), turn))]
    priors: NDArray[np.float32] = softmax(chosen[None]).probs[0]
    return priors


def _back_up(path: list[tuple[Node, int]], value: float, virtual: bool) -> None:
    """Add a leaf's value to every move on the way; the sign changes with the player.

    `virtual`: the visit is counted already, as a loss, which is taken back.
    """
    for node, place in reversed(path):
        value = -value
        node.add(place, 0 if virtual else 1, value + virtual)


def _thought(root: Node, value: float, nodes: int) -> SearchResult:
    if root.visits.any():
        best = int(np.lexsort((root.priors, root.visits))[-1])
        value = float(root.sums[best] / root.visits[best])
    else:
        best = int(root.priors.argmax())
    line, node, place = [root.moves[best]], root.children.get(best), 0
    while node is not None and node.visits.any():
        place = int(node.visits.argmax())
        line.append(node.moves[place])
        node = node.children.get(place)
    visits = tuple(zip(root.moves, root.visits.tolist(), strict=True))
    return SearchResult(root.moves[best], value, tuple(line), nodes, visits)
