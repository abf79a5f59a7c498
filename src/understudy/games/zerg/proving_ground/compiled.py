"""The one door to numba: `kernel` compiles a function and keeps the machine code on disk.

numba's own cache notices a change in the file of a function but not in the files of the functions it calls, nor in
tables frozen into it. Here the cache folder is named after a digest of all of them, so that stale code cannot be run.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba.core import config, event

OPTIONS = {"cache": True, "nogil": True, "error_model": "numpy"}

Function = TypeVar("Function", bound=Callable[..., Any])


@cache
def cache_folder() -> Path:
    """Where the machine code of exactly these sources and tables lies."""
    digest = hashlib.sha256(f"{numba.__version__} {OPTIONS}".encode())
    here = Path(__file__).parent
    frozen = [here / f"{name}.py" for name in ("rules", "state", "vitals", "unit_data", "wire", "upgrade_effects")]
    for path in sorted([*frozen, *here.glob("kernels/*.py"), *here.glob("data/*.tsv")]):
        digest.update(path.read_bytes())
    base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA") or Path.home() / ".cache"
    return Path(base) / "understudy" / f"kernels-{digest.hexdigest()[:16]}"


def kernel(function: Function) -> Function:
    """Compile on first use, or load the machine code of an earlier run."""
    before = config.CACHE_DIR
    config.CACHE_DIR = str(cache_folder())
    try:
        compiled: Function = numba.njit(**OPTIONS)(function)
    finally:
        config.CACHE_DIR = before
    return compiled


class _Progress(event.Listener):  # type: ignore[misc]
    """Counts the functions compiled so far, on one line of the terminal."""

    def __init__(self) -> None:
        self._functions = 0

    def on_start(self, event: Any) -> None:
        """A compilation begins: nothing to say yet."""

    def on_end(self, event: Any) -> None:
        """One more function is done."""
        self._functions += 1
        terminal = sys.stderr.isatty()
        if terminal or self._functions % 20 == 0:  # on a terminal, whatever is printed next takes the line's place
            text = f"Compiling the simulation: {self._functions} functions done"
            print(text, end="\r" if terminal else "\n", file=sys.stderr, flush=True)


@cache
def announce_compilation() -> bool:
    """Show progress when the kernels must be compiled first, once for these sources; True when they must."""
    folder = cache_folder()
    needed = not folder.exists() or not any(folder.rglob("*.nbi"))
    if needed:
        print(f"Compiling the simulation, once (a minute or two); kept in {folder}", file=sys.stderr, flush=True)
        event.register("numba:compile", _Progress())
    return needed
