"""The limits of the container of this process, from control groups version 2 or 1 (Linux)."""

from __future__ import annotations

import time
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

_ROOT = Path("/sys/fs/cgroup")


class Share(NamedTuple):
    """The amount in use, and the limit."""

    used: float
    available: float


def cpu_seconds() -> Share | None:
    """CPU time used, and available, since some moment; None if there is no limit."""
    quota = _words("cpu.max") or [*_words("cpu/cpu.cfs_quota_us"), *_words("cpu/cpu.cfs_period_us")]
    microseconds, nanoseconds = _entry("cpu.stat", "usage_usec"), _number("cpuacct/cpuacct.usage")
    used = microseconds / 1e6 if microseconds is not None else None if nanoseconds is None else nanoseconds / 1e9
    if used is None or len(quota) != 2 or not all(word.isdigit() for word in quota):  # "max" or -1: no limit
        return None
    return Share(used, time.monotonic() * int(quota[0]) / int(quota[1]))


def memory_bytes() -> Share | None:
    """Memory in use, without reclaimable file cache, and its limit; None if there is no limit."""
    for used, limit, cache in (
        (_number("memory.current"), _number("memory.max"), _entry("memory.stat", "inactive_file")),
        (
            _number("memory/memory.usage_in_bytes"),
            _number("memory/memory.limit_in_bytes"),
            _entry("memory/memory.stat", "total_inactive_file"),
        ),
    ):
        if used is not None and limit is not None:
            return Share(max(used - (cache or 0), 0), limit)
    return None


def _words(name: str) -> list[str]:
    try:
        return (_ROOT / name).read_text(encoding="ascii").split()
    except (OSError, UnicodeDecodeError):
        return []


def _number(name: str) -> int | None:
    words = _words(name)
    return int(words[0]) if len(words) == 1 and words[0].isdigit() else None


def _entry(name: str, key: str) -> int | None:
    """The number after a key, in a file of keys and numbers."""
    words = _words(name)
    return next((int(value) for word, value in pairwise(words) if word == key), None)
