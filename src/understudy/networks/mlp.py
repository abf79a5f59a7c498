"""A multi-layer perceptron in NumPy: policy and value on a shared trunk, or each with its own."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from understudy.networks.layers import Layers
from understudy.networks.network import (
    Floats,
    Integers,
    Layout,
    Network,
    initialise_head,
    orthogonal,
    rescale_column,
)
from understudy.settings import NetworkSettings


class Mlp(Network):
    """ReLU layers, and beside them a matrix from the states directly to the outputs, initially 0.

    Through that matrix, linear relations are learned as fast as by a linear model; the layers add the rest. On a shared
    trunk, the last matrices give logits and value together.
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
        widths = (state_dim, *settings.hidden)
        if settings.separate:
            layout = dense_layout("policy.", widths, n_actions) + dense_layout("value.", widths, 1)
        else:
            layout = dense_layout("", widths, n_actions + 1)
        super().__init__(state_dim, n_actions, settings, layout, dtype)
        initialise_dense(rng, self.views(self.parameters), n_actions)
        prefixes = ("policy.", "value.") if settings.separate else ("",)
        stacks = [dense_layers(prefix, self.views(self.parameters), self.views(self.gradients)) for prefix in prefixes]
        self._trunk, self._value = stacks[0], stacks[1] if settings.separate else None

    def forward(self, states: Floats, starts: Integers | None = None) -> tuple[Floats, Floats]:
        """See Network.forward; `starts` makes no difference."""
        outputs = self._trunk.forward(states)
        if self._value is None:
            return outputs[:, :-1], outputs[:, -1]
        return outputs, self._value.forward(states)[:, 0]

    def backward(self, d_logits: Floats, d_values: Floats) -> None:
        """See Network.backward."""
        self._trunk.d_outputs[:, : self.n_actions] = d_logits
        value = self._value or self._trunk
        value.d_outputs[:, -1] = d_values
        self._trunk.backward()
        if self._value is not None:
            self._value.backward()

    def policy_part(self, vector: Floats) -> Floats:
        """See Network.policy_part."""
        if self.settings.separate:
            return vector[: sum(math.prod(shape) for name, shape in self.layout if name.startswith("policy."))]
        return last_matrices(self.layout, vector)[:, :-1]

    def absorb(self, gain: Floats, offset: Floats) -> None:
        """See Network.absorb."""
        for layers in (self._trunk, self._value):
            if layers is not None:
                layers.absorb(gain, offset)

    def rescale_value(self, gain: float, offset: float) -> None:
        """See Network.rescale_value."""
        rescale_column(last_matrices(self.layout, self.parameters), gain, offset)

    def begin_episode(self) -> None:
        """Nothing to reset: each state is evaluated independently."""

    def step(self, state: Floats) -> tuple[Floats, float]:
        """See Network.step."""
        outputs = self._trunk.step(state)
        if self._value is None:
            return outputs[:-1], outputs.item(-1)
        return outputs, self._value.step(state).item()


def dense_layout(prefix: str, widths: tuple[int, ...], outputs: int) -> Layout:
    """Hidden layers of these widths, then a matrix from the inputs to the outputs, and the head.

    The last two are adjacent in memory, so they form one matrix (see last_matrices).
    """
    hidden = [(f"{prefix}hidden{i}", (a + 1, b)) for i, (a, b) in enumerate(itertools.pairwise(widths))]
    skip = [(f"{prefix}skip", (widths[0], outputs))] if hidden else []
    return (*hidden, *skip, (f"{prefix}head", (widths[-1] + 1, outputs)))


def initialise_dense(rng: np.random.Generator, parameters: dict[str, Floats], n_actions: int) -> None:
    """Fill the matrices of a network that consists only of layers; the skip matrix stays 0."""
    for name, matrix in parameters.items():
        if name.endswith("head"):
            initialise_head(rng, matrix, n_actions=0 if name == "value.head" else n_actions)
        elif not name.endswith("skip"):
            matrix[:-1] = orthogonal(rng, matrix.shape[0] - 1, matrix.shape[1], math.sqrt(2))


def dense_layers(prefix: str, parameters: dict[str, Floats], gradients: dict[str, Floats]) -> Layers:
    """The layers of `dense_layout`."""
    names = [name for name in parameters if name.startswith((f"{prefix}hidden", f"{prefix}head"))]
    skip = f"{prefix}skip"
    return Layers(
        [parameters[name] for name in names],
        [gradients[name] for name in names],
        (parameters[skip], gradients[skip]) if skip in parameters else None,
    )


def last_matrices(layout: Layout, vector: Floats) -> Floats:
    """Of parameters or a vector of that layout: the skip matrix, if there is one, with the head below it."""
    columns = layout[-1][1][1]
    rows = sum(shape[0] for name, shape in layout[-2:] if name.endswith(("skip", "head")))
    return vector[-rows * columns :].reshape(rows, columns)
