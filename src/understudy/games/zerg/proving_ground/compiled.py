"""The one door to numba: `kernel` compiles a function and keeps the machine code on disk.

numba's own cache notices a change in the file of a function but not in the files of the functions it calls, nor in tables frozen into
it. Here the cache folder is named after a digest of all of them, so that stale code cannot be run.
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
from numba.core import config

Function = TypeVar("Function", bound=Callable[..., Any])


@cache
def cache_folder() -> Path:
    """Where the machine code of exactly these sources and tables lies."""
    digest = hashlib.sha256(numba.__version__.encode())
    here = Path(__file__).parent
    for path in sorted([*here.glob("*.py"), *here.glob("kernels/*.py"), *here.glob("data/*.tsv")]):
        if path.parent.name == "kernels" or path.suffix == ".tsv" or path.stem in {"compiled", "rules", "state", "vitals", "unit_data", "wire", "upgrade_effects"}:
            digest.update(path.read_bytes())
    base = os.environ.get("UNDERSTUDY_CACHE") or os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA") or Path.home() / ".cache"
    return Path(base) / "understudy" / f"kernels-{digest.hexdigest()[:16]}"


def kernel(function: Function) -> Function:
    """Compile on first use, or load the machine code of an earlier run."""
    before = config.CACHE_DIR
    config.CACHE_DIR = str(cache_folder())
    try:
        compiled: Function = numba.njit(cache=True, nogil=True, error_model="numpy")(function)
    finally:
        config.CACHE_DIR = before
    return compiled


def announce_compilation() -> bool:
    """Say so when the kernels must be compiled first; True when they must."""
    folder = cache_folder()
    needed = not folder.exists() or not any(folder.rglob("*.nbi"))
    if needed:
        print(f"Compiling the simulation, once (about a minute); kept in {folder} ...", file=sys.stderr, flush=True)
    return needed
