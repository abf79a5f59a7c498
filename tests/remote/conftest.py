"""Every kind of store that this machine can have, and machines that share one."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from remote.azurite import COMMAND as AZURITE
from remote.azurite import CONTAINER, azurite
from remote.machines import Clock, Machine, Make
from remote.s3_server import BUCKET, CREDENTIALS, s3_server
from remote.storage_testbench import BUCKET as GOOGLE_BUCKET
from remote.storage_testbench import TESTBENCH, google
from understudy.remote.memory import MemoryStore
from understudy.remote.objects import Store
from understudy.remote.store import open_store

_numbers = itertools.count()
_EMULATORS = [*(["azure"] if AZURITE else []), *(["google"] if TESTBENCH else [])]


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


@pytest.fixture(scope="session")
def azurite_environment() -> Iterator[dict[str, str]]:
    pytest.importorskip("obstore")
    with azurite() as environment:
        yield environment


@pytest.fixture
def azure_url(azurite_environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> str:
    for name, value in azurite_environment.items():
        monkeypatch.setenv(name, value)
    return f"az://{CONTAINER}/{next(_numbers)}"


@pytest.fixture
def google_url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    pytest.importorskip("obstore")
    with google(tmp_path) as environment:
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        yield f"gs://{GOOGLE_BUCKET}/{uuid.uuid4().hex}"


@pytest.fixture(params=["folder", "s3", *_EMULATORS])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A new bucket that several processes can reach."""
    if request.param == "folder":
        return str(tmp_path / "bucket")
    return str(request.getfixturevalue(f"{request.param}_url"))


@pytest.fixture(params=["memory", "folder", "s3", *_EMULATORS])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    if request.param == "memory":
        return MemoryStore()
    if request.param == "folder":
        return open_store(str(tmp_path / "bucket"))
    return open_store(request.getfixturevalue(f"{request.param}_url"))


@pytest.fixture
def shared() -> MemoryStore:
    return MemoryStore()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def machine(tmp_path: Path, shared: MemoryStore, clock: Clock) -> Iterator[Make]:
    made: list[Machine] = []

    def make(**remote: Any) -> Machine:
        made.append(Machine(tmp_path / str(len(made)), shared, clock, **remote))
        return made[-1]

    yield make
    for one in made:
        one.sync.close()


@pytest.fixture
def player(machine: Make) -> Machine:
    return machine(role="player")


@pytest.fixture
def learner(machine: Make) -> Machine:
    made = machine(role="learner")
    made.create_model()
    made.step()
    return made
