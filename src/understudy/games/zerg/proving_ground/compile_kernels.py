"""Compiles the simulation on all cores: `python -m understudy.games.zerg.proving_ground.compile_kernels`.

A function is compiled once all functions it calls are, by any free process; the other processes load it from the
cache. Argument types follow from argument names, which mean the same in every kernel, so each has one version.
"""

from __future__ import annotations

import inspect
import multiprocessing
import os
import signal
import sys
from concurrent.futures import FIRST_COMPLETED, Future, wait
from functools import cache
from types import ModuleType
from typing import Any

import numba
import numpy as np
from numba.core import types

from understudy.files.locks import FileLock
from understudy.games.zerg.game_processes import process_pool
from understudy.games.zerg.proving_ground import compiled, wire
from understudy.games.zerg.proving_ground.abilities import Labels
from understudy.games.zerg.proving_ground.kernels import entry_points, sight, step, tally
from understudy.games.zerg.proving_ground.rules import RULES
from understudy.games.zerg.proving_ground.state import SCRATCH, STATE, TERRAIN

MOST_PROCESSES = 8  # more would be idle: chains of calls are long
_ENTRANCES = (entry_points, sight, step, tally, wire)  # importing them fills compiled.functions


def main() -> int:
    """Compile what is not in the cache; if another process is doing that, wait for it."""
    signal.signal(signal.SIGTERM, _end_at_once)
    folder = compiled.cache_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        print(f"Cannot write machine code to {folder}: {error}. Set XDG_CACHE_HOME to another one.", file=sys.stderr)
        return 1
    with FileLock(folder / "compiling.lock"):
        if not (folder / compiled.COMPLETE).exists():
            _compile_all()
            (folder / compiled.COMPLETE).touch()
    return 0


def _end_at_once(_number: int, _frame: object) -> None:
    """End at once, helpers included: compiling one function may take half a minute."""
    for helper in multiprocessing.active_children():
        helper.terminate()
    sys.exit(1)


def _compile_all() -> None:
    callees = [_callees(function) for function in compiled.functions]
    chain = [0] * len(callees)  # length of the longest chain of callers

    def lengthen(number: int, length: int) -> None:
        if chain[number] < length <= len(callees):  # guards against cycles
            chain[number] = length
            for callee in callees[number]:
                lengthen(callee, length + 1)

    for number in range(len(callees)):
        lengthen(number, 1)
    waiting, done = sorted(range(len(callees)), key=lambda number: -chain[number]), set[int]()
    processes = min(os.cpu_count() or 1, MOST_PROCESSES)
    with process_pool(processes) as pool:
        under_way = dict[Future[None], int]()
        while waiting or under_way:
            ready = [number for number in waiting if callees[number] <= done] or ([] if under_way else waiting[:1])
            for number in ready[: processes - len(under_way)]:
                waiting.remove(number)
                under_way[pool.submit(_compile, number)] = number
            for future in wait(under_way, return_when=FIRST_COMPLETED).done:
                future.result()
                done.add(under_way.pop(future))
            _show(len(done), len(callees))


def _compile(number: int) -> None:
    """Compile one function. Its callees are loaded, with the only version that they have."""
    for callee in _callees(compiled.functions[number]):
        _only_version(callee)
    _only_version(number)


@cache
def _only_version(number: int) -> None:
    """Compile or load a function for its own argument types. Calls with narrower ones then convert their arguments."""
    function = compiled.functions[number]
    function.compile(_signature(function.py_func))
    function.disable_compile()


def _callees(function: Any) -> set[int]:
    """Numbers of the kernels that a kernel calls; matched by name, so there may be extra ones."""
    code, known = function.py_func.__code__, function.py_func.__globals__
    found = [known.get(name) for name in code.co_names]
    for module in [value for value in found if isinstance(value, ModuleType)]:
        found += [getattr(module, name, None) for name in code.co_names]
    return {number for number, other in enumerate(compiled.functions) if any(other is one for one in found)} - {
        compiled.functions.index(function)
    }


def _signature(function: Any) -> tuple[Any, ...]:
    known = _types()
    return tuple(known.get(p.annotation) or known[name] for name, p in inspect.signature(function).parameters.items())


@cache
def _types() -> dict[str, Any]:
    """Types of arguments by annotation, or by name where that is Any."""
    by_name: dict[str, Any] = {"int": types.int64, "float": types.float64, "bool": types.boolean}
    for record, block, layout, fixed in (
        ("s", "states", STATE, False),
        ("t", "terrains", TERRAIN, True),
        ("r", "rules", RULES, True),
        ("w", "scratches", SCRATCH, False),
    ):
        example = np.empty(1, layout)
        example.flags.writeable = not fixed
        by_name[block] = numba.typeof(example)
        by_name[record] = by_name[block].dtype
    whole = numba.typeof(np.empty(1, np.int32))
    by_name |= dict.fromkeys(("working", "wanted", "halls", *Labels._fields), whole)
    return by_name | {
        "levels": numba.typeof(np.empty((1, 1, 1), np.int32)),
        "out": numba.typeof(np.empty(1, np.uint8)),
        "cell": numba.typeof((np.empty(1, np.float32), np.empty(1, np.uint32))),
        "verbs": numba.typeof(np.empty(1, np.int64)),
        "sums": numba.typeof(np.empty(1, np.float64)),
    }


def _show(done: int, total: int) -> None:
    terminal = sys.stderr.isatty()
    if terminal or done % 20 == 0 or done == total:
        end = "\r" if terminal and done < total else "\n"
        print(f"Compiling the simulation: {done} of {total} functions done", end=end, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
