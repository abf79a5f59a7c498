"""The tree that a search grows: its nodes, which move is looked at next (PUCT), and what is known after each visit.

Only moves that were tried have a node. They were tried in the order of their priors, so that of all others the next
one in this order has the highest bound: a choice looks at a few nodes, not at all legal moves.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

WIN, LOSS = 1, -1


class Node:
    """A position, reached by one move. Values and `proof` are those of the player who made this move."""

    __slots__ = (
        "children",
        "cycle",
        "in_check",
        "key",
        "known",
        "mass",
        "move",
        "moves",
        "next_prior",
        "prior",
        "priors",
        "proof",
        "total",
        "visits",
    )

    def __init__(self, move: int = 0, prior: float = 1.0) -> None:
        self.move = move
        self.prior = prior
        self.visits = 0
        self.total = 0.0
        self.proof = 0
        """WIN or LOSS once the rules or a mate decide it."""
        self.known: float | None = None
        """The value if the rules know it; then the network is not asked."""
        self.cycle = -1
        """Where the position occurred before, in moves from the start, if that makes it `known` (see Search)."""
        self.key = 0
        self.in_check = False
        self.moves: NDArray[np.int32] | None = None
        """The legal moves, most probable first; None until the network was asked."""
        self.priors: NDArray[np.float32] | None = None
        self.next_prior = -1.0
        self.mass = 0.0
        """The sum of the priors of the moves that were tried."""
        self.children: list[Node] = []
        """One for each move that was tried, in the order of `moves`."""

    def expand(self, moves: NDArray[np.int32], priors: NDArray[np.float32]) -> None:
        """Take in the legal moves and their probabilities."""
        order = np.argsort(-priors, kind="stable")
        self.moves, self.priors = moves[order], priors[order]
        self.next_prior = float(self.priors[0])

    def select(self, exploration: float, first_play: float) -> Node:
        """The child with the highest upper bound; a move that was not tried yet becomes a new one.

        Such a move is thought `first_play` times the root of the tried moves' priors worse than the position.
        """
        scale = exploration * math.sqrt(self.visits)
        best, chosen = -math.inf, None
        if self.next_prior >= 0:
            best = scale * self.next_prior - self.total / self.visits - first_play * math.sqrt(self.mass)
        for child in self.children:
            if child.proof:
                if child.proof == WIN:
                    return child
                continue
            bound = child.total / child.visits + scale * child.prior / (1 + child.visits)
            if bound > best:
                best, chosen = bound, child
        if chosen is None:
            chosen = self._try_next() if self.next_prior >= 0 else max(self.children, key=lambda c: c.visits)
        return chosen

    def child_of(self, move: int) -> Node | None:
        """The node of a move; None if it was not tried."""
        return next((child for child in self.children if child.move == move), None)

    def best(self) -> Node | None:
        """The child to play: one that wins, else the most visited that does not lose; None if none was visited."""
        return max(self.children, key=_worth_playing, default=None)

    def ranked(self) -> list[Node]:
        """The children that were visited, the one to play first."""
        return sorted(self.children, key=_worth_playing, reverse=True)

    def line(self) -> list[int]:
        """The moves that are expected from here on, this node's first."""
        moves, node = [self.move], self.best()
        while node is not None:
            moves.append(node.move)
            node = node.best()
        return moves

    @property
    def value(self) -> float:
        """The mean of its visits, or what is proved."""
        return float(self.proof) if self.proof else self.total / self.visits

    def _try_next(self) -> Node:
        assert self.moves is not None
        assert self.priors is not None
        place = len(self.children)
        child = Node(int(self.moves[place]), self.next_prior)
        self.children.append(child)
        self.mass += self.next_prior
        self.next_prior = float(self.priors[place + 1]) if place + 1 < len(self.moves) else -1.0
        return child


def expect_loss(path: Sequence[Node]) -> None:
    """Count a visit of every node on a path, as lost for who moved there, until the value of its end is known.

    So the next walk tries something else.
    """
    for node in path:
        node.visits += 1
        node.total -= 1.0


def back_up(path: Sequence[Node], value: float, *, expected: bool) -> None:
    """Add the value of a path's last node to all nodes of the path; the sign changes with the player.

    `expected`: the visit was counted by `expect_loss`, whose losses are taken back.
    """
    for node in reversed(path):
        if expected:
            node.total += value + 1.0
        else:
            node.visits += 1
            node.total += value
        value = -value


def prove(path: Sequence[Node], proof: int) -> None:
    """Note that the path's last node is decided, and whatever follows from that further up."""
    path[-1].proof, path[-1].known = proof, float(proof)
    for node in reversed(path[:-1]):
        if proof == WIN:  # one winning move is enough
            proof = LOSS
        elif node.next_prior < 0 and all(child.proof == LOSS for child in node.children):
            proof = WIN
        else:
            return
        node.proof, node.known = proof, float(proof)


def _worth_playing(node: Node) -> tuple[int, int, float]:
    return node.proof, node.visits, node.prior
