"""Things for a worker to do."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from understudy.errors import EpisodeError


def echo(**argument: Any) -> dict[str, Any]:
    return {"heard": argument, "pid": os.getpid()}


def refuse() -> None:
    raise EpisodeError("Not with this file.")


def stumble() -> None:
    raise ZeroDivisionError("one over nothing")


def hang() -> None:
    time.sleep(600)


def nap() -> None:
    time.sleep(0.05)


def die() -> None:
    os._exit(3)


def eat(amount: int) -> dict[str, int]:
    return {"eaten": len(bytearray(amount))}


def recurse() -> None:
    recurse()


def say_something_else() -> Any:
    return {"not", "json"}


def win_all(model: str, first: int, games: int) -> dict[str, str]:
    return {"results": "W" * games}


def how_scheduled() -> dict[str, int]:
    return {"policy": os.sched_getscheduler(0)}


def win_when_told(model: str, first: int, games: int) -> dict[str, str]:
    while not Path(os.environ["UNDERSTUDY_TEST_FLAG"]).exists():
        time.sleep(0.01)
    return win_all(model, first, games)
