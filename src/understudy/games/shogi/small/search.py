"""PUCT for small shogi games, with the search tree of shogi: a few leaves are evaluated together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from understudy.games.shogi.search_tree import LOSS, WIN, Node, back_up, expect_loss, prove
from understudy.games.shogi.small.matches import state_dim, write_states
from understudy.games.shogi.small.rules import BLACK, SmallGame
from understudy.models.live import LiveModel
from understudy.models.state import read_model

LEAVES = 8
EXPLORATION, FIRST_PLAY = 1.5, 0.2

Evaluate = Callable[[NDArray[np.float32]], tuple[NDArray[np.float32], NDArray[np.float32]]]
"""States (N, S) → logits of all actions (N, A) and values for the players to move (N,), −1 to 1."""


class _Leaf(NamedTuple):
    path: list[Node]
    actions: tuple[int, ...]


def evaluator_of(model: Path) -> Evaluate:
    """The network of a model file."""
    live = LiveModel(read_model(model))
    mean, spread = live.trainer.values.mean, live.trainer.values.spread

    def evaluate(states: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        logits, values = live.network.evaluate(live.trainer.normalizer.apply(states))
        return logits, np.clip(mean + spread * values, -1, 1).astype(np.float32)

    return evaluate


def search(evaluate: Evaluate, game: SmallGame, nodes: int) -> Node:
    """The root of a search tree of this many nodes; the game is unchanged afterwards.

    A position that occurred before in the line or the game gets the result of repeating that cycle.
    """
    root = Node()
    states = np.empty((LEAVES, state_dim(game.variant)), np.float32)
    write_states(game.variant, [game], states[:1])
    expect_loss([root])
    _expand(evaluate, [_Leaf([root], game.actions)], states)
    seen, depth = 1, len(game.moves)
    while seen < nodes and not root.proof:
        leaves: list[_Leaf] = []
        waiting: set[int] = set()
        decided = 0
        while decided + len(leaves) < min(LEAVES, nodes - seen):
            path = _walk(root, game)
            known = _known(path, game)
            again = id(path[-1]) in waiting
            if known is not None:
                decided += 1
                back_up(path, known, expected=False)
            elif not again:
                write_states(game.variant, [game], states[len(leaves) : len(leaves) + 1])
                leaves.append(_Leaf(path, game.actions))
                waiting.add(id(path[-1]))
                expect_loss(path)
            while len(game.moves) > depth:
                game.pop()
            if again:  # this leaf is already waiting for its evaluation
                break
        _expand(evaluate, leaves, states)
        seen += decided + len(leaves)
    return root


def best_action(root: Node) -> int:
    """The move to play after a search."""
    best = root.best()
    if best is not None:
        return best.move
    assert root.moves is not None
    return int(root.moves[0])


def _walk(root: Node, game: SmallGame) -> list[Node]:
    """Play to a decided or unevaluated node; returns the path to it."""
    node, path = root, [root]
    while node.moves is not None and not node.proof:
        node = node.select(EXPLORATION, FIRST_PLAY)
        path.append(node)
        game.push(node.move)
    return path


def _known(path: list[Node], game: SmallGame) -> float | None:
    """The value of a path's end for the player who moved there, if a proof or the rules determine it."""
    node, mover = path[-1], 1 - game.turn
    if node.proof:
        return float(node.proof)
    if game.occurrences > 1:
        return float(game.if_repeated() * (1 if mover == BLACK else -1))
    if not game.over:
        return None
    value = game.for_player(mover)
    if value:
        prove(path, WIN if value > 0 else LOSS)
    return value


def _expand(evaluate: Evaluate, leaves: Sequence[_Leaf], states: NDArray[np.float32]) -> None:
    """Evaluate leaves with the network; their states come first in `states`."""
    if not leaves:
        return
    logits, values = evaluate(states[: len(leaves)])
    for (path, actions), row, value in zip(leaves, logits, values.tolist(), strict=True):
        moves = np.array(actions, np.int32)
        weights = np.exp(row[moves] - row[moves].max())
        path[-1].expand(moves, weights / weights.sum())
        back_up(path, -value, expected=True)
