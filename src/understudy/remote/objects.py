"""The interface of an object store.

All operations are atomic. Two of them are conditional: `create` writes only if the key is new, `replace` only if the
object is still the one that was read. All agreement between machines relies on these two.
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
    """An entry of a listing. Its tag changes with the object; `replace` does not accept it."""

    key: str
    size: int
    tag: str


class Store(Protocol):
    """An object store. An operation that may succeed on a retry raises OSError."""

    def get(self, key: str, most: int) -> Found | None:
        """The object, or None if there is none. TooLarge, without loading it, if it has more than `most` bytes."""

    def put(self, key: str, data: bytes) -> None:
        """Write the object, replacing any existing one."""

    def create(self, key: str, data: bytes) -> bool:
        """Write the object if the key is new; False if it exists."""

    def replace(self, key: str, data: bytes, tag: str) -> bool:
        """Write the object if it is still the one that `get` returned with this tag; False if it has changed."""

    def list(self, prefix: str, after: str) -> Iterator[Entry]:
        """The objects whose key begins with `prefix` (a folder ends in a slash) and sorts after `after`, in order."""

    def delete(self, key: str) -> None:
        """Remove the object, if it exists."""


class TooLarge(UnderstudyError):
    """An object that is larger than expected; it was not downloaded."""

    def __init__(self, key: str, size: int, most: int) -> None:
        super().__init__(f"{key} has {size:,} bytes; the limit is {most:,} bytes.")


def checked_key(key: str) -> str:
    """A key that every store supports and that cannot name a file outside the store's folder."""
    if not _KEY.fullmatch(key):
        raise ValueError(f"{key!r} is not a valid key of an object.")
    return key


def content_tag(data: bytes) -> str:
    """A tag that depends only on the content."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()
