"""The simulation's door to numba: `kernel` compiles a function and keeps the machine code on disk.

The folder is named after a digest of all sources and tables that go into the code, so that stale code cannot be run,
and of whatever else makes numba compile anew, so that a folder holds all that is needed or is not complete.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from numba.core import types

from understudy.kernels import code_folder, kept_in

OPTIONS = {"nogil": True, "error_model": "numpy"}
COMPLETE = "complete"  # a file of this name is in the cache folder once all is there
_COMPILER = "understudy.games.zerg.proving_ground.compile_kernels"
functions: list[Any] = []  # every door and kernel that was imported

Function = TypeVar("Function", bound=Callable[..., Any])


@cache
def cache_folder() -> Path:
    """Where the machine code lies of exactly these sources and tables, at this place, for this Python and processor."""
    here = Path(__file__).parent
    frozen = [here / f"{name}.py" for name in ("rules", "state", "vitals", "unit_data", "wire", "upgrade_effects")]
    return code_folder("kernels", OPTIONS, [*frozen, *here.glob("kernels/*.py"), *here.glob("data/*.tsv")], here)


def door(function: Function) -> Function:
    """A function that Python calls: compiled on first use, or loaded as an earlier run left it."""
    return _compiled(function, {})  # type: ignore[no-any-return]


def kernel(function: Function) -> Function:
    """A function that only doors and kernels call: Python has no way in.

    That, and one version for whole numbers of every width instead of one for each, halves the time of compiling.
    """
    compiled = _compiled(function, {"no_cpython_wrapper": True, "no_cfunc_wrapper": True})
    resolve = compiled.get_call_template
    compiled.get_call_template = lambda args, keywords: resolve(tuple(_widened(kind) for kind in args), keywords)
    return compiled  # type: ignore[no-any-return]


def _compiled(function: Callable[..., Any], more: dict[str, bool]) -> Any:
    compiled = kept_in(cache_folder(), function, OPTIONS | more)
    functions.append(compiled)
    return compiled


def _widened(kind: Any) -> Any:
    """A constant's type without its value, a narrow whole number's as the widest."""
    kind = types.unliteral(kind)  # type: ignore[attr-defined]
    return types.int64 if isinstance(kind, types.Integer) and kind.bitwidth < 64 else kind  # type: ignore[attr-defined]


@cache
def compile_once() -> None:
    """Have everything compiled on all cores when these sources and tables never were; says so, since it takes a while.

    A process of its own does it: its helpers would run the main module of this one again. Ctrl-C is for this process,
    which ends the other one.
    """
    folder = cache_folder()
    if (folder / COMPLETE).exists():
        return
    print(f"Compiling the simulation, once (half a minute to two); kept in {folder}", file=sys.stderr, flush=True)
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
        print("That did not work; each part is compiled when it is first used.", file=sys.stderr, flush=True)
