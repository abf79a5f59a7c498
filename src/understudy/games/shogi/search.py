"""PUCT (Silver et al. 2017) with the network's policy and value, a few leaves at a time.

Every node is reached by one path, so that repetitions and the end of a game at its maximum of moves are exact. A
position that already occurred since the root gets the result of repeating that cycle: a draw, or a loss for the player
who gave check all the time. The tree is kept for the next position of the same game.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from understudy.games.shogi.actions import actions_of_moves
from understudy.games.shogi.batch import SHAPE, observe
from understudy.games.shogi.evaluation_cache import EvaluationCache, Judgement
from understudy.games.shogi.inference import Evaluator
from understudy.games.shogi.rules import ShogiGame, short_mate
from understudy.games.shogi.search_tree import LOSS, WIN, Node, back_up, expect_loss, prove

LEAVES = 8  # leaves evaluated together
MOST_NODES = 300_000
_ROUND_SECONDS = 0.02  # longest round of a search that may be told to stop: it checks between rounds


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """The parameters of a search."""

    exploration: float = 1.5
    first_play: float = 0.2
    """How much worse than its parent an untried move is assumed to be, if the tried moves have all the prior mass."""
    prior_temperature: float = 1.0
    """Above 1, the priors are flatter than the network's policy."""
    draw_value: float = 0.0
    """The value of a draw for the player at the root, −1 to 1."""
    noise: float = 0.0
    """The share of Dirichlet noise in the priors of the root."""
    noise_alpha: float = 0.15
    leaves: int = LEAVES
    most_nodes: int = MOST_NODES
    """The tree does not grow beyond this; a node takes about 1.5 KB."""
    leaf_mate: Callable[[ShogiGame], int] = short_mate
    """For every new position: a move that forces mate, or 0."""
    root_mate: Callable[[ShogiGame, Limits], Sequence[int]] | None = None
    """Called first: returns the line of a forced mate, or an empty one."""
    cache: EvaluationCache | None = None
    """Keeps evaluations of positions for later. It must be used with only one evaluator and one `prior_temperature`."""


class SearchLine(NamedTuple):
    """A move at the root, the expected line after it, and its value for the player to move."""

    moves: tuple[int, ...]
    value: float
    visits: int
    mate: bool = False
    """Whether the value is proved, not estimated."""

    @property
    def move(self) -> int:
        """The first move of the line."""
        return self.moves[0]


class SearchResult(NamedTuple):
    """The result of a search: the move, its value for the player to move (−1 to 1), and the expected line."""

    move: int
    value: float
    line: tuple[int, ...]
    nodes: int
    """Nodes visited in this search."""
    visits: tuple[tuple[int, int], ...]
    """(move, visits) for all moves, including visits of earlier searches."""
    lines: tuple[SearchLine, ...] = ()
    """The best moves, best first."""
    mate: bool = False
    """Whether the value is proved, not estimated."""

    def drawn(self, temperature: float, rng: np.random.Generator) -> int:
        """A move drawn in proportion to its visits to the power of 1 / temperature; at 0, the best move."""
        counts = np.array([visits for _, visits in self.visits], np.float64)
        if temperature <= 0 or self.mate or not counts.any():
            return self.move
        weights = (counts / counts.max()) ** (1 / temperature)
        return self.visits[rng.choice(len(weights), p=weights / weights.sum())][0]


class Limits(NamedTuple):
    """When a search ends: at the first limit that is reached."""

    nodes: int | None = None
    deadline: float = math.inf
    """As a time of `time.monotonic`."""
    stop: threading.Event | None = None

    def reached(self, nodes: int, next_seconds: float = 0.0) -> bool:
        """Whether the search must end after this many nodes, if the next step takes `next_seconds`."""
        return (
            (self.nodes is not None and nodes >= self.nodes)
            or time.monotonic() + next_seconds >= self.deadline
            or (self.stop is not None and self.stop.is_set())
        )

    @property
    def by_time(self) -> bool:
        """Whether the search must be able to end at any time."""
        return self.stop is not None or self.deadline < math.inf


class _Leaf(NamedTuple):
    path: list[Node]
    moves: NDArray[np.int32]
    turn: int
    key: tuple[int, int, int]


class Search:
    """Searches positions with an evaluator."""

    def __init__(
        self,
        evaluate: Evaluator,
        settings: SearchSettings = SearchSettings(),  # noqa: B008 - it is frozen
        rng: np.random.Generator | None = None,
    ) -> None:
        self.evaluate = evaluate
        self.settings = settings
        self._rng = rng or np.random.default_rng()
        self._planes = np.empty((settings.leaves, *SHAPE), np.float32)
        self.forget()

    def forget(self) -> None:
        """Drop the tree of earlier searches."""
        self._root: Node | None = None
        self._game: tuple[str, int, int] = ("", 0, 0)  # start position, maximum of moves, player at the root
        self._moves: list[int] = []

    def think(
        self,
        game: ShogiGame,
        limits: Limits,
        on_progress: Callable[[SearchResult], None] | None = None,
        *,
        lines: int = 1,
        every: float = 1.0,
    ) -> SearchResult:
        """Search a position that has a legal move. The game is unchanged when this returns or raises.

        The root is always evaluated, so there is always a move, however short the time. `lines` is the number of moves
        in the result; `on_progress` gets the current result every `every` seconds.
        """
        if mate := self._mate(game, limits):
            return SearchResult(mate[0], 1.0, mate, 1, ((mate[0], 1),), (SearchLine(mate, 1.0, 1, True),), mate=True)
        root, nodes = self._find_root(game)
        told, slowest, room = time.monotonic(), 0.0, len(self._planes)
        depth = len(game.moves)
        try:
            while not (root.proof or limits.reached(nodes, slowest) or root.visits >= self.settings.most_nodes):
                begun = time.monotonic()
                done = self._round(game, root, room if limits.nodes is None else min(room, limits.nodes - nodes))
                nodes += done
                now = time.monotonic()
                slowest = max(slowest, now - begun)  # do not start a round that a large network cannot finish in time
                if limits.by_time and done:
                    room = max(1, min(len(self._planes), int(_ROUND_SECONDS * done / (now - begun + 1e-9))))
                if on_progress is not None and now - told > every:
                    told = now
                    on_progress(_result(root, nodes, lines))
        except BaseException:
            _return_to(depth, game)
            self.forget()  # otherwise visits that wait for a value would stay counted as losses
            raise
        return _result(root, nodes, lines)

    def _mate(self, game: ShogiGame, limits: Limits) -> tuple[int, ...]:
        if self.settings.root_mate is not None and (line := tuple(self.settings.root_mate(game, limits))):
            return line
        move = self.settings.leaf_mate(game)
        return (move,) if move else ()

    def _find_root(self, game: ShogiGame) -> tuple[Node, int]:
        """The node of this position, from the last tree if it is there; and the number of evaluated positions."""
        identity, known = (game.start, game.max_moves, game.turn if self.settings.draw_value else 0), len(self._moves)
        node = self._root if identity == self._game and game.moves[:known] == self._moves else None
        for move in game.moves[known:]:
            node = None if node is None else node.child_of(move)
        fresh = node is None or node.moves is None
        if node is None or node.moves is None:
            node = Node()
            observe([game], self._planes[:1])
            leaf = _Leaf([node], np.array(game.legal_moves, np.int32), game.turn, EvaluationCache.key(game))
            expect_loss(leaf.path)
            self._expand([leaf], game.turn)
        self._root, self._game, self._moves = node, identity, list(game.moves)
        if self.settings.noise:
            self._add_noise(node)
        return node, int(fresh)

    def _add_noise(self, root: Node) -> None:
        assert root.priors is not None
        share, count = self.settings.noise, len(root.priors)
        noise = self._rng.dirichlet(np.full(count, self.settings.noise_alpha))
        mixed = (1 - share) * root.priors + share * noise
        tried = len(root.children)
        for child, prior in zip(root.children, mixed[:tried].tolist(), strict=True):
            child.prior = prior
        order = tried + np.argsort(-mixed[tried:], kind="stable")
        assert root.moves is not None
        root.moves = np.concatenate([root.moves[:tried], root.moves[order]])
        root.priors = np.concatenate([mixed[:tried], mixed[order]]).astype(np.float32)
        root.next_prior = float(root.priors[tried]) if tried < count else -1.0

    def _round(self, game: ShogiGame, root: Node, room: int) -> int:
        """Walk to up to `room` leaves, evaluate them together and back up their values; returns how many there were."""
        leaves: list[_Leaf] = []
        waiting: set[int] = set()
        known, depth, turn = 0, len(game.moves), game.turn
        while known + len(leaves) < room:
            path = self._walk(root, game)
            end = path[-1]
            if id(end) in waiting:  # the same leaf again, which is not evaluated yet
                _return_to(depth, game)
                break
            if end.known is None or 0 <= end.cycle < depth:  # a position before the root may occur once more
                self._settle(game, path, depth, turn)
            if end.known is None and self._recall(game, path, turn):
                known += 1
            elif end.known is None:
                observe([game], self._planes[len(leaves) : len(leaves) + 1])
                moves = np.array(game.legal_moves, np.int32)
                leaves.append(_Leaf(path, moves, game.turn, EvaluationCache.key(game)))
                waiting.add(id(end))
                expect_loss(path)
            else:
                known += 1
                back_up(path, end.known, expected=False)
            _return_to(depth, game)
        self._expand(leaves, turn)
        return known + len(leaves)

    def _walk(self, root: Node, game: ShogiGame) -> list[Node]:
        """Choose a path to a decided or unevaluated node, and play all of its moves except the last."""
        exploration, first_play = self.settings.exploration, self.settings.first_play
        node, path = root, [root]
        while True:
            node = node.select(exploration, first_play)
            path.append(node)
            if node.moves is None or node.proof:
                return path
            game.follow(node.move, node.key, node.in_check)

    def _settle(self, game: ShogiGame, path: list[Node], depth: int, turn: int) -> None:
        """Play the last move of a path, and note the result there if the rules decide it."""
        node = path[-1]
        game.push(node.move)
        node.key, node.in_check, node.known, node.cycle = game.key, game.in_check, None, -1
        mover = 1 - game.turn
        draw = self.settings.draw_value if mover == turn else -self.settings.draw_value
        if game.result is not None:
            node.known = draw if game.result.winner is None else game.result.for_player(mover)
        elif cycle := game.cycle(depth):
            node.cycle, result = cycle
            node.known = draw if result.winner is None else result.for_player(mover)
        elif self.settings.leaf_mate(game):
            node.known = -1.0
        if node.known is not None and node.cycle < 0 and abs(node.known) == 1:
            prove(path, WIN if node.known > 0 else LOSS)

    def _expand(self, leaves: list[_Leaf], turn: int) -> None:
        """Evaluate leaves with the network; `turn` is the player at the root."""
        if not leaves:
            return
        logits, wdl = self.evaluate(self._planes[: len(leaves)])
        cache = self.settings.cache
        for leaf, priors, chances in zip(leaves, self._priors(leaves, logits), wdl.tolist(), strict=True):
            leaf.path[-1].expand(leaf.moves, priors)
            back_up(leaf.path, -self._value(chances, leaf.turn == turn), expected=True)
            if cache is not None:
                cache.put(leaf.key, Judgement(leaf.moves, priors, tuple(chances)))

    def _recall(self, game: ShogiGame, path: list[Node], turn: int) -> bool:
        """If the evaluation of this position is cached, back it up; returns whether it was."""
        found = None if self.settings.cache is None else self.settings.cache.get(game)
        if found is None:
            return False
        path[-1].expand(found.moves, found.priors)
        back_up(path, -self._value(found.wdl, game.turn == turn), expected=False)
        return True

    def _value(self, wdl: Sequence[float], at_root: bool) -> float:
        """The value of win, draw and loss probabilities for their player; `at_root`: it is the player at the root."""
        draw = self.settings.draw_value
        return wdl[0] - wdl[2] + (draw if at_root else -draw) * wdl[1]

    def _priors(self, leaves: list[_Leaf], logits: NDArray[np.float32]) -> list[NDArray[np.float32]]:
        """The probabilities of the legal moves of each leaf."""
        counts = np.array([len(leaf.moves) for leaf in leaves])
        rows = np.repeat(np.arange(len(leaves)), counts)
        turns = np.repeat([leaf.turn for leaf in leaves], counts)
        actions = actions_of_moves(np.concatenate([leaf.moves for leaf in leaves]), turns)
        scores = logits[rows, actions] / np.float32(self.settings.prior_temperature)
        starts = np.cumsum(counts) - counts
        weights = np.exp(scores - np.maximum.reduceat(scores, starts)[rows])
        weights /= np.add.reduceat(weights, starts)[rows]
        return np.split(weights, starts[1:])


def centipawns(value: float) -> int:
    """A value from −1 to 1 on the scale of shogi programs, where 600 is a winning chance of 73 %."""
    chance = min(max((value + 1) / 2, 1e-4), 1 - 1e-4)
    return round(600 * math.log(chance / (1 - chance)))


def _return_to(depth: int, game: ShogiGame) -> None:
    while len(game.moves) > depth:
        game.pop()


def _result(root: Node, nodes: int, lines: int) -> SearchResult:
    ranked = root.ranked()
    assert root.moves is not None
    tried = [(child.move, child.visits) for child in root.children]
    visits = (*tried, *((move, 0) for move in root.moves[len(tried) :].tolist()))
    if not ranked:
        move = int(root.moves[0])
        return SearchResult(move, -root.total / root.visits, (move,), nodes, visits)
    found = tuple(
        SearchLine(tuple(child.line()), child.value, child.visits, bool(child.proof)) for child in ranked[:lines]
    )
    best = found[0]
    return SearchResult(best.move, best.value, best.moves, nodes, visits, found, mate=bool(ranked[0].proof))
