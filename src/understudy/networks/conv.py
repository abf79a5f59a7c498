"""A small convolutional network in NumPy, for states that are images: convolutions, followed by an MLP."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided

from understudy.errors import SettingsError
from understudy.networks.affine import affine, affine_backward, affine_gradient
from understudy.networks.mlp import dense_layers, dense_layout, initialise_dense, last_matrices
from understudy.networks.network import (
    Floats,
    Integers,
    Layout,
    Network,
    rescale_column,
)
from understudy.networks.workspace import Workspace
from understudy.settings import NetworkSettings


class _Convolution(NamedTuple):
    """One layer: images (height, width, channels) to images (rows, columns, filters)."""

    height: int
    width: int
    channels: int
    kernel: int
    stride: int
    filters: int

    @property
    def rows(self) -> int:
        return (self.height - self.kernel) // self.stride + 1

    @property
    def columns(self) -> int:
        return (self.width - self.kernel) // self.stride + 1

    @property
    def patch(self) -> int:
        """The number of inputs of a filter."""
        return self.kernel**2 * self.channels

    @property
    def outputs(self) -> int:
        return self.rows * self.columns * self.filters


class ConvNet(Network):
    """A state is an image of `settings.image` (height, width, channels), row by row, a pixel's channels together.

    Filters see only complete patches; there is no padding. Each convolution is one product of all patches with all
    filters.
    """

    sequential = False

    def __init__(
        self,
        state_dim: int,
        n_actions: int,
        settings: NetworkSettings,
        rng: np.random.Generator,
        dtype: type[np.floating[Any]] = np.float32,
    ) -> None:
        self._convolutions = _plan(state_dim, settings)
        widths = (self._convolutions[-1].outputs, *settings.hidden)
        filters: Layout = tuple((f"conv{i}", (c.patch + 1, c.filters)) for i, c in enumerate(self._convolutions))
        super().__init__(state_dim, n_actions, settings, filters + dense_layout("", widths, n_actions + 1), dtype)
        parameters, gradients = self.views(self.parameters), self.views(self.gradients)
        initialise_dense(rng, parameters, n_actions)
        self._filters, self._d_filters = ([views[name] for name, _ in filters] for views in (parameters, gradients))
        self._dense = dense_layers("", parameters, gradients)
        self._space, self._play_space = Workspace(dtype), Workspace(dtype)

    def forward(self, states: Floats, starts: Integers | None = None) -> tuple[Floats, Floats]:
        """See Network.forward; `starts` makes no difference."""
        images = np.ascontiguousarray(states, self.parameters.dtype)
        features, self._traces = self._convolve(images, self._space)
        outputs = self._dense.forward(features)
        return outputs[:, :-1], outputs[:, -1]

    def backward(self, d_logits: Floats, d_values: Floats) -> None:
        """See Network.backward."""
        self._dense.d_outputs[:, :-1] = d_logits
        self._dense.d_outputs[:, -1] = d_values
        self._dense.backward()
        space = self._space
        with space.scratch():
            d = self._dense.d_inputs(space.take(len(d_values), self._convolutions[-1].outputs))
            layers = zip(self._convolutions, self._filters, self._d_filters, self._traces, strict=True)
            for i, (shape, filters, d_filters, (patches, active)) in reversed(list(enumerate(layers))):
                d = d.reshape(-1, shape.filters)
                d *= active > 0
                if i == 0:
                    affine_gradient(d, patches, d_filters)
                else:
                    d = _add_up(affine_backward(d, patches, filters, d_filters, space), shape, space)

    def policy_part(self, vector: Floats) -> Floats:
        """See Network.policy_part."""
        return last_matrices(self.layout, vector)[:, :-1]

    def rescale_value(self, gain: float, offset: float) -> None:
        """See Network.rescale_value."""
        rescale_column(last_matrices(self.layout, self.parameters), gain, offset)

    def begin_episode(self) -> None:
        """Nothing to reset: each state is evaluated independently."""

    def step(self, state: Floats) -> tuple[Floats, float]:
        """See Network.step."""
        features, _ = self._convolve(state.astype(self.parameters.dtype, copy=False)[None], self._play_space)
        outputs = self._dense.step(features[0])
        return outputs[:-1], outputs.item(-1)

    def _convolve(self, images: Floats, space: Workspace) -> tuple[Floats, list[tuple[Floats, Floats]]]:
        """The features of each image, and, for the backward pass, the patches and outputs of each layer."""
        space.begin()
        n, traces = len(images), []
        for shape, filters in zip(self._convolutions, self._filters, strict=True):
            patches = _patches(images, shape, space)
            active = affine(patches, filters, space)
            np.maximum(active, 0, out=active)
            traces.append((patches, active))
            images = active
        return images.reshape(n, -1), traces


def _patches(images: Floats, shape: _Convolution, space: Workspace) -> Floats:
    """(images · rows · columns, patch) the inputs of the filters at each position; `images` must be contiguous."""
    images = images.reshape(-1, shape.height, shape.width, shape.channels)
    by_image, by_row, by_column, size = images.strides
    run = shape.kernel * shape.channels  # the pixels of a row are contiguous
    view = as_strided(
        images,
        (len(images), shape.rows, shape.columns, shape.kernel, run),
        (by_image, shape.stride * by_row, shape.stride * by_column, by_row, size),
        writeable=False,
    )
    patches = space.take(len(images) * shape.rows * shape.columns, shape.patch)
    np.copyto(patches.reshape(view.shape), view)
    return patches


def _add_up(d_patches: Floats, shape: _Convolution, space: Workspace) -> Floats:
    """The derivative with respect to the images: for each pixel, the sum over its patches."""
    by_place = d_patches.reshape(-1, shape.rows, shape.columns, shape.kernel, shape.kernel, shape.channels)
    d_images = space.zeros(len(by_place), shape.height, shape.width, shape.channels)
    stride = shape.stride
    for i in range(shape.kernel):
        for j in range(shape.kernel):
            rows, columns = slice(i, i + stride * shape.rows, stride), slice(j, j + stride * shape.columns, stride)
            d_images[:, rows, columns] += by_place[:, :, :, i, j]
    return d_images


def _plan(state_dim: int, settings: NetworkSettings) -> list[_Convolution]:
    """The convolutions in the settings, in order; SettingsError if they do not fit the states."""
    if len(settings.image) != 3 or math.prod(settings.image) != state_dim:
        raise SettingsError(
            f"network.image is {settings.image}: it must be height, width and channels of a state, "
            f"which has {state_dim} numbers."
        )
    sizes = len(settings.filters), len(settings.kernels), len(settings.strides)
    if not sizes[0] or len(set(sizes)) > 1:
        raise SettingsError(
            f"network.filters, kernels and strides have {sizes[0]}, {sizes[1]} and {sizes[2]} numbers: one for each "
            "convolution."
        )
    height, width, channels = settings.image
    plan = []
    for filters, kernel, stride in zip(settings.filters, settings.kernels, settings.strides, strict=True):
        if kernel > min(height, width):
            raise SettingsError(f"network.kernels: a kernel of {kernel} does not fit into {height} × {width} pixels.")
        plan.append(_Convolution(height, width, channels, kernel, stride, filters))
        height, width, channels = plan[-1].rows, plan[-1].columns, filters
    return plan
