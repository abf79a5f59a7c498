"""How the benchmarks measure: contenders take turns, medians are compared, and every row names its peer.

A noisy neighbour slows down what runs at that moment. Contenders that take turns in short rounds are slowed alike, so
the ratio of their medians holds on a shared machine where the figures themselves do not.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from understudy.machine.priority import ONE_BLAS_THREAD

Unit = Literal["µs", "ms", "B", "k/s", "GB/s", "%", "versions", "games"]
_MORE_IS_BETTER = ("k/s", "GB/s", "%")


@dataclass(frozen=True, slots=True)
class Row:
    """One measurement. `limit` bounds the figure itself; `factor` is how many times better than the peer it must be."""

    what: str
    ours: float
    unit: Unit
    peer: str = ""
    theirs: float | None = None
    limit: float | None = None
    factor: float | None = None

    @property
    def ratio(self) -> float | None:
        """How many times better than the peer."""
        if self.theirs is None:
            return None
        better, worse = (self.ours, self.theirs) if self.unit in _MORE_IS_BETTER else (self.theirs, self.ours)
        return better / worse if worse else math.inf

    @property
    def reached(self) -> bool | None:
        """Whether the target is met; None without one."""
        if self.limit is None and self.factor is None:
            return None
        within = self.limit is None or (
            self.ours >= self.limit if self.unit in _MORE_IS_BETTER else self.ours <= self.limit
        )
        return within and (self.factor is None or (self.ratio is not None and self.ratio >= self.factor))

    @property
    def target(self) -> str:
        """The target in words."""
        sign = "≥" if self.unit in _MORE_IS_BETTER else "≤"
        limit = "" if self.limit is None else f"{sign} {number(self.limit)} {self.unit}"
        factor = "" if self.factor is None else f"≥ {self.factor:g} × peer"
        return ", ".join(part for part in (limit, factor) if part)

    def cells(self) -> tuple[str, ...]:
        """The row as text, in the order of the table's columns."""
        theirs = "" if self.theirs is None else f"{number(self.theirs)} {self.unit}"
        ratio = "" if self.ratio is None else f"{self.ratio:.2f} ×"
        reached = {None: "", True: "yes", False: "NO"}[self.reached]
        return self.what, f"{number(self.ours)} {self.unit}", self.peer, theirs, ratio, self.target, reached

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for the JSON file."""
        return {**dataclasses.asdict(self), "ratio": self.ratio, "target": self.target, "reached": self.reached}


def timed(call: Callable[[Any], object], inputs: Iterable[Any]) -> list[float]:
    """Seconds that each call took."""
    clock = time.perf_counter
    seconds = []
    for value in inputs:
        start = clock()
        call(value)
        seconds.append(clock() - start)
    return seconds


def take_turns(contenders: Mapping[str, Callable[[], Sequence[float]]], rounds: int) -> dict[str, list[list[float]]]:
    """The seconds of every call of every contender, round by round, after a round that does not count.

    A contender plays one round when called, and returns the seconds of its calls.
    """
    results: dict[str, list[list[float]]] = {name: [] for name in contenders}
    for turn in range(rounds + 1):
        for name, play in contenders.items():
            seconds = list(play())
            if turn:
                results[name].append(seconds)
    return results


def typical(rounds: Sequence[Sequence[float]], share: float = 0.5) -> float:
    """The median over rounds of a quantile within the round."""
    return quantile([quantile(seconds, share) for seconds in rounds], 0.5)


def quantile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least this share of the values does not exceed."""
    return sorted(values)[max(math.ceil(share * len(values)) - 1, 0)]


def number(value: float) -> str:
    """A figure with three digits that count."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def print_table(title: str, rows: Sequence[Row]) -> None:
    """Print the rows of one subject in columns."""
    table = [("what", "ours", "peer", "theirs", "better", "target", "reached"), *(row.cells() for row in rows)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    print(f"\n{title}")
    for cells in table:
        left, right = "<", ">"
        sides = (left, right, left, right, right, left, left)
        line = "  ".join(f"{cell:{side}{width}}" for cell, side, width in zip(cells, sides, widths, strict=True))
        print(f"  {line}".rstrip(), flush=True)


def run_alone(title: str, subject: Callable[[], list[Row]]) -> None:
    """Measure one subject, in a process where everybody has one BLAS thread, and print its table."""
    parser = argparse.ArgumentParser(description=sys.modules["__main__"].__doc__)
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the rows to this file")
    options = parser.parse_args()
    if ONE_BLAS_THREAD.items() - os.environ.items():  # too late for this process: NumPy is loaded
        command = [sys.executable, *sys.argv]
        sys.exit(subprocess.run(command, env={**os.environ, **ONE_BLAS_THREAD}, check=False).returncode)
    rows = subject()
    print_table(title, rows)
    if options.json:
        options.json.write_text(json.dumps([row.as_dict() for row in rows], indent=1), encoding="utf-8")
