"""Things for a worker to do."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from understudy.errors import EpisodeError
from understudy.jobs.queue import JobOutcome
from understudy.ledger.jobs import Job, Kind


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


class Chores:
    """Jobs of one kind, and a note of how each ended."""

    done = set_aside = 0
    looking = False

    def __init__(self, *names: str, kind: Kind = "analyse", seconds: float = 30.0) -> None:
        self.kind: Kind = kind
        self.names = list(names)
        self.seconds = seconds
        self.ended: list[JobOutcome] = []
        self.closed = False

    def look(self, *, idle: bool) -> list[Job]:
        names, self.names = self.names, []
        function = "jobs.chores:{}".format
        return [Job(self.kind, f"{i}", n, function(n), {}, self.seconds) for i, n in enumerate(names)]

    def settle(self, outcome: JobOutcome) -> bool:
        self.ended.append(outcome)
        return outcome.failure is None or sum(o.job == outcome.job for o in self.ended) == 3

    def close(self) -> None:
        self.closed = True
