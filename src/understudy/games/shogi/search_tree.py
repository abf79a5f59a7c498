"""The search tree: its nodes, the choice of the next move (PUCT), and the update after each visit.

Only tried moves have a node. They are tried in the order of their priors, so among the untried moves the next one has
the highest bound: a choice compares a few nodes, not all legal moves.
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
        """WIN or LOSS once the rules or a mate decide it, else 0."""
        self.known: float | None = None
        """The value if the rules determine it; the network is then not asked."""
        self.cycle = -1
        """If a repetition makes the position `known`: the number of moves at its earlier occurrence (see Search)."""
        self.key = 0
        self.in_check = False
        self.moves: NDArray[np.int32] | None = None
        """The legal moves, most probable first; None until the network has evaluated the position."""
        self.priors: NDArray[np.float32] | None = None
        self.next_prior = -1.0
        self.mass = 0.0
        """The sum of the priors of the tried moves."""
        self.children: list[Node] = []
        """One for each tried move, in the order of `moves`."""

    def expand(self, moves: NDArray[np.int32], priors: NDArray[np.float32]) -> None:
        """Store the legal moves and their probabilities."""
        order = np.argsort(-priors, kind="stable")
        self.moves, self.priors = moves[order], priors[order]
        self.next_prior = float(self.priors[0])

    def select(self, exploration: float, first_play: float) -> Node:
        """The child with the highest upper bound; an untried move becomes a new child.

        The value of an untried move is that of the position, minus `first_play` times the square root of the tried
        moves' prior mass.
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
        """The child to play: a winning one, else the most visited one that does not lose; None if none was visited."""
        return max(self.children, key=_worth_playing, default=None)

    def ranked(self) -> list[Node]:
        """The visited children, the one to play first."""
        return sorted(self.children, key=_worth_playing, reverse=True)

    def line(self) -> list[int]:
        """The expected moves from here on, starting with this node's move."""
        moves, node = [self.move], self.best()
        while node is not None:
            moves.append(node.move)
            node = node.best()
        return moves

    @property
    def value(self) -> float:
        """The mean of its visits, or the proved value."""
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
    """Count a visit of every node on a path as a loss for the player who moved there, until the real value is known.

    This makes the next walk try something else (virtual loss).
    """
    for node in path:
        node.visits += 1
        node.total -= 1.0


def back_up(path: Sequence[Node], value: float, *, expected: bool) -> None:
    """Add the value of a path's last node to all nodes of the path, with the sign changing with the player.

    `expected`: the visit was already counted by `expect_loss`, whose losses are removed.
    """
    for node in reversed(path):
        if expected:
            node.total += value + 1.0
        else:
            node.visits += 1
            node.total += value
        value = -value


def prove(path: Sequence[Node], proof: int) -> None:
    """Note that the path's last node is decided, and what follows for the nodes above it."""
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
