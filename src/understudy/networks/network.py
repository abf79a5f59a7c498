"""The interface of all networks: one flat vector of parameters, a forward and a backward pass, and a step in play."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from understudy.networks.in_play import InPlay
from understudy.networks.workspace import aligned
from understudy.settings import NetworkSettings

Floats = NDArray[np.floating[Any]]
Integers = NDArray[np.int64]
Layout = tuple[tuple[str, tuple[int, ...]], ...]
_T = TypeVar("_T")
Objective = Callable[[slice, Floats, Floats], tuple[Floats, Floats, _T]]
"""From rows of a batch, their logits and values: the derivatives with respect to both, and other measurements."""


class Network(ABC):
    """Policy and value of a state.

    All parameters are in one contiguous vector, and so are their gradients: the optimizer, clipping, saving and loading
    are single vector operations. Loading writes to `parameters` in place; the array is never replaced.
    """

    sequential: ClassVar[bool]
    """Whether the rows of an episode belong together (True) or are independent (False)."""
    one_scale_a_part: ClassVar[bool] = True
    """Whether the parameters of a part of the layout share one step scale (see optimizers.Adam)."""
    bounded_value: ClassVar[bool] = False
    """Whether the value is a probability or a difference of two, which has a fixed scale."""

    def __init__(
        self,
        state_dim: int,
        n_actions: int,
        settings: NetworkSettings,
        layout: Layout,
        dtype: type[np.floating[Any]] = np.float32,
    ) -> None:
        self.state_dim = state_dim
        self.n_actions = n_actions
        self.settings = settings
        self.layout = layout
        self.parts = [math.prod(shape) for _, shape in layout]
        size = sum(self.parts)
        self.parameters: Floats = aligned((size,), dtype)
        self.gradients: Floats = aligned((size,), dtype)

    def views(self, vector: Floats) -> dict[str, Floats]:
        """The named, shaped parts of `parameters`, of `gradients`, or of a vector of that layout; they are views."""
        parts: dict[str, Floats] = {}
        offset = 0
        for name, shape in self.layout:
            size = math.prod(shape)
            parts[name] = vector[offset : offset + size].reshape(shape)
            offset += size
        return parts

    @abstractmethod
    def forward(self, states: Floats, starts: Integers | None = None) -> tuple[Floats, Floats]:
        """Logits (N, A) and values (N,) of normalised states (N, S); the arrays are valid until the next forward.

        A network that reads from the states which actions are legal may omit the last actions if no row allows them.
        `starts` holds the rows at which episodes begin; None means that all rows are one episode.
        """

    @abstractmethod
    def backward(self, d_logits: Floats, d_values: Floats) -> None:
        """Overwrite `gradients` with those of the loss, given its derivatives with respect to the last outputs."""

    def differentiate(self, states: Floats, starts: Integers | None, objective: Objective[_T]) -> list[_T]:
        """Overwrite `gradients` with those of an objective over all rows; returns its measurements in row order.

        A network with independent rows may pass them to the objective in parts, from several threads at once.
        """
        d_logits, d_values, found = objective(slice(0, len(states)), *self.forward(states, starts))
        self.backward(d_logits, d_values)
        return [found]

    def evaluate(self, states: Floats, starts: Integers | None = None) -> tuple[Floats, Floats]:
        """As forward, up to rounding, without a backward pass, for which some networks are faster."""
        return self.forward(states, starts)

    def use_threads(self, count: int) -> None:
        """Use this many threads in this process, 0 for one per core; the threads of NumPy are chosen at its import."""
        return

    def compile(self) -> None:
        """Compile what this network needs now, so that the first update does not wait for it."""
        return

    @property
    def reach(self) -> int:
        """The number of earlier states that can influence a decision."""
        return 0

    def short_memory(self, game_length: float) -> str | None:
        """A warning if games of this length are longer than the network looks back, else None."""
        if not self.sequential or game_length <= self.reach + 1:
            return None
        return (
            f"The {self.settings.policy} looks back {self.reach} decisions (network.layers × (network.context − 1)); "
            f"games last {game_length:.0f}. What happened earlier it does not know: raise network.context, for a new "
            "model, unless that is enough."
        )

    def in_play(self, matches: int) -> InPlay:
        """This network in many matches at once, always with its current parameters."""
        return InPlay(self.evaluate)

    def policy_part(self, vector: Floats) -> Floats:
        """The part of `parameters`, of `gradients` or such a vector that belongs only to the policy; else all of it."""
        return vector

    def absorb(self, gain: Floats, offset: Floats) -> None:
        """Change the first layer so that states x that used to be gain·x + offset give the same outputs as before.

        A network that cannot do this does nothing, and learns the difference.
        """
        return

    def rescale_value(self, gain: float, offset: float) -> None:
        """Change the last layer so that the value v becomes gain·v + offset for every state.

        A network that cannot do this does nothing, and learns the difference. Not called if the value is bounded.
        """
        return

    @abstractmethod
    def begin_episode(self) -> None:
        """Clear the memory of the last game."""

    @abstractmethod
    def step(self, state: Floats) -> tuple[Floats, float]:
        """Logits (A,) and value of the next normalised state in play; the logits are valid until the next step.

        A step between forward and backward disturbs neither.
        """


VALUE_GAIN = 0.01  # at first, every state has about the mean value


def orthogonal(rng: np.random.Generator, fan_in: int, fan_out: int, gain: float) -> NDArray[np.float64]:
    """A (fan_in, fan_out) matrix with orthonormal rows or columns, times `gain` (Saxe et al. 2014)."""
    tall = rng.standard_normal((max(fan_in, fan_out), min(fan_in, fan_out)))
    q, r = np.linalg.qr(tall)
    q *= np.sign(np.diag(r))  # makes the distribution uniform over orthogonal matrices
    return gain * (q if fan_in >= fan_out else q.T)


def absorb_into(weights: Floats, gain: Floats, offset: Floats) -> None:
    """Change W and b (the last row) so that x·W + b equals the former (gain·x + offset)·W + b."""
    weights[-1] += offset @ weights[:-1]
    weights[:-1] *= gain[:, None]


def rescale_column(weights: Floats, gain: float, offset: float) -> None:
    """Replace the last output y of an affine map by gain·y + offset."""
    weights[:, -1] *= gain
    weights[-1, -1] += offset


def initialise_head(rng: np.random.Generator, head: Floats, n_actions: int) -> None:
    """Initialise a last matrix (width + 1, outputs): a nearly uniform policy and, if there is one, a value near 0."""
    width, outputs = head.shape[0] - 1, head.shape[1]
    if n_actions:
        head[:-1, :n_actions] = orthogonal(rng, width, n_actions, 0.01)
    if outputs > n_actions:
        head[:-1, -1:] = orthogonal(rng, width, 1, VALUE_GAIN)
    head[-1] = 0
