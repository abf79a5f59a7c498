"""Logits of listed moves only: the legal moves of a position, about a hundred of 13,527 actions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from understudy.games.shogi.network.modules import ACTIONS, BOARD_ACTIONS, DROPS, SQUARES
from understudy.networks.network import Floats


class Listed(NamedTuple):
    """Some actions of each of N positions, read by `listed`: M in total, board moves first, then drops.

    Squares are rows of (N·81).
    """

    places: Tensor  # (M,) index of their logits in the flat (N, K)
    origins: Tensor  # (U,) squares from which something moves
    choices: Tensor  # of board moves: twice the index of its origin among those, plus 1 if it promotes
    targets: Tensor
    drops: Tensor  # indices into the flat (9, rows)
    actions: Tensor  # (M,) all of them, as indices into the flat (N, 13527)
    shape: tuple[int, int]


def listed(lists: Floats) -> Listed:
    """Read lists of actions (N, K); entries below 0 are empty."""
    n, k = lists.shape
    taken = np.flatnonzero(lists >= 0)
    actions = lists.reshape(-1)[taken].astype(np.int64)
    drops = actions >= BOARD_ACTIONS
    order = np.argsort(drops, kind="stable")
    taken, actions = taken[order], actions[order]
    moves = len(actions) - int(np.count_nonzero(drops))
    rows = taken // k
    first = rows * SQUARES
    origins, rest = np.divmod(actions[:moves], 2 * (SQUARES - 1))
    targets = rest >> 1
    targets += targets >= origins
    origins += first[:moves]
    moving = np.zeros(n * SQUARES, np.bool_)
    moving[origins] = True
    drop_targets, pieces = np.divmod(actions[moves:] - BOARD_ACTIONS, DROPS)
    tensor = torch.from_numpy
    return Listed(
        places=tensor(taken),
        origins=tensor(np.flatnonzero(moving)),
        choices=tensor(2 * np.cumsum(moving)[origins] - 2 + (rest & 1)),
        targets=tensor(first[:moves] + targets),
        drops=tensor(first[moves:] + drop_targets + pieces * (n * SQUARES)),
        actions=tensor(rows * ACTIONS + actions),
        shape=(n, k),
    )


def listed_logits(
    squares: Tensor, moves: Listed, pairs: Tensor, short: Tensor, biases: Tensor
) -> tuple[Tensor, Tensor]:
    """Logits (M,) of listed moves and the planes of the value (2, rows), from squares (rows, C).

    A query times a key is x·Q·K·x', and Q·K is one matrix, for moves with and without promotion (C + 1, 2·(C + 1)). So
    only the squares from which something moves are multiplied by it; drops and value need few outputs of each square.
    """
    channels = squares.shape[1]
    movers = squares.index_select(0, moves.origins)
    asked = torch.addmm(pairs[-1], movers, pairs[:-1]).view(-1, channels + 1).index_select(0, moves.choices)
    targets = functional.pad(squares.index_select(0, moves.targets), (0, 1), value=1.0)  # the bias's constant input
    said = torch.addmm(biases[:, None], short, squares.t())
    logits = torch.cat([(asked * targets).sum(1), said.view(-1).index_select(0, moves.drops)])
    return logits, said[DROPS:]


def in_lists(logits: Tensor, moves: Listed) -> Tensor:
    """Logits (M,) of listed moves, arranged as their lists (N, K)."""
    n, k = moves.shape
    return logits.new_zeros(n * k).index_copy(0, moves.places, logits).reshape(n, k)
