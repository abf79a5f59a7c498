"""The fields of a block by name, as arrays on its memory; a dictionary lookup is faster than NumPy's."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from understudy.games.zerg.proving_ground.state import Block


class Columns(dict[str, NDArray[Any]]):
    """Reads and writes like a record of the block; a scalar is an array of shape ()."""

    def __init__(self, block: Block) -> None:
        record = block.reshape(())
        super().__init__({name: record[name] for name in block.dtype.names or ()})

    def __setitem__(self, name: str, value: Any) -> None:
        self[name][...] = value
