"""Memory of a thread's own that is used again and again: new memory is slow to be had."""

from __future__ import annotations

import math
import threading

from torch import Tensor

_own = threading.local()


def scratch(name: str, like: Tensor, shape: tuple[int, ...]) -> Tensor:
    """A tensor of the kind of `like` whose content is arbitrary, until the same thread asks for this name again."""
    size = math.prod(shape)
    memory: Tensor | None = getattr(_own, name, None)
    if memory is None or memory.numel() < size or memory.dtype != like.dtype:
        memory = like.new_empty(size)
        setattr(_own, name, memory)
    return memory[:size].view(shape)
