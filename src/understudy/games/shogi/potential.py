"""The value of material, and rewards that report it immediately: potential-based shaping (Ng et al. 1999).

A game's reward is its result, which comes late. Shaping adds γ·Φ(s') − Φ(s) to each decision, where Φ grows with a
player's material. Over a whole game these terms sum to the potential of the first position, so the best policy does not
change. A network that learns from such rewards leaves Φ out of its values; in play it is added again.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import cshogi
import numpy as np
from numpy.typing import NDArray

# By cshogi's piece types: none, P L N S B R G K and the promoted ones.
WORTH = (0, 1, 3, 3, 5, 8, 10, 6, 0, 7, 6, 6, 6, 12, 14)
WEIGHT = 0.5
"""The largest value of material, on a scale where a won game is worth 1."""
SCALE = 40.0
"""The difference in material, in pawns, at which half of that is nearly reached."""

_OF_PIECE = np.zeros(32)  # cshogi's numbers: Black's pieces equal their types, White's are 16 higher
_OF_PIECE[1:15] = WORTH[1:]
_OF_PIECE[17:31] = -_OF_PIECE[1:15]
_IN_HAND = np.array([WORTH[kind] for kind in (1, 2, 3, 4, 7, 5, 6)])  # P L N S G B R
_IN_HANDS = np.concatenate([_IN_HAND, -_IN_HAND])
_ON_BOARD = np.array([WORTH[kind] for kind in (1, 2, 3, 4, 7, 5, 6, 8, *range(9, 15))])  # by plane
_OF_PLANE = np.concatenate([_ON_BOARD, -_ON_BOARD, 18.0 * _IN_HANDS])  # hands are divided by 18


def material(boards: Sequence[cshogi.Board]) -> NDArray[np.float64]:
    """(N,) Black's advantage in material, in pawns, on the board and in hand."""
    pieces = np.frombuffer(b"".join([bytes(board.pieces) for board in boards]), np.uint8)
    hands = bytes(chain.from_iterable(chain.from_iterable(board.pieces_in_hand for board in boards)))
    on_board = _OF_PIECE[pieces.reshape(-1, 81)].sum(axis=1)
    difference: NDArray[np.float64] = on_board + np.frombuffer(hands, np.uint8).reshape(-1, 14) @ _IN_HANDS
    return difference


def material_of_planes(planes: NDArray[np.float32]) -> NDArray[np.float64]:
    """(N,) the advantage in material of the player to move, from planes (N, 46, 9, 9)."""
    counts = np.concatenate([planes[:, :28].sum(axis=(2, 3)), planes[:, 28:42, 0, 0]], axis=1)
    difference: NDArray[np.float64] = counts @ _OF_PLANE
    return difference


def potential(difference: NDArray[np.float64]) -> NDArray[np.float64]:
    """Φ of a difference in material, for the player who has the advantage; −Φ for the other one."""
    phi: NDArray[np.float64] = WEIGHT * np.tanh(difference / SCALE)
    return phi


def shaping(
    before: NDArray[np.float64], after: NDArray[np.float64], over: NDArray[np.bool_], gamma: float
) -> NDArray[np.float64]:
    """γ·Φ(s') − Φ(s), from the potentials of a decision's position and of the next one; Φ is 0 after the end."""
    return gamma * np.where(over, 0.0, after) - before
