"""Saved matches: arrays and plain values as bytes that are safe to read from any source."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.errors import MatchesDamaged
from understudy.files.npz import parse_npz, write_npz

_MAX_BYTES = 1 << 30


def pack(facts: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """An .npz of the arrays, with one more array for the facts, which must be plain JSON values."""
    stream = io.BytesIO()
    write_npz(stream, {"facts": np.array(json.dumps(facts).encode()), **arrays}, compress=True)
    return stream.getvalue()


def unpack(content: bytes) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The facts and the arrays; MatchesDamaged if the bytes are something else."""
    arrays = parse_npz(content, "The snapshot", max_bytes=_MAX_BYTES, error=MatchesDamaged)
    with unpacking():
        return dict(json.loads(arrays.pop("facts").item())), arrays


def generator_of(state: Any) -> np.random.Generator:
    """A generator that continues from `generator.bit_generator.state`, which is plain values."""
    generator = np.random.default_rng(0)
    generator.bit_generator.state = state
    return generator


@contextmanager
def unpacking() -> Iterator[None]:
    """For code that unpacks a snapshot: turns the errors of unexpected content into MatchesDamaged."""
    try:
        yield
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError, RecursionError) as error:
        raise MatchesDamaged(f"The snapshot is not one of this game ({type(error).__name__}: {error}).") from error
