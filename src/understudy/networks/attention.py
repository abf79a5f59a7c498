"""Sliding-window attention over concatenated episodes, without padding and without a loop over time.

The rows are cut into blocks of `context`. A query looks back at most context − 1 rows, so its keys are in its own block
and the one before: scores are (context, 2·context) matrices. Only a diagonal band of such a matrix is inside the
window. `_band` shows that band as a (context, context) array whose last column is the query's own row, so column k
means the same distance, context − 1 − k, in every row.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import as_strided

from understudy.networks.network import Floats, Integers
from understudy.networks.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Attended:
    """What the backward pass needs from one attention."""

    queries: Floats  # (blocks, heads, context, d), scaled
    keys: Floats  # (blocks, heads, 2·context, d), overlapping views
    values: Floats
    weights: Floats  # (blocks, heads, context, 2·context), zero outside the band


def hiding(starts: Integers, rows: int, context: int, space: Workspace) -> Floats:
    """A mask that, added to the scores, hides columns of the band that belong to other episodes.

    0 or −∞, of shape (blocks, 1, context, context).
    """
    row = np.arange(rows)
    reach = row - starts[np.searchsorted(starts, row, side="right") - 1]
    outside = np.arange(context) < context - 1 - reach[:, None]
    mask = space.zeros(rows, context)
    mask[outside] = -np.inf
    return mask.reshape(-1, 1, context, context)


def attend(qkv: Floats, position_bias: Floats, mask: Floats, space: Workspace) -> tuple[Floats, Attended]:
    """Mix the values of every row's window. `qkv` is (rows, 3·width), rows a multiple of context; mask: hiding()."""
    heads, context = position_bias.shape
    rows, width = len(qkv), qkv.shape[1] // 3
    blocks, d = rows // context, width // heads
    queries = space.take(blocks, heads, context, d)
    np.multiply(_split(qkv[:, :width], heads, context), d**-0.5, out=queries)
    keys = _with_previous(qkv[:, width : 2 * width], heads, context, space)
    values = _with_previous(qkv[:, 2 * width :], heads, context, space)
    weights = space.zeros(blocks, heads, context, 2 * context)
    mixed = space.take(rows, width)
    with space.scratch():
        products = np.matmul(queries, keys.swapaxes(2, 3), out=space.take(*weights.shape))
        scores, per_row = space.take(blocks, heads, context, context), space.take(blocks, heads, context, 1)
        np.add(_band(products), position_bias[:, None, :], out=scores)
        scores += mask
        scores -= np.max(scores, axis=-1, keepdims=True, out=per_row)
        np.exp(scores, out=scores)
        np.divide(scores, np.sum(scores, axis=-1, keepdims=True, out=per_row), out=_band(weights))
    np.matmul(weights, values, out=_split(mixed, heads, context))
    return mixed, Attended(queries, keys, values, weights)


def attend_backward(d_mixed: Floats, a: Attended, d_qkv: Floats, d_position_bias: Floats, space: Workspace) -> None:
    """Write the derivatives with respect to `qkv` and to the position bias to the third and fourth argument."""
    heads, context = d_position_bias.shape
    width = d_mixed.shape[1]
    scale = (width // heads) ** -0.5
    with space.scratch():
        d_out = _split(d_mixed, heads, context)
        d_weights = _band(np.matmul(d_out, a.values.swapaxes(2, 3), out=space.take(*a.weights.shape)))
        weights = _band(a.weights)
        d_scores = space.zeros(*a.weights.shape)
        d_band, product = _band(d_scores), space.take(*weights.shape)
        np.multiply(d_weights, weights, out=d_band)
        totals = np.sum(d_band, axis=-1, keepdims=True, out=space.take(*weights.shape[:-1], 1))
        d_band -= np.multiply(weights, totals, out=product)

        np.sum(d_band, axis=(0, 2), out=d_position_bias)
        d_queries = np.matmul(d_scores, a.keys, out=space.take(*a.queries.shape))
        np.multiply(d_queries, scale, out=_split(d_qkv[:, :width], heads, context))
        d_windows = space.take(*a.keys.shape)
        np.matmul(d_scores.swapaxes(2, 3), a.queries, out=d_windows)
        _add_up(d_windows, _split(d_qkv[:, width : 2 * width], heads, context))
        np.matmul(a.weights.swapaxes(2, 3), d_out, out=d_windows)
        _add_up(d_windows, _split(d_qkv[:, 2 * width :], heads, context))


def _split(rows: Floats, heads: int, context: int) -> Floats:
    """View (rows, width) as (blocks, heads, context, d)."""
    return rows.reshape(-1, context, heads, rows.shape[1] // heads).swapaxes(1, 2)


def _with_previous(rows: Floats, heads: int, context: int, space: Workspace) -> Floats:
    """Every block and the one before it (zeros before the first): (blocks, heads, 2·context, d)."""
    n, width = rows.shape
    d = width // heads
    padded = space.take(heads, context + n, d)
    padded[:, :context] = 0
    padded[:, context:] = rows.reshape(n, heads, d).swapaxes(0, 1)
    by_head, by_row, by_number = padded.strides
    return as_strided(
        padded, (n // context, heads, 2 * context, d), (context * by_row, by_head, by_row, by_number), writeable=False
    )


def _add_up(d_windows: Floats, out: Floats) -> None:
    """The derivative with respect to a row: the sum over the queries of its own block and of the next one."""
    context = out.shape[2]
    np.copyto(out, d_windows[:, :, context:])
    out[:-1] += d_windows[1:, :, :context]


def _band(square: Floats) -> Floats:
    """View the window of (…, context, 2·context) scores as (…, context, context): columns r+1 … r+context of row r."""
    context = square.shape[-2]
    *outer, by_row, by_column = square.strides
    return as_strided(square[..., 1:], (*square.shape[:-1], context), (*outer, by_row + by_column, by_column))
