"""What every network is: one flat vector of parameters, a forward and a backward pass, and a step in play."""

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
"""Of some rows of a batch, their logits and values: its derivatives by both, and whatever else it found."""


class Network(ABC):
    """Policy and value of a state.

    All parameters live in one contiguous vector, and so do their gradients: the optimizer, clipping, saving and
    loading are single vector operations. Loading writes into `parameters` in place; it is never replaced.
    """

    sequential: ClassVar[bool]
    """Whether the rows of one episode belong together (True) or every row stands alone (False)."""
    one_scale_a_part: ClassVar[bool] = True
    """Whether the parameters of a part of the layout share one scale of their steps (see optimizers.Adam)."""
    bounded_value: ClassVar[bool] = False
    """Whether the value is a probability of some kind, which has its own scale."""

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
        """The named, shaped parts of `parameters`, of `gradients`, or of a vector like them; they alias it."""
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

        A network that reads from the states which actions are legal may leave the last out where no row has them.
        `starts` holds the rows at which episodes begin; None means that all rows are one episode.
        """

    @abstractmethod
    def backward(self, d_logits: Floats, d_values: Floats) -> None:
        """Overwrite `gradients` with those of the loss whose derivatives by the last forward's outputs are given."""

    def differentiate(self, states: Floats, starts: Integers | None, objective: Objective[_T]) -> list[_T]:
        """Overwrite `gradients` with those of an objective of all rows; what it found, in the order of the rows.

        A network whose rows stand alone may show them to the objective in parts, from several threads at once.
        """
        d_logits, d_values, found = objective(slice(0, len(states)), *self.forward(states, starts))
        self.backward(d_logits, d_values)
        return [found]

    def evaluate(self, states: Floats, starts: Integers | None = None) -> tuple[Floats, Floats]:
        """What forward gives, up to rounding, where no backward follows: some networks are faster at it."""
        return self.forward(states, starts)

    def use_threads(self, count: int) -> None:
        """Compute with this many threads in this process, 0 for as many as cores; NumPy's are chosen at its import."""
        return

    def compile(self) -> None:
        """Compile now what this network needs compiled, so that the first update does not wait for it."""
        return

    @property
    def reach(self) -> int:
        """How many states before a decision can make a difference to it."""
        return 0

    def short_memory(self, game_length: float) -> str | None:
        """A warning if games of this many decisions are longer than the sequence that the network sees, else None."""
        if not self.sequential or game_length <= self.reach + 1:
            return None
        return (
            f"The {self.settings.policy} looks back {self.reach} decisions (network.layers × (network.context − 1)); "
            f"games last {game_length:.0f}. What happened earlier it does not know: raise network.context, for a new "
            "model, unless that is enough."
        )

    def in_play(self, matches: int) -> InPlay:
        """This network, with the parameters of any time, as it decides in many matches at once."""
        return InPlay(self.evaluate)

    def policy_part(self, vector: Floats) -> Floats:
        """What of `parameters`, of `gradients` or of a vector like them belongs to the policy alone, or all of it."""
        return vector

    def absorb(self, gain: Floats, offset: Floats) -> None:
        """Change the first layer so that states x, which were gain·x + offset before, mean what they meant.

        A network that cannot do this leaves it, and learns the difference.
        """
        return

    def rescale_value(self, gain: float, offset: float) -> None:
        """Change the last layer so that the value v becomes gain·v + offset for every state.

        A network that cannot do this leaves it, and learns the difference. Not called where the value is bounded.
        """
        return

    @abstractmethod
    def begin_episode(self) -> None:
        """Forget the states of the last game in play."""

    @abstractmethod
    def step(self, state: Floats) -> tuple[Floats, float]:
        """Logits (A,) and value of the next normalised state in play; the logits are valid until the next step.

        A step between forward and backward disturbs neither.
        """


VALUE_GAIN = 0.01  # at first every state is worth the mean


def orthogonal(rng: np.random.Generator, fan_in: int, fan_out: int, gain: float) -> NDArray[np.float64]:
    """A (fan_in, fan_out) matrix with orthonormal rows or columns, times `gain` (Saxe et al. 2014)."""
    tall = rng.standard_normal((max(fan_in, fan_out), min(fan_in, fan_out)))
    q, r = np.linalg.qr(tall)
    q *= np.sign(np.diag(r))  # makes the distribution uniform over orthogonal matrices
    return gain * (q if fan_in >= fan_out else q.T)


def absorb_into(weights: Floats, gain: Floats, offset: Floats) -> None:
    """Make x·W + b, with b the last row, what (gain·x + offset)·W + b was."""
    weights[-1] += offset @ weights[:-1]
    weights[:-1] *= gain[:, None]


def rescale_column(weights: Floats, gain: float, offset: float) -> None:
    """Make gain·y + offset of the last output y of an affine map."""
    weights[:, -1] *= gain
    weights[-1, -1] += offset


def initialise_head(rng: np.random.Generator, head: Floats, n_actions: int) -> None:
    """Fill a last matrix (width + 1, outputs): nearly uniform policy, then, if there is one, a value near 0."""
    width, outputs = head.shape[0] - 1, head.shape[1]
    if n_actions:
        head[:-1, :n_actions] = orthogonal(rng, width, n_actions, 0.01)
    if outputs > n_actions:
        head[:-1, -1:] = orthogonal(rng, width, 1, VALUE_GAIN)
    head[-1] = 0
