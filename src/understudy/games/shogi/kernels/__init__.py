"""Compiled convolutions for 9×9 boards. `compiled` compiles a function of this package with numba."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numba

from understudy.numba_cache import code_folder, kept_in

_OPTIONS = {"nogil": True, "error_model": "numpy"}
_Function = TypeVar("_Function", bound=Callable[..., Any])


@cache
def _folder() -> Path:
    here = Path(__file__).parent
    return code_folder("shogi", _OPTIONS, here.glob("*.py"), here)


def compiled(function: _Function) -> _Function:
    """Compile a function of this package."""
    try:
        return kept_in(_folder(), function, _OPTIONS)  # type: ignore[no-any-return]
    except (RuntimeError, OSError):  # no folder is available for compiled code
        return numba.njit(**_OPTIONS)(function)  # type: ignore[no-any-return]


@contextmanager
def announced(what: str) -> Iterator[None]:
    """Print that something is being compiled, unless it was compiled before. The block inside compiles it."""
    done = _folder() / f"{what} is compiled"
    if not done.exists():
        print(f"Compiling {what}, once (up to half a minute); kept in {_folder()}", file=sys.stderr, flush=True)
    yield
    with suppress(OSError):  # the next start will print the message again
        done.touch()
