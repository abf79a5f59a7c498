"""The random numbers of an agent, which survive a restart."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from understudy.files.atomic import write_atomically
from understudy.files.locks import FileLock
from understudy.files.plain_json import parsed_json

logger = logging.getLogger(__name__)

_MOST_AGENTS = 1000  # with one seed in one run


class Chance:
    """A stream of random numbers. With a seed, it continues where it was last saved, also in another process.

    Without a seed every process has its own stream, and nothing is saved. Agents with the same seed that play in one
    run at the same time get different streams and files: agent_7.json, agent_7-1.json and so on.
    """

    def __init__(self, seed: int | None, folder: Path | None) -> None:
        self._seeded = seed is not None
        self._lock: FileLock | None = None
        place = 0 if seed is None or folder is None else self._take_place(seed, folder)
        name = f"agent_{seed}" if place == 0 else f"agent_{seed}-{place}"
        self._file = None if seed is None or folder is None else folder / f"{name}.json"
        self._generator = np.random.default_rng([seed, place] if seed is not None and place else seed)
        self.uniform = self._generator.random
        """The next number from [0, 1)."""
        if self._file is not None and self._file.exists():
            try:
                self.restore(parsed_json(self._file.read_bytes()))
            except (OSError, ValueError, TypeError, KeyError) as error:
                logger.warning("The random numbers start from a new seed: %s cannot be read: %s", self._file, error)

    def _take_place(self, seed: int, folder: Path) -> int:
        """The first number that no running agent with this seed has; 0 where the folder does not support locks."""
        for place in range(_MOST_AGENTS):
            lock = FileLock(folder / f".agent_{seed}-{place}.lock")
            try:
                if lock.acquire(blocking=False):
                    self._lock = lock
                    return place
            except OSError as error:
                logger.warning("%s cannot be locked (%s): another agent may draw the same numbers.", lock.path, error)
                return 0
        return _MOST_AGENTS

    def close(self) -> None:
        """Allow another agent with this seed to continue the stream."""
        if self._lock is not None:
            self._lock.release()

    def state(self) -> dict[str, Any]:
        """The state of the stream, as JSON can hold it."""
        return {"rng": self._generator.bit_generator.state}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from a saved state; a stream without a seed stays as it is."""
        if self._seeded and "rng" in state:
            self._generator.bit_generator.state = state["rng"]

    def save(self) -> None:
        """Save the state for the next process."""
        if self._file is None:
            return
        if self._lock is not None and not self._lock.held and not self._lock.acquire(blocking=False):
            return  # closed; another agent continues the stream
        text = json.dumps(self.state()).encode()
        try:
            write_atomically(self._file, lambda stream: stream.write(text), durable=False)
        except OSError as error:
            logger.warning("The state of the random numbers was not saved: %s", error)
