"""The door to numba, and machine code for the inner loops of learning.

numba's own cache notices a change in the file of a function, but not in the files of the functions it calls, nor in
constants frozen into it. So machine code is kept in folders named after a digest of everything that goes into it.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numba
from llvmlite.binding import get_host_cpu_name
from numba.core import config

_OPTIONS = {"nogil": True, "error_model": "numpy"}
_Function = TypeVar("_Function", bound=Callable[..., Any])


def code_folder(name: str, options: dict[str, Any], sources: Iterable[Path], here: Path) -> Path:
    """Where machine code lies that was made of exactly these sources, at this place, for this Python and processor."""
    made_for = (numba.__version__, options, str(here), sys.implementation.cache_tag, get_host_cpu_name())
    digest = hashlib.sha256(repr(made_for).encode())
    for path in sorted(sources):
        digest.update(path.read_bytes())
    base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA") or Path.home() / ".cache"
    return Path(base) / "understudy" / f"{name}-{digest.hexdigest()[:16]}"


def kept_in(folder: Path, function: Callable[..., Any], options: dict[str, Any]) -> Any:
    """The function, compiled on first use, or loaded from the folder as an earlier run left it there."""
    before = config.CACHE_DIR
    config.CACHE_DIR = str(folder)
    try:
        return numba.njit(cache=True, **options)(function)
    finally:
        config.CACHE_DIR = before


@cache
def _folder() -> Path:
    here = Path(__file__).parent
    return code_folder("learning", _OPTIONS, here.glob("*.py"), here)


@contextmanager
def once(what: str) -> Iterator[None]:
    """Say that something is compiled, if it never was: inside, it is, and that takes a while."""
    done = _folder() / f"{what} is compiled"
    if not done.exists():
        print(f"Compiling {what}, once (up to half a minute); kept in {_folder()}", file=sys.stderr, flush=True)
    yield
    with suppress(OSError):  # then the next start prints the message again
        done.touch()


def compiled(function: _Function) -> _Function:
    """Compile a function of this package."""
    try:
        return kept_in(_folder(), function, _OPTIONS)  # type: ignore[no-any-return]
    except (RuntimeError, OSError):  # there is no folder that machine code could be kept in
        return numba.njit(**_OPTIONS)(function)  # type: ignore[no-any-return]
