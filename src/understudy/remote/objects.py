"""What an object store must be able to do.

All operations are atomic. Two of them are conditional: `create` writes only if the key is new, `replace` only if the
object is still the one that was read. Everything that several machines agree on depends on these two.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from typing import NamedTuple, Protocol

from understudy.errors import UnderstudyError

_KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9._=-]*(/[A-Za-z0-9][A-Za-z0-9._=-]*)*")


class Found(NamedTuple):
    """An object and the tag that `replace` needs."""

    data: bytes
    tag: str


class Entry(NamedTuple):
    """A line of a listing. Its tag differs when the object has changed; `replace` does not take it."""

    key: str
    size: int
    tag: str


class Store(Protocol):
    """An object store. An operation that may succeed when it is tried again raises OSError."""

    def get(self, key: str, most: int) -> Found | None:
        """The object, or None if there is none. TooLarge if it has more than `most` bytes; then it is not loaded."""

    def put(self, key: str, data: bytes) -> None:
        """Write the object, whatever was there."""

    def create(self, key: str, data: bytes) -> bool:
        """Write the object if there is none of this key; False if there is."""

    def replace(self, key: str, data: bytes, tag: str) -> bool:
        """Write the object if it is still the one that `get` returned with this tag; False if it is not."""

    def list(self, prefix: str, after: str) -> Iterator[Entry]:
        """The objects whose key begins with `prefix`, a folder with its slash, and sorts after `after`, in order."""

    def delete(self, key: str) -> None:
        """Remove the object, if there is one."""


class TooLarge(UnderstudyError):
    """An object that is larger than expected; it was not downloaded."""

    def __init__(self, key: str, size: int, most: int) -> None:
        super().__init__(f"{key} has {size:,} bytes; the limit is {most:,} bytes.")


def checked_key(key: str) -> str:
    """A key that every store can hold and that cannot name a file outside the store's folder."""
    if not _KEY.fullmatch(key):
        raise ValueError(f"{key!r} cannot be the key of an object.")
    return key


def content_tag(data: bytes) -> str:
    """A tag that depends on the content only."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()
