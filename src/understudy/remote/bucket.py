"""Bucket: an object store with retries, a count of requests, and bandwidth limits.

If the answer to a request is lost, the request may still have been executed. So if a repeated conditional write is
refused, the object is checked: if it has the content to be written, the write has succeeded. Callers make the content
of every such object unique.
"""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from understudy.errors import RemoteUnavailable
from understudy.remote.objects import Entry, Found, Store
from understudy.remote.store import open_store

T = TypeVar("T")
_FIRST_PAUSE = 0.1
_LONGEST_PAUSE = 8.0


@dataclass(slots=True)
class Traffic:
    """Requests to the store, retries included."""

    requests: Counter[str] = field(default_factory=Counter)
    retries: int = 0
    bytes_up: int = 0
    bytes_down: int = 0

    @property
    def total(self) -> int:
        """All requests."""
        return self.requests.total()


class Bucket:
    """The objects that machines share. Not thread-safe.

    `patience` is how long a request is retried before RemoteUnavailable is raised; `stop` ends waiting at once. `up`
    and `down` are bytes per second, 0 for no limit.
    """

    def __init__(
        self,
        store: Store | str,
        *,
        patience: float = 30.0,
        up: float = 0.0,
        down: float = 0.0,
        stop: threading.Event | None = None,
    ) -> None:
        self.store = open_store(store) if isinstance(store, str) else store
        self.traffic = Traffic()
        self._patience = patience
        self._up, self._down = _Limit(up), _Limit(down)
        self._stop = stop or threading.Event()

    def get(self, key: str, most: int) -> Found | None:
        """The object, or None if there is none; TooLarge if it has more than `most` bytes."""
        self._wait(self._down.delay())
        found = self._try("get", lambda: self.store.get(key, most))
        if found is not None:
            self.traffic.bytes_down += len(found.data)
            self._down.spend(len(found.data))
        return found

    def put(self, key: str, data: bytes) -> None:
        """Write the object, replacing any existing one."""
        self._upload(data)
        self._try("put", lambda: self.store.put(key, data))

    def create(self, key: str, data: bytes) -> bool:
        """Write the object if the key is new; False if another object exists."""
        return self._conditionally(key, data, lambda: self.store.create(key, data))

    def replace(self, key: str, data: bytes, tag: str) -> bool:
        """Write the object if it is still the one that `get` returned with this tag; False if it has changed."""
        return self._conditionally(key, data, lambda: self.store.replace(key, data, tag))

    def list(self, prefix: str, after: str = "", most: int = 1_000_000) -> list[Entry]:
        """At most `most` objects whose key begins with `prefix` and sorts after `after`, in order."""

        def load() -> list[Entry]:
            entries: Iterator[Entry] = self.store.list(prefix, after)
            return [entry for entry, _ in zip(entries, range(most), strict=False)]

        found = self._try("list", load)
        self.traffic.requests["list"] += len(found) // 1000  # a page of a listing has at most 1,000 entries
        return found

    def delete(self, key: str) -> None:
        """Remove the object, if it exists."""
        self._try("delete", lambda: self.store.delete(key))

    def _conditionally(self, key: str, data: bytes, write: Callable[[], bool]) -> bool:
        self._upload(data)
        retries = self.traffic.retries
        if self._try("put", write):
            return True
        if self.traffic.retries == retries:
            return False
        found = self._try("get", lambda: self.store.get(key, max(len(data), 1 << 20)))
        return found is not None and found.data == data

    def _upload(self, data: bytes) -> None:
        self._wait(self._up.delay())
        self._up.spend(len(data))
        self.traffic.bytes_up += len(data)

    def _try(self, kind: str, action: Callable[[], T]) -> T:
        until = time.monotonic() + self._patience
        pause = _FIRST_PAUSE
        while True:
            self.traffic.requests[kind] += 1
            try:
                return action()
            except OSError as error:
                if time.monotonic() + pause > until or self._stop.is_set():
                    raise RemoteUnavailable(f"{self.store} does not answer: {error}") from error
            self.traffic.retries += 1
            self._wait(pause * random.uniform(0.5, 1.0))  # random, so that machines do not retry at the same time
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _wait(self, seconds: float) -> None:
        if seconds > 0 and self._stop.wait(seconds):
            raise RemoteUnavailable(f"Stopped while waiting for {self.store}.")


class _Limit:
    """A limit in bytes per second. An object is transferred whole; the next one waits until its time has passed."""

    def __init__(self, rate: float) -> None:
        self._rate = rate
        self._free_at = 0.0

    def delay(self) -> float:
        return self._free_at - time.monotonic() if self._rate else 0.0

    def spend(self, size: int) -> None:
        if self._rate:
            self._free_at = max(self._free_at, time.monotonic()) + size / self._rate
