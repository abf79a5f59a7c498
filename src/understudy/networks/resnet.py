"""ActorCriticResTower: a residual network for boards of 9×9 squares and the 13,527 actions of shogi, in torch."""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from understudy.errors import SettingsError
from understudy.networks.network import Floats, Integers, Network
from understudy.networks.tower import (
    ACTIONS,
    SIDE,
    SQUARES,
    Listed,
    RunningNorm,
    Tower,
    expectation,
    folded,
    listed,
)
from understudy.settings import NetworkSettings


class ActorCriticResTower(Network):
    """The tower as a Network: states are the planes, flat; the value is P(win) − P(loss).

    With 13,527 actions it judges all of them. With K others, the last K numbers of a state list the legal moves by
    their action, −1 for none, and an action is a place in that list: the same policy at a fraction of the work.

    The torch parameters are views of `parameters`, and so are the running statistics, whose gradient stays 0: the
    optimizer, saving and publishing treat this network like any other.
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
        self._lists = 0 if n_actions == ACTIONS else n_actions
        board = state_dim - self._lists
        if board <= 0 or board % SQUARES:
            raise SettingsError(
                f"A resnet is for planes of 81 squares, and {ACTIONS} actions or as many as the state then lists, "
                f"not {state_dim} numbers and {n_actions} actions."
            )
        self.planes = board // SQUARES
        self.tower = Tower(self.planes, settings)
        named = [*self.tower.named_parameters(), *self._statistics()]
        layout = tuple((name, tuple(tensor.shape)) for name, tensor in named)
        super().__init__(state_dim, n_actions, settings, layout, dtype)
        views, gradients = self.views(self.parameters), self.views(self.gradients)
        for name, tensor in named:
            tensor.data = torch.from_numpy(views[name])
            if isinstance(tensor, nn.Parameter):
                tensor.grad = torch.from_numpy(gradients[name])
        self._initialise(rng)
        self._outputs: tuple[Tensor, Tensor] | None = None
        self._folded: tuple[Floats, Tower] | None = None

    def forward(self, states: Floats, starts: Integers | None = None) -> tuple[Floats, Floats]:
        """See Network.forward; `starts` makes no difference."""
        logits, wdl = self.tower(*self._inputs(states))
        self._outputs = logits, expectation(wdl)
        return logits.detach().numpy(), self._outputs[1].detach().numpy()

    def evaluate(self, states: Floats, starts: Integers | None = None) -> tuple[Floats, Floats]:
        """See Network.evaluate: without gradients, by a copy of the tower whose norms are folded away."""
        if self._folded is None or not np.array_equal(self._folded[0], self.parameters):
            self._folded = self.parameters.copy(), folded(self.tower)
        with torch.inference_mode():
            logits, wdl = self._folded[1](*self._inputs(states))
            return logits.numpy(), expectation(wdl).numpy()

    def backward(self, d_logits: Floats, d_values: Floats) -> None:
        """See Network.backward."""
        assert self._outputs is not None, "forward comes before backward"
        outputs, self._outputs = self._outputs, None
        dtype = self.parameters.dtype
        derivatives = [torch.from_numpy(np.ascontiguousarray(d, dtype)) for d in (d_logits, d_values)]
        self.backward_from(outputs, derivatives)

    def backward_from(self, outputs: Any, derivatives: Any) -> None:
        """Overwrite `gradients` with those of torch outputs, and let the running statistics follow."""
        self.gradients[:] = 0
        torch.autograd.backward(outputs, derivatives)
        for module in self.tower.modules():
            if isinstance(module, RunningNorm):
                module.follow()

    def use_threads(self, count: int) -> None:
        """See Network.use_threads."""
        torch.set_num_threads(count or os.cpu_count() or 1)

    def begin_episode(self) -> None:
        """Nothing to forget: every state stands alone."""

    def step(self, state: Floats) -> tuple[Floats, float]:
        """See Network.step."""
        logits, values = self.evaluate(state[None])
        return logits[0], float(values[0])

    def _inputs(self, states: Floats) -> tuple[Tensor, Listed | None]:
        states = np.asarray(states, self.parameters.dtype)
        planes = torch.from_numpy(states[:, : self.planes * SQUARES]).reshape(-1, self.planes, SIDE, SIDE)
        moves = listed(states[:, self.planes * SQUARES :]) if self._lists else None
        return planes.contiguous(memory_format=torch.channels_last), moves  # the fastest layout on CPUs

    def _statistics(self) -> list[tuple[str, Tensor]]:
        return [(name, buffer) for name, buffer in self.tower.named_buffers() if buffer.is_floating_point()]

    def _initialise(self, rng: np.random.Generator) -> None:
        """He initialisation; a block begins as the identity, the policy nearly uniform, the value near a draw."""
        for name, view in self.views(self.parameters).items():
            if view.ndim > 1:
                fan_in = math.prod(view.shape[1:])
                view[...] = rng.standard_normal(view.shape) * math.sqrt(2 / fan_in)
            else:
                view[...] = name.endswith(("norm.weight", "norm1.weight", "running_var"))
            if name == "counts.weight":
                view[...] = 0
            if name in ("policy.query.weight", "policy.drops.weight", "policy.linear.weight", "value.weight"):
                np.multiply(view, 0.01, out=view)
