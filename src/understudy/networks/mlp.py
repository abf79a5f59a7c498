"""A multi-layer perceptron in NumPy: policy and value on a shared trunk, or each on its own."""

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
    absorb_into,
    initialise_head,
    orthogonal,
    rescale_column,
)
from understudy.settings import NetworkSettings


class Mlp(Network):
    """ReLU layers. On a shared trunk the last matrix gives logits and value together."""

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
        weights, gradients = (list(self.views(vector).values()) for vector in (self.parameters, self.gradients))
        for (name, _), matrix in zip(layout, weights, strict=True):
            if name.endswith("head"):
                initialise_head(rng, matrix, n_actions=0 if name == "value.head" else n_actions)
            else:
                matrix[:-1] = orthogonal(rng, matrix.shape[0] - 1, matrix.shape[1], math.sqrt(2))
        depth = len(widths)
        self._first = [weights[0], *weights[depth : depth + 1]]
        self._last = weights[-1]
        self._trunk = Layers(weights[:depth], gradients[:depth])
        self._value = Layers(weights[depth:], gradients[depth:]) if settings.separate else None

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
        return self.views(vector)["head"][:, :-1]

    def absorb(self, gain: Floats, offset: Floats) -> None:
        """See Network.absorb."""
        for weights in self._first:
            absorb_into(weights, gain, offset)

    def rescale_value(self, gain: float, offset: float) -> None:
        """See Network.rescale_value."""
        rescale_column(self._last, gain, offset)

    def begin_episode(self) -> None:
        """Nothing to forget: every state stands alone."""

    def step(self, state: Floats) -> tuple[Floats, float]:
        """See Network.step."""
        outputs = self._trunk.step(state)
        if self._value is None:
            return outputs[:-1], outputs.item(-1)
        return outputs, self._value.step(state).item()


def dense_layout(prefix: str, widths: tuple[int, ...], outputs: int) -> Layout:
    """Hidden layers from width to width, then a head."""
    hidden = [(f"{prefix}hidden{i}", (a + 1, b)) for i, (a, b) in enumerate(itertools.pairwise(widths))]
    return (*hidden, (f"{prefix}head", (widths[-1] + 1, outputs)))
