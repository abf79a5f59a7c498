"""ActorCriticResTower: a residual network in torch for 9×9 boards and the 13,527 actions of shogi."""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from understudy.errors import SettingsError
from understudy.games.shogi.network.convolutions import convolutions
from understudy.games.shogi.network.folded import FoldedTower
from understudy.games.shogi.network.modules import ACTIONS, SAMPLE, SIDE, SQUARES, Tower, expectation
from understudy.games.shogi.network.moves import Listed, listed
from understudy.games.spec import resolve
from understudy.networks.network import Floats, Integers, Network, Objective
from understudy.settings import NetworkSettings

_PART = 256  # rows that a thread computes at a time; fewer need more calls, more do not fit its cache
_HALF = 64  # rows; two parts of at least this size are worth a second thread
_T = TypeVar("_T")


class ActorCriticResTower(Network):
    """The tower as a Network: states are the flattened planes; the value is P(win) − P(loss).

    With 13,527 actions, it gives logits for all of them. With K other actions, the last K numbers of a state list the
    legal moves by their index, −1 for none, and an action is an index into that list: the same policy at a fraction of
    the work.

    The torch parameters are views of `parameters`, and so are the running statistics, whose gradient stays 0. The
    optimizer, saving and publishing treat this network like any other.
    """

    sequential = False
    one_scale_a_part = False  # not measured for this network
    bounded_value = True

    def __init__(
        self,
        state_dim: int,
        n_actions: int,
        settings: NetworkSettings,
        rng: np.random.Generator,
        dtype: type[np.floating[Any]] = np.float32,
    ) -> None:
        self._lists = 0 if n_actions == ACTIONS else n_actions
        self._board = state_dim - self._lists
        if self._board <= 0 or self._board % SQUARES:
            raise SettingsError(
                f"A resnet is for planes of 81 squares, and {ACTIONS} actions or as many as the state then lists, "
                f"not {state_dim} numbers and {n_actions} actions."
            )
        self.planes = self._board // SQUARES
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
        self.tower.eval()
        self._working = FoldedTower(self.tower, convolutions(settings.backend))
        self._folded: Floats | None = None  # the parameters at the last folding
        self._outputs: list[tuple[Tensor, Tensor]] = []  # of the parts of the last forward pass
        self._sample = torch.empty(0)  # some boards of the last batch
        self._pool: ThreadPoolExecutor | None = None

    def to_onnx(self) -> bytes:
        """The network as an ONNX file."""
        content: bytes = resolve("understudy.games.shogi.inference:onnx_bytes")(self)  # by name: it imports this module
        return content

    def forward(self, states: Floats, starts: Integers | None = None) -> tuple[Floats, Floats]:
        """See Network.forward; `starts` makes no difference."""
        self._refold()
        self._sample = self._boards(_sampled(states))
        self._outputs = self._each(self._forward, self._parts(states, 2))
        return _joined([(logits.detach(), values.detach()) for logits, values in self._outputs])

    def evaluate(self, states: Floats, starts: Integers | None = None) -> tuple[Floats, Floats]:
        """See Network.evaluate: the same without gradients."""
        self._refold()
        return _joined(self._each(self._evaluate, self._parts(states)))

    def backward(self, d_logits: Floats, d_values: Floats) -> None:
        """See Network.backward."""
        assert self._outputs, "forward comes before backward"
        outputs, self._outputs = self._outputs, []
        ends = np.cumsum([len(values) for _, values in outputs])[:-1]
        parts = (np.split(np.ascontiguousarray(d, self.parameters.dtype), ends) for d in (d_logits, d_values))
        self._finish(self._each(self._backward, outputs, *parts), self._sample)

    def differentiate(self, states: Floats, starts: Integers | None, objective: Objective[_T]) -> list[_T]:
        """See Network.differentiate: each thread computes its parts completely, and the threads join once."""
        self._refold()
        parts = self._parts(states, 2)
        ends = np.cumsum([len(part) for part in parts]).tolist()
        rows = [slice(end - len(part), end) for part, end in zip(parts, ends, strict=True)]

        def work(part: Floats, rows: slice) -> tuple[tuple[Tensor, ...], _T]:
            outputs = self._forward(part)
            logits, values = (tensor.detach().numpy() for tensor in outputs)
            d_logits, d_values, found = objective(rows, logits, values)
            return self._backward(outputs, d_logits, d_values), found

        done = self._each(work, parts, rows)
        self._finish([gradients for gradients, _ in done], self._boards(_sampled(states)))
        return [found for _, found in done]

    def judge(self, planes: Tensor) -> tuple[Tensor, Tensor]:
        """Logits of all actions and of win, draw and loss, for an objective in torch; call `backward_from` next."""
        self._refold()
        return self._working(planes)

    def backward_from(self, loss: Tensor, planes: Tensor) -> None:
        """Overwrite `gradients` with those of an objective of the outputs of `judge` for these planes."""
        gradients = torch.autograd.grad(loss, self._working.weights, materialize_grads=True)
        self._finish([gradients], _sampled(planes))

    def use_threads(self, count: int) -> None:
        """See Network.use_threads; the results do not depend on it."""
        if self._pool is not None:
            self._pool.shutdown()
        torch.set_num_threads(1)
        count = count or os.cpu_count() or 1
        # Threads with parts of the batch synchronise twice in a gradient step; torch's own threads, in each operation.
        self._pool = ThreadPoolExecutor(count, "tower", torch.set_num_threads, (1,)) if count > 1 else None

    def compile(self) -> None:
        """See Network.compile."""
        states = np.zeros((2, self.state_dim), self.parameters.dtype)  # two, to have the memory layout of a batch
        with self._working.convolutions.announced(), torch.enable_grad():
            logits, values = self._forward(states)
            self._backward((logits, values), np.zeros_like(logits.detach()), np.zeros_like(values.detach()))

    def begin_episode(self) -> None:
        """Nothing to reset: each state is evaluated independently."""

    def step(self, state: Floats) -> tuple[Floats, float]:
        """See Network.step."""
        logits, values = self.evaluate(state[None])
        all_logits = np.zeros(self.n_actions, logits.dtype)
        all_logits[: logits.shape[1]] = logits[0]
        return all_logits, float(values[0])

    def _forward(self, states: Floats) -> tuple[Tensor, Tensor]:
        logits, wdl = self._working(*self._inputs(states))
        return logits, expectation(wdl)

    def _evaluate(self, states: Floats) -> tuple[Tensor, Tensor]:
        with torch.inference_mode():
            return self._forward(states)

    def _backward(self, outputs: tuple[Tensor, Tensor], d_logits: Floats, d_values: Floats) -> tuple[Tensor, ...]:
        derivatives = torch.from_numpy(d_logits), torch.from_numpy(d_values)
        return torch.autograd.grad(outputs, self._working.weights, derivatives)

    def _finish(self, parts: Sequence[tuple[Tensor, ...]], sample: Tensor) -> None:
        """Sum the gradients of the parts, always in the same order, and update the running statistics."""
        self.gradients[:] = 0
        self._working.add_gradients([functools.reduce(torch.add, tensors) for tensors in zip(*parts, strict=True)])
        self.tower.follow(sample)
        self._folded = None

    def _refold(self) -> None:
        if self._folded is None or not np.array_equal(self._folded, self.parameters):
            self._working.refresh()
            self._folded = self.parameters.copy()

    def _each(self, function: Callable[..., _T], *parts: Sequence[Any]) -> list[_T]:
        """The results for all parts, in their order."""
        if self._pool is None or len(parts[0]) == 1:
            return list(map(function, *parts))
        return list(self._pool.map(function, *parts))

    def _parts(self, states: Floats, fewest: int = 1) -> list[Floats]:
        """Rows in nearly equal parts, without trailing list columns in which no row has a move.

        The number of parts depends only on the rows, so sums over the parts are reproducible.
        """
        width = self._board
        if self._lists:
            used = (states[:, width:] >= 0).any(axis=0)
            width += 1 + int(np.flatnonzero(used).max(initial=0))
        count = max(1, min(fewest, len(states) // _HALF), -(-len(states) // _PART))
        return np.array_split(states[:, :width], count)

    def _inputs(self, states: Floats) -> tuple[Tensor, Listed | None]:
        moves = listed(states[:, self._board :]) if self._lists else None
        return self._boards(states), moves

    def _boards(self, states: Floats) -> Tensor:
        boards = torch.from_numpy(np.asarray(states[:, : self._board], self.parameters.dtype))
        return boards.reshape(-1, self.planes, SIDE, SIDE)

    def _statistics(self) -> list[tuple[str, Tensor]]:
        return [(name, buffer) for name, buffer in self.tower.named_buffers() if buffer.is_floating_point()]

    def _initialise(self, rng: np.random.Generator) -> None:
        """He initialisation. Blocks begin as the identity, the policy is nearly uniform, the value near a draw."""
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


def _sampled(rows: Any) -> Any:
    """A few rows, spread over the whole batch."""
    return rows[:: max(1, len(rows) // SAMPLE)]


def _joined(parts: Sequence[tuple[Tensor, Tensor]]) -> tuple[Floats, Floats]:
    logits, values = zip(*parts, strict=True)
    return torch.cat(logits).numpy(), torch.cat(values).numpy()
