"""Counts in files of the run, such as results against each opponent, which the machines of a bucket add up.

A file is JSON whose numbers are counts. The bucket has the sum. A machine adds what its file has gained since the last
exchange, and its file becomes the sum. Counts that fade with every game (recent games count most) fade on each machine
only by its own games.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from understudy.errors import RemoteError
from understudy.files.atomic import write_atomically
from understudy.files.locks import FileLock
from understudy.remote.bucket import Bucket
from understudy.remote.layout import COUNTS, DOCUMENT_BYTES, from_json, hash_of, to_json
from understudy.remote.state import SyncState

logger = logging.getLogger(__name__)

_LOCK_SECONDS = 10.0


def summed(shared: Any, mine: Any, base: Any) -> Any:
    """`shared` plus the gain of `mine` since `base`; no count falls below 0. Other values are taken from `mine`."""
    if isinstance(mine, dict) or isinstance(shared, dict):
        parts = [part if isinstance(part, dict) else {} for part in (shared, mine, base)]
        names = list(dict.fromkeys([*parts[0], *parts[1]]))
        return {name: summed(*(part.get(name) for part in parts)) for name in names}
    if isinstance(mine, list) and isinstance(shared, list) and len(mine) == len(shared):
        before = base if isinstance(base, list) and len(base) == len(mine) else [0] * len(mine)
        return [summed(*values) for values in zip(shared, mine, before, strict=True)]
    if mine is None:
        return shared
    if not _is_number(mine) or not (shared is None or _is_number(shared)):
        return mine
    return max((shared or 0) + mine - (base if _is_number(base) else 0), 0)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


class SharedCounts:
    """The files of one run whose counts are added to those of the other machines."""

    def __init__(
        self,
        bucket: Bucket,
        folder: Path,
        state: SyncState,
        machine: str,
        names: Sequence[str],
        *,
        every: float,
        clock: Callable[[], float],
    ) -> None:
        self._bucket, self._folder, self._state, self._machine = bucket, folder, state, machine
        self._names, self._every, self._clock = names, every, clock
        self._next_look = -float("inf")

    def exchange(self) -> None:
        """Exchange counts: at once if a file has changed here, else from time to time."""
        due = self._clock() >= self._next_look
        for name in self._names:
            if due or self._content(name) != self._memory(name)["base"]:
                self._exchange(name)
        if due:
            self._next_look = self._clock() + self._every

    def _exchange(self, name: str) -> None:
        key = f"{COUNTS}{name}"
        found = self._bucket.get(key, DOCUMENT_BYTES)
        document = {"values": None, "pushed": {}} if found is None else from_json(found.data, key)
        values, pushed = document.get("values"), dict(document.get("pushed") or {})
        memory = self._memory(name)
        pending = memory["pending"]
        if pending is not None:
            if pushed.get(self._machine) == pending["number"]:  # the earlier write had succeeded
                memory |= {"base": pending["mine"], "number": pending["number"]}
            memory["pending"] = None
        mine = self._content(name)
        if mine is not None and mine != memory["base"]:
            values = summed(values, mine, memory["base"])
            number = memory["number"] + 1
            self._remember(name, memory | {"pending": {"number": number, "mine": mine}})
            content = to_json(
                {"values": values, "pushed": {**pushed, self._machine: number}, "nonce": os.urandom(6).hex()}
            )
            if not (
                self._bucket.create(key, content) if found is None else self._bucket.replace(key, content, found.tag)
            ):
                return  # another machine was faster; the next pass tries again
            memory |= {"base": mine, "number": number}
        if values is not None:
            self._apply(name, values, memory)

    def _apply(self, name: str, values: Any, memory: dict[str, Any]) -> None:
        """Set the file to the sum plus what was counted here meanwhile."""
        path = self._folder / name
        lock = FileLock(path.with_name(f"{name}.lock"))
        if not lock.acquire(timeout=_LOCK_SECONDS):
            self._remember(name, memory)
            return
        try:
            mine = self._content(name)
            new = values if mine is None else summed(values, mine, memory["base"])
            if new != mine:
                text = json.dumps(new, indent=1).encode()
                write_atomically(path, lambda stream: stream.write(text))
            self._remember(name, memory | {"base": values})
        finally:
            lock.release()

    def _content(self, name: str) -> Any:
        """The file's content; None if it cannot be read."""
        try:
            return json.loads((self._folder / name).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            logger.debug("%s cannot be read: %s", name, error)
            return None

    def _memory(self, name: str) -> dict[str, Any]:
        text = self._state.fact(f"counts {name}")
        return json.loads(text) if text else {"base": None, "number": 0, "pending": None}

    def _remember(self, name: str, memory: dict[str, Any]) -> None:
        text = json.dumps({"base": memory["base"], "number": memory["number"], "pending": memory["pending"]})
        if hash_of(text.encode()) != hash_of(self._state.fact(f"counts {name}").encode()):
            self._state.remember(**{f"counts {name}": text})


def checked_names(names: Sequence[str]) -> tuple[str, ...]:
    """Names of files, each one directly in the run directory."""
    for name in names:
        if name != Path(name).name or name.startswith("."):
            raise RemoteError(f"{name!r} is not a file of the run directory that can be shared.")
    return tuple(names)
