"""Affine maps and layer norm over rows: forward and backward."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from understudy.networks.workspace import Workspace

if TYPE_CHECKING:
    from understudy.networks.network import Floats

EPSILON = 1e-5


def affine(x: Floats, weights: Floats, space: Workspace) -> Floats:
    """x·W + b, where b is the last row of `weights`."""
    y = np.matmul(x, weights[:-1], out=space.take(len(x), weights.shape[1]))
    y += weights[-1]
    return y


def affine_backward(d_y: Floats, x: Floats, weights: Floats, d_weights: Floats, space: Workspace) -> Floats:
    """The derivative with respect to x; that with respect to the weights is written to `d_weights`."""
    affine_gradient(d_y, x, d_weights)
    return np.matmul(d_y, weights[:-1].T, out=space.take(*x.shape))


def affine_gradient(d_y: Floats, x: Floats, d_weights: Floats) -> None:
    """Write the derivative with respect to the weights to `d_weights`."""
    np.matmul(x.T, d_y, out=d_weights[:-1])
    _column_sums(d_y, out=d_weights[-1])


def layer_norm(x: Floats, norm: Floats, space: Workspace) -> tuple[Floats, tuple[Floats, Floats]]:
    """Rows normalised to mean 0 and variance 1, times norm[0], plus norm[1]; and the trace for the backward pass."""
    normed, inverse, y = space.take(*x.shape), space.take(len(x), 1), space.take(*x.shape)
    np.subtract(x, _row_means(x, out=inverse), out=normed)
    _row_means(np.square(normed, out=y), out=inverse)
    inverse += EPSILON
    np.sqrt(inverse, out=inverse)
    np.divide(1, inverse, out=inverse)
    normed *= inverse
    np.multiply(normed, norm[0], out=y)
    y += norm[1]
    return y, (normed, inverse)


def layer_norm_backward(
    d_y: Floats, trace: tuple[Floats, Floats], norm: Floats, d_norm: Floats, space: Workspace
) -> Floats:
    """The derivative with respect to x; that with respect to gain and bias is written to `d_norm`."""
    normed, inverse = trace
    d = space.take(*d_y.shape)
    with space.scratch():
        product, means = space.take(*d_y.shape), space.take(len(d_y), 1)
        _column_sums(np.multiply(d_y, normed, out=product), out=d_norm[0])
        _column_sums(d_y, out=d_norm[1])
        np.multiply(d_y, norm[0], out=d)
        _row_means(np.multiply(d, normed, out=product), out=means)
        np.multiply(normed, means, out=product)
        d -= _row_means(d, out=means)
        d -= product
        d *= inverse
    return d


# For narrow rows, a product with a vector of ones is several times faster than a sum.
def _row_means(x: Floats, out: Floats) -> Floats:
    return np.matmul(x, np.full((x.shape[1], 1), 1 / x.shape[1], x.dtype), out=out)


def _column_sums(x: Floats, out: Floats) -> None:
    np.matmul(np.ones(len(x), x.dtype), x, out=out)
