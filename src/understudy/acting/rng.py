"""The random numbers of an agent, which survive a restart."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from understudy.files.atomic import write_atomically

logger = logging.getLogger(__name__)


class Chance:
    """A stream of random numbers. With a seed, it goes on where it was last saved, also in another process.

    Without a seed every process has a stream of its own, and nothing is saved.
    """

    def __init__(self, seed: int | None, folder: Path | None) -> None:
        self._seeded = seed is not None
        self._file = None if seed is None or folder is None else folder / f"agent_{seed}.json"
        self._generator = np.random.default_rng(seed)
        self.uniform = self._generator.random
        """The next number from [0, 1)."""
        if self._file is not None and self._file.exists():
            try:
                self.restore(json.loads(self._file.read_bytes()))
            except (OSError, ValueError, TypeError, KeyError) as error:
                logger.warning("The random numbers begin anew; %s cannot be read: %s", self._file, error)

    def state(self) -> dict[str, Any]:
        """Where the stream is, as JSON can hold it."""
        return {"rng": self._generator.bit_generator.state}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a state; a stream without a seed stays as it is."""
        if self._seeded and "rng" in state:
            self._generator.bit_generator.state = state["rng"]

    def save(self) -> None:
        """Keep the state for the next process."""
        if self._file is None:
            return
        text = json.dumps(self.state()).encode()
        try:
            write_atomically(self._file, lambda stream: stream.write(text), durable=False)
        except OSError as error:
            logger.warning("The state of the random numbers was not saved: %s", error)
