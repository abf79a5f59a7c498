"""`control.json`: requests to pause, resume or stop a learner, in the run directory.

A pause lasts until it is resumed, also across restarts of the learner. A stop applies to the learner that runs now:
each request has a number, and a learner obeys only requests that came after its start.
"""

from __future__ import annotations

import dataclasses
import getpass
import json
import os
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from understudy.errors import RunDirError
from understudy.files.atomic import write_atomically
from understudy.files.locks import FileLock
from understudy.files.plain_json import parsed_json
from understudy.models.gate import Gate
from understudy.models.state import ModelState
from understudy.models.store import ModelStore
from understudy.run.log import append_entry
from understudy.rundir import RunDir

_LOOK_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Control:
    """The present requests. `stop_mark` changes with every request to stop."""

    paused: bool = False
    stop_mark: str = ""
    drain: bool = False
    by: str = ""
    at: float = 0.0


def read_control(path: Path) -> Control:
    """The present requests; none if the file is missing or not valid."""
    try:
        content = parsed_json(path.read_bytes())
        return Control(
            bool(content["paused"]),
            str(content["stop_mark"]),
            bool(content["drain"]),
            str(content["by"]),
            float(content["at"]),
        )
    except (OSError, ValueError, TypeError, KeyError):
        return Control()


def pause(run: RunDir, by: str) -> None:
    """Ask the learner to take no more games until `resume`; the batch in progress is finished."""
    _ask(run, "pause", by, paused=True)


def resume(run: RunDir, by: str) -> None:
    """Let the learner continue."""
    _ask(run, "resume", by, paused=False)


def stop(run: RunDir, by: str, *, drain: bool = False) -> None:
    """Ask the learner that runs now to end after the batch in progress (`drain`: after all waiting games)."""
    _ask(run, "stop", by, stop_mark=os.urandom(8).hex(), drain=drain)


def roll_back(run: RunDir, version: int, by: str, *, keep: int = 20) -> ModelState:
    """Publish an earlier version again, under a new number; bots and learner load it automatically."""
    store = _store(run, keep)
    head = store.rollback(version)
    Gate(run.ledger, store).went_back(version, head.version, by)
    _note(run, "Request: roll back", {"Asked By": by, "Back To": f"version {version}"}, head)
    return head


def average(run: RunDir, count: int, by: str, *, keep: int = 20) -> tuple[ModelState, int]:
    """Publish the mean weights of the last `count` (or all kept) versions; returns the new head and their number."""
    if count < 2:
        raise RunDirError(f"A mean needs at least two versions, not {count}.")
    head, found = _store(run, keep).average(count)
    _note(run, "Request: average", {"Asked By": by, "Versions": str(found)}, head)
    return head, found


def _store(run: RunDir, keep: int) -> ModelStore:
    if not run.ledger.exists():
        raise RunDirError(f"There is no run at {run.root}: no model has been published there.")
    return ModelStore(run.model, run.ledger, keep=keep)


def _note(run: RunDir, title: str, facts: dict[str, str], head: ModelState) -> None:
    run.logs.mkdir(exist_ok=True)
    append_entry(run.log, title, {**facts, "Model Version": str(head.version)}, time.time())


class Orders:
    """The learner's side of `control.json`; checking an unchanged file takes a microsecond."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen: tuple[int, int, int] | None = None
        self._control = Control()
        self._obeyed = self.look().stop_mark

    def look(self) -> Control:
        """The present requests."""
        try:
            stat = self._path.stat()
        except OSError:
            self._seen, self._control = None, Control()
            return self._control
        signature = stat.st_mtime_ns, stat.st_size, stat.st_ino
        if signature != self._seen:
            self._seen, self._control = signature, read_control(self._path)
        return self._control

    def asked_to_stop(self) -> bool:
        """True once for each request to stop that came after this object was made."""
        mark = self.look().stop_mark
        new = mark not in ("", self._obeyed)
        self._obeyed = mark
        return new


class Steerable(Protocol):
    """The interface of a process that can be paused, resumed and stopped."""

    event: threading.Event
    paused_by: str

    def pause(self, by: str) -> None:
        """Request a pause."""

    def resume(self) -> None:
        """End the pause."""

    def stop(self, *, drain: bool = False) -> None:
        """Request the end."""


def pass_on(run: RunDir, request: Steerable) -> None:
    """Forward requests from a thread, for loops that do not read the file themselves, such as self-play."""
    orders = Orders(run.control)

    def look() -> None:
        asked = orders.look()
        if asked.paused and not request.paused_by:
            request.pause(asked.by or "somebody")
        elif request.paused_by and not asked.paused:
            request.resume()
        if orders.asked_to_stop():
            request.stop()

    def watch() -> None:
        while not request.event.wait(_LOOK_SECONDS):
            look()

    look()  # a pause survives a restart
    threading.Thread(target=watch, name="control", daemon=True).start()


def somebody() -> str:
    """The name of the person at the command line, for the log."""
    try:
        return f"{getpass.getuser()} (command line)"
    except (OSError, KeyError, ImportError):  # the system has no name for this user
        return "the command line"


def _ask(run: RunDir, what: str, by: str, **changes: bool | str) -> None:
    if not run.root.is_dir():
        raise RunDirError(f"There is no run directory at {run.root}; no process there can be asked to {what}.")
    with FileLock(run.control_lock):
        asked = dataclasses.replace(read_control(run.control), **changes, by=by, at=time.time())  # type: ignore[arg-type]
        run.logs.mkdir(exist_ok=True)
        append_entry(run.log, f"Request: {what}", {"Asked By": by}, asked.at)  # before any process can react to it
        text = json.dumps(dataclasses.asdict(asked)).encode()
        write_atomically(run.control, lambda stream: stream.write(text))
