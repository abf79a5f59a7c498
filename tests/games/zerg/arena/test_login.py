"""`understudy ladder login`: a token that the ladder takes goes into the keyring, and from there to the commands."""

from __future__ import annotations

import getpass
import io
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from games.zerg.arena.stand_in import BOT, TOKEN, Arena, agent, serving
from understudy.cli import main
from understudy.games.zerg.arena.tokens import VARIABLE


class KeyringError(Exception):
    """The keyring is locked, or there is none."""


class Keyring:
    """The functions of the library `keyring` that are used."""

    errors = SimpleNamespace(KeyringError=KeyringError)

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], str] = {}
        self.locked = False

    def get_password(self, service: str, name: str) -> str | None:
        if self.locked:
            raise KeyringError("locked")
        return self.kept.get((service, name))

    def set_password(self, service: str, name: str, token: str) -> None:
        if self.locked:
            raise KeyringError("locked")
        self.kept[service, name] = token


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def keyring(monkeypatch: pytest.MonkeyPatch) -> Keyring:
    made = Keyring()
    monkeypatch.setitem(sys.modules, "keyring", made)
    monkeypatch.delenv(VARIABLE, raising=False)
    return made


@pytest.fixture
def arena() -> Iterator[Arena]:
    with serving() as started:
        yield started


def login(arena: Arena, monkeypatch: pytest.MonkeyPatch, token: str) -> int:
    monkeypatch.setattr(sys, "stdin", io.StringIO(token))
    return main(["ladder", "login", "--ladder.url", arena.url])


def test_a_token_is_checked_kept_for_its_ladder_and_used(
    keyring: Keyring, arena: Arena, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    agent(tmp_path, seed=1).close()
    status = ["ladder", "status", str(tmp_path), "--ladder.url", arena.url, "--ladder.bot", str(BOT)]
    assert main(status) == 1
    assert "understudy ladder login" in capsys.readouterr().err
    assert login(arena, monkeypatch, f" {TOKEN}\n") == 0, "from another program"
    assert keyring.kept == {("understudy-aiarena", arena.url.removeprefix("http://")): TOKEN}
    keyring.kept.clear()
    monkeypatch.setattr(sys, "stdin", Terminal())
    monkeypatch.setattr(getpass, "getpass", lambda _: TOKEN)
    capsys.readouterr()
    assert main(["ladder", "login", "--ladder.url", arena.url]) == 0
    assert capsys.readouterr().out == "The token is in the system's keyring.\n"
    assert keyring.kept == {("understudy-aiarena", arena.url.removeprefix("http://")): TOKEN}
    assert main(status) == 0
    monkeypatch.setenv(VARIABLE, "another")  # the variable comes first
    assert main(status) == 1
    assert "refuses the token" in capsys.readouterr().err
    keyring.locked = True
    monkeypatch.delenv(VARIABLE)
    assert main(status) == 1
    assert "There is no token" in capsys.readouterr().err
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and TOKEN.encode() in path.read_bytes()]


@pytest.mark.parametrize(
    ("token", "says"), [("wrong", "refuses the token"), ("", "it is empty"), ("a b", "characters")]
)
def test_a_token_that_the_ladder_does_not_take_is_not_kept(
    keyring: Keyring,
    arena: Arena,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    token: str,
    says: str,
) -> None:
    assert login(arena, monkeypatch, token) == 1
    assert says in capsys.readouterr().err
    assert keyring.kept == {}


def test_without_a_keyring_it_says_what_to_do(
    keyring: Keyring, arena: Arena, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    keyring.locked = True
    assert login(arena, monkeypatch, TOKEN) == 1
    assert f"The keyring refuses the token (locked). Set the variable {VARIABLE} instead." in capsys.readouterr().err
    keyring.locked = False
    monkeypatch.setattr(keyring, "set_password", lambda *_: None)  # keyring's own backend `null` does that
    assert login(arena, monkeypatch, TOKEN) == 1
    assert "does not keep the token" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "keyring", None)
    assert login(arena, monkeypatch, TOKEN) == 1
    assert "pip install keyring" in capsys.readouterr().err
