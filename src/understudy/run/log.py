"""The messages of a training process: lines on the terminal and entries in the log of its run."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from understudy.files.append import append_bounded
from understudy.files.printable import in_one_line, printable
from understudy.rundir import EVENTS

_LOG_BYTES = 5_000_000


def say(text: str) -> None:
    """Print a line of the learner."""
    show(f"[BG_LEARNER] {text}")


def show(text: str) -> None:
    """Print, without control characters. A closed terminal does not stop the process."""
    with contextlib.suppress(OSError, ValueError):
        print(f"{printable(text)}\n", end="", flush=True)  # in one piece: other processes use the same terminal


def append_entry(
    log: Path, title: str, facts: Mapping[str, str], at: float, numbers: Mapping[str, Any] | None = None
) -> None:
    """Append an entry to the log for people, and the same event, with its numbers, to `events.jsonl` for programs."""
    told = (
        f"  {name + ':':<16} {in_one_line(value)}" for name, value in facts.items()
    )  # so that no value can imitate an entry
    lines = [f"[{clock(at)}] {in_one_line(title)}", *told, "-" * 60, ""]
    append_bounded(log, "\n".join(lines) + "\n", _LOG_BYTES)
    event = {"at": at, "event": title, "facts": dict(facts), **({"numbers": dict(numbers)} if numbers else {})}
    append_bounded(log.with_name(EVENTS), json.dumps(event) + "\n", _LOG_BYTES)


def clock(at: float) -> str:
    """Date and time of day, in local time."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))
