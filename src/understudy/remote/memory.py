"""Objects in this process' memory, for tests and simulations."""

from __future__ import annotations

import threading
from collections.abc import Iterator

from understudy.remote.objects import Entry, Found, TooLarge, checked_key, content_tag


class MemoryStore:
    """A store that ends with its process."""

    def __init__(self) -> None:
        self._objects: dict[str, bytes] = {}
        self._lock = threading.Lock()

    def get(self, key: str, most: int) -> Found | None:
        """See Store."""
        data = self._objects.get(checked_key(key))
        if data is not None and len(data) > most:
            raise TooLarge(key, len(data), most)
        return None if data is None else Found(data, content_tag(data))

    def put(self, key: str, data: bytes) -> None:
        """See Store."""
        with self._lock:
            self._objects[checked_key(key)] = data

    def create(self, key: str, data: bytes) -> bool:
        """See Store."""
        with self._lock:
            if checked_key(key) in self._objects:
                return False
            self._objects[key] = data
            return True

    def replace(self, key: str, data: bytes, tag: str) -> bool:
        """See Store."""
        with self._lock:
            there = self._objects.get(checked_key(key))
            if there is None or content_tag(there) != tag:
                return False
            self._objects[key] = data
            return True

    def list(self, prefix: str, after: str) -> Iterator[Entry]:
        """See Store."""
        with self._lock:
            found = [(key, data) for key, data in self._objects.items() if key.startswith(prefix) and key > after]
        for key, data in sorted(found):
            yield Entry(key, len(data), content_tag(data))

    def delete(self, key: str) -> None:
        """See Store."""
        with self._lock:
            self._objects.pop(checked_key(key), None)


_named: dict[str, MemoryStore] = {}


def memory_store(name: str) -> MemoryStore:
    """The store with this name in this process."""
    return _named.setdefault(name, MemoryStore())
