"""Every kind of store that this machine can have."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from remote.s3_server import BUCKET, CREDENTIALS, s3_server
from understudy.remote.memory import MemoryStore
from understudy.remote.objects import Store
from understudy.remote.store import open_store

_numbers = itertools.count()


@pytest.fixture(scope="session")
def s3_address() -> Iterator[str]:
    pytest.importorskip("obstore")
    pytest.importorskip("moto")
    with s3_server() as address:
        yield address


@pytest.fixture
def s3_url(s3_address: str, monkeypatch: pytest.MonkeyPatch) -> str:
    for name, value in {**CREDENTIALS, "AWS_ENDPOINT_URL": s3_address}.items():
        monkeypatch.setenv(name, value)
    return f"s3://{BUCKET}/{next(_numbers)}"


@pytest.fixture(params=["memory", "folder", "s3"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    if request.param == "memory":
        return MemoryStore()
    return open_store(request.getfixturevalue("s3_url") if request.param == "s3" else str(tmp_path / "bucket"))
