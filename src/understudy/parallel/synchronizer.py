"""ModelSynchronizer: packs what workers need of a model into one block of bytes, and decides when to send a new one."""

from __future__ import annotations

import time
import zlib
from typing import Any

import numpy as np

from understudy.learning.normalizers import STATISTICS
from understudy.models.live import LiveModel
from understudy.networks.network import Network
from understudy.parallel.player import Player
from understudy.parallel.shared import Block
from understudy.settings import ParallelSettings


class ModelSynchronizer:
    """Packs and unpacks weights, and counts deliveries. The version of weights is the number of updates."""

    def __init__(self, settings: ParallelSettings) -> None:
        self._interval = settings.sync_interval
        self._compress = settings.compression_enabled
        self._steps_at_last: int | None = None
        self._block: Block | None = None
        self._count = 0
        self._seconds = 0.0
        self._bytes = 0

    def should_sync(self, steps: int) -> bool:
        """Whether `sync_interval` decisions were learned from since the last delivery; True before the first."""
        return self._steps_at_last is None or steps - self._steps_at_last >= self._interval

    def prepare(self, model: LiveModel) -> Block:
        """The block for `restore`: numbers, normaliser, parameters. It is valid until the next call."""
        self._began = time.perf_counter()
        normalizer = model.trainer.normalizer
        numbers = np.array([model.trainer.updates, model.exploration], np.float64)
        normal = [np.asarray(part, np.float64) for part in (normalizer.count, normalizer.sums, normalizer.squares)]
        parts = [numbers, *normal, model.trainer.values.sums, model.network.parameters]
        self._block = np.concatenate([part.view(np.uint8) for part in parts], out=self._block)
        return np.frombuffer(zlib.compress(self._block.data, 1), np.uint8) if self._compress else self._block

    def restore(self, block: Block, player: Player) -> None:
        """Load the weights of a block into a player."""
        unpack(np.frombuffer(zlib.decompress(block.data), np.uint8) if self._compress else block, player)

    def mark_sync_completed(self, steps: int, size: int) -> None:
        """Count a delivery."""
        self._steps_at_last = steps
        self._count += 1
        self._bytes = size
        self._seconds += time.perf_counter() - self._began

    def get_sync_stats(self) -> dict[str, Any]:
        """Deliveries, their size and mean duration, and the decisions learned from at the last one."""
        return {
            "syncs": self._count,
            "bytes": self._bytes,
            "mean_ms": 1000 * self._seconds / max(self._count, 1),
            "steps_at_last_sync": self._steps_at_last,
        }

    @staticmethod
    def capacity(network: Network) -> int:
        """The maximum size of a block in bytes, compressed or not."""
        raw = 8 * (3 + 2 * network.state_dim + STATISTICS) + network.parameters.nbytes
        return raw + (raw >> 10) + 64


def unpack(block: Block, player: Player) -> None:
    """Load a block's numbers, normalisers and parameters into a player."""
    S = player.network.state_dim
    end = 3 + 2 * S + STATISTICS
    numbers = block[: 8 * end].view(np.float64).copy()  # the normalisers keep views of it
    player.version, player.exploration = int(numbers[0]), float(numbers[1])
    player.normalizer.restore(numbers[2:3], numbers[3 : 3 + S], numbers[3 + S : 3 + 2 * S])
    player.values.restore(numbers[3 + 2 * S :])
    np.copyto(player.network.parameters, block[8 * end :].view(player.network.parameters.dtype))
