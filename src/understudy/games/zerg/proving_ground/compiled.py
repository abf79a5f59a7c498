"""The simulation's door to numba: `kernel` compiles a function and keeps the machine code on disk.

The folder's name is a digest of all sources and tables, so stale code cannot run, and of everything else that makes
numba recompile.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from numba.core import config

from understudy.games.zerg import starcraft
from understudy.numba_cache import code_folder, kept_in

OPTIONS = {"nogil": True, "error_model": "numpy"}
if config.BOUNDSCHECK:  # the variable NUMBA_BOUNDSCHECK: an index out of range is an error; for tests
    OPTIONS["boundscheck"] = True
COMPLETE = "complete"  # the cache folder contains this file once it is complete
_COMPILER = "understudy.games.zerg.proving_ground.compile_kernels"
functions: list[Any] = []  # every door and kernel that was imported

Function = TypeVar("Function", bound=Callable[..., Any])


@cache
def cache_folder() -> Path:
    """The folder for the machine code of these sources and tables, on this path, for this Python and processor."""
    here = Path(__file__).parent
    tables = ("rules", "forms", "state", "vitals", "unit_data", "wire", "upgrade_effects", "spells")
    frozen = [here / f"{name}.py" for name in tables]
    frozen.append(Path(starcraft.__file__))
    return code_folder("kernels", OPTIONS, [*frozen, *here.glob("kernels/*.py"), *here.glob("data/*.tsv")], here)


def door(function: Function) -> Function:
    """A function that Python calls: compiled on first use, or loaded from the cache."""
    return _compiled(function, {})  # type: ignore[no-any-return]


def kernel(function: Function) -> Function:
    """A function that only doors and kernels call, not Python.

    Without wrappers for Python, compilation takes less time.
    """
    return _compiled(function, {"no_cpython_wrapper": True, "no_cfunc_wrapper": True})  # type: ignore[no-any-return]


def _compiled(function: Callable[..., Any], more: dict[str, bool]) -> Any:
    compiled = kept_in(cache_folder(), function, OPTIONS | more)
    functions.append(compiled)
    return compiled


@cache
def compile_once() -> None:
    """Compile everything on all cores if the cache is not complete.

    A separate process does it, since spawned helpers would import the main module of this one. Ctrl-C reaches this
    process, which terminates the other.
    """
    folder = cache_folder()
    if (folder / COMPLETE).exists():
        return
    print(f"Compiling the simulation, only this time (30 to 120 s); cached in {folder}", file=sys.stderr, flush=True)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-m", _COMPILER]
    compiler = subprocess.Popen(command, env=environment, start_new_session=True)
    try:
        failed = compiler.wait()
    except KeyboardInterrupt:
        compiler.terminate()
        compiler.wait()
        raise
    if failed:
        print("Compilation failed; each part is compiled when it is first used.", file=sys.stderr, flush=True)
