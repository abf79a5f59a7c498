"""On-disk cache of numba's machine code, in a folder named after a hash of its sources.

numba's own cache notices a change in the file of a function, but not in the files of the functions it calls, nor in
constants frozen into it. So machine code is kept in folders named after a hash of everything that it depends on.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numba
from llvmlite.binding import get_host_cpu_name
from numba.core import config


def cache_root() -> Path:
    """The folder for data that can be regenerated at any time."""
    base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA") or Path.home() / ".cache"
    return Path(base) / "understudy"


def code_folder(name: str, options: dict[str, Any], sources: Iterable[Path], here: Path) -> Path:
    """The folder for machine code from exactly these sources, at this place, for this Python and processor."""
    made_for = (numba.__version__, options, str(here), sys.implementation.cache_tag, get_host_cpu_name())
    digest = hashlib.sha256(repr(made_for).encode())
    for path in sorted(sources):
        digest.update(path.read_bytes())
    return cache_root() / f"{name}-{digest.hexdigest()[:16]}"


def kept_in(folder: Path, function: Callable[..., Any], options: dict[str, Any]) -> Any:
    """The function, compiled on first use or loaded from the folder."""
    before = config.CACHE_DIR
    config.CACHE_DIR = str(folder)
    try:
        return numba.njit(cache=True, **options)(function)
    finally:
        config.CACHE_DIR = before
