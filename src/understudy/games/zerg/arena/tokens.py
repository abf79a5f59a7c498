"""The token for AI Arena, from an environment variable or the system's keyring, never from a file."""

from __future__ import annotations

import contextlib
import os
from typing import Any

from understudy.games.zerg.arena.errors import ArenaError

VARIABLE = "AIARENA_TOKEN"
PAGE = "https://aiarena.net/profile/token/"
_SERVICE = "understudy-aiarena"


def find_token(host: str) -> str:
    """The token for this host; ArenaError if there is none."""
    token = os.environ.get(VARIABLE, "").strip()
    if not token and (keyring := _keyring()) is not None:
        with contextlib.suppress(keyring.errors.KeyringError):  # locked, or a system without a keyring
            token = (keyring.get_password(_SERVICE, host) or "").strip()
    if not token:
        raise ArenaError(
            f"There is no token for {host}. Copy it from {PAGE}, then set the variable {VARIABLE}, "
            "or run `understudy ladder login`, which keeps it in the system's keyring."
        )
    return checked(token, host)


def checked(token: str, host: str) -> str:
    """The token if it is well-formed; else ArenaError."""
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        found = "it contains characters that are not allowed in a token" if token else "it is empty"
        raise ArenaError(f"This is not a token for {host}: {found}. Copy it again from {PAGE}.")
    return token


def keep_token(host: str, token: str) -> None:
    """Store the token in the system's keyring."""
    keyring = _keyring()
    if keyring is None:
        raise ArenaError(f"There is no system keyring here (pip install keyring). Set the variable {VARIABLE} instead.")
    try:
        keyring.set_password(_SERVICE, host, token)
        kept = keyring.get_password(_SERVICE, host) == token
    except Exception as error:  # every backend has its own errors
        raise ArenaError(f"The keyring refuses the token ({error}). Set the variable {VARIABLE} instead.") from error
    if not kept:
        raise ArenaError(f"The keyring does not keep the token. Set the variable {VARIABLE} instead.")


def _keyring() -> Any:
    try:
        import keyring  # noqa: PLC0415 - an optional door
    except ImportError:
        return None
    return keyring
