"""The 3×3 convolutions of the tower by backend: torch, or compiled code where numba is installed.

Both give the same results up to rounding, and both have derivatives.
"""

from __future__ import annotations

import importlib.util
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol

import torch
from torch import Tensor
from torch.nn import functional

from understudy.errors import SettingsError


class Convolutions(Protocol):
    """A backend. Boards are (N, C, 9, 9), kernels (O, C, 3, 3); results are channels last."""

    name: str

    def prepare(self, kernels: Tensor) -> Any:
        """Compute what `convolve` needs from the kernels, once for all boards."""
        ...

    def convolve(self, x: Tensor, *, kernels: Tensor, prepared: Any, biases: Tensor, relu: bool) -> Tensor:
        """The convolution, optionally followed by a ReLU."""
        ...

    def announced(self) -> AbstractContextManager[None]:
        """Print a message if this block compiles code that was not compiled before."""
        ...


class TorchConvolutions:
    """Plain torch, in its fastest memory layout on CPUs."""

    name = "torch"

    def prepare(self, kernels: Tensor) -> None:
        """See Convolutions: torch needs nothing."""

    def convolve(self, x: Tensor, *, kernels: Tensor, prepared: Any, biases: Tensor, relu: bool) -> Tensor:
        """See Convolutions."""
        y = functional.conv2d(x.contiguous(memory_format=torch.channels_last), kernels, biases, padding=1)
        return functional.relu_(y) if relu else y

    def announced(self) -> AbstractContextManager[None]:
        """See Convolutions: torch compiles nothing."""
        return nullcontext()


def convolutions(backend: str) -> Convolutions:
    """The convolutions of `network.backend`: `torch`, `compiled`, or `auto` (compiled if numba is installed)."""
    compiled = importlib.util.find_spec("numba") is not None
    if backend == "torch" or (backend == "auto" and not compiled):
        return TorchConvolutions()
    if not compiled:
        raise SettingsError("network.backend = 'compiled' needs numba: pip install 'understudy[shogi]'.")
    from understudy.games.shogi.network.compiled import CompiledConvolutions  # noqa: PLC0415 - needs numba

    return CompiledConvolutions()
