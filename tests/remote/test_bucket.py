"""Retries, counts and limits."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from understudy.errors import RemoteUnavailable
from understudy.remote import bucket as bucket_module
from understudy.remote.bucket import Bucket
from understudy.remote.memory import MemoryStore


class Unreliable(MemoryStore):
    """Fails a given number of times, before or after executing the request."""

    def __init__(self) -> None:
        super().__init__()
        self.lost_requests = 0
        self.lost_answers = 0

    def _unreliably(self, action: Callable[[], Any]) -> Any:
        if self.lost_requests:
            self.lost_requests -= 1
            raise ConnectionError("refused")
        result = action()
        if self.lost_answers:
            self.lost_answers -= 1
            raise TimeoutError("no answer")
        return result

    def create(self, key: str, data: bytes) -> bool:
        return bool(self._unreliably(lambda: MemoryStore.create(self, key, data)))

    def replace(self, key: str, data: bytes, tag: str) -> bool:
        return bool(self._unreliably(lambda: MemoryStore.replace(self, key, data, tag)))


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bucket_module, "_FIRST_PAUSE", 0.001)


@pytest.mark.usefixtures("quick")
def test_a_failed_request_is_tried_again_and_counted() -> None:
    store = Unreliable()
    bucket = Bucket(store)
    store.lost_requests = 3
    assert bucket.create("a", b"12345")
    assert bucket.traffic.requests == {"put": 4}
    assert bucket.traffic.retries == 3
    assert bucket.traffic.bytes_up == 5


@pytest.mark.usefixtures("quick")
def test_a_write_whose_answer_was_lost_has_succeeded() -> None:
    store = Unreliable()
    bucket = Bucket(store)
    store.lost_answers = 1
    assert bucket.create("a", b"mine")
    found = bucket.get("a", 100)
    assert found is not None
    store.lost_answers = 1
    assert bucket.replace("a", b"mine too", found.tag)
    assert not bucket.replace("a", b"late", found.tag)


@pytest.mark.usefixtures("quick")
def test_a_write_of_somebody_else_in_between_is_no_success() -> None:
    store = Unreliable()
    bucket = Bucket(store)
    store.put("a", b"theirs")
    store.lost_requests = 1
    assert not bucket.create("a", b"mine")


@pytest.mark.usefixtures("quick")
def test_patience_ends() -> None:
    store = Unreliable()
    store.lost_requests = 10**9
    with pytest.raises(RemoteUnavailable, match="refused"):
        Bucket(store, patience=0.05).create("a", b"")


def test_bandwidth_is_limited() -> None:
    bucket = Bucket(MemoryStore(), up=100_000, down=200_000)
    began = time.monotonic()
    for number in range(4):
        bucket.put(f"{number}", bytes(10_000))
    assert time.monotonic() - began >= 0.3  # the fourth waits for three
    began = time.monotonic()
    for number in range(4):
        bucket.get(f"{number}", 10_000)
    assert time.monotonic() - began >= 0.15
