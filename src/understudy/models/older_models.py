"""Upgrades models of earlier versions of Understudy to the present networks: they play as before, and learn."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.networks.network import Layout

_VECTORS = ("parameters", "adam_m", "adam_v")


def with_skip_layers(layout: Layout, arrays: Mapping[str, NDArray[Any]]) -> tuple[Layout, dict[str, NDArray[Any]]]:
    """Add the matrix of zeros from the inputs directly to the outputs that older models with hidden layers lack."""
    parts: list[tuple[str, tuple[int, ...]]] = []
    vectors: dict[str, list[NDArray[Any]]] = {name: [] for name in _VECTORS}
    shapes, offset = dict(layout), 0
    for name, shape in layout:
        prefix = name.removesuffix("head")
        part = slice(offset, offset + math.prod(shape))
        if name.endswith("head") and parts and parts[-1][0].startswith(f"{prefix}hidden"):
            skip = (shapes[f"{prefix}hidden0"][0] - 1, shape[1])
            parts.append((f"{prefix}skip", skip))
            for vector, pieces in vectors.items():
                # Adam has one scale for each part; that of the head is a reasonable choice.
                scale = arrays[vector][offset] if vector == "adam_v" else 0
                pieces.append(np.full(math.prod(skip), scale, arrays[vector].dtype))
        parts.append((name, shape))
        for vector, pieces in vectors.items():
            pieces.append(arrays[vector][part])
        offset = part.stop
    if len(parts) == len(layout):
        return layout, dict(arrays)
    return tuple(parts), {**arrays, **{name: np.concatenate(pieces) for name, pieces in vectors.items()}}
