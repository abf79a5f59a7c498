"""The worker process: plays into its ring until told to stop, and sends heartbeats.

It ends when the learner has ended. Ctrl-C is handled by the learner, which then stops its workers.
"""

from __future__ import annotations

import multiprocessing
import signal
import time
from dataclasses import dataclass
from multiprocessing.connection import Connection

from understudy.parallel.communicator import Plan, State, Wanted, WorkerCommunicator, WorkerField, nap
from understudy.parallel.player import PlayerSpec
from understudy.parallel.synchronizer import ModelSynchronizer
from understudy.settings import ParallelSettings

_PARENT_NS = 200_000_000
_MARK = 8  # bytes


@dataclass(frozen=True, slots=True)
class WorkerSpec:
    """The arguments of a worker process."""

    worker: int
    incarnation: int
    players: PlayerSpec
    plan: Plan
    segment: str
    settings: ParallelSettings
    saved: bytes | None
    """Matches to continue."""


def run_worker(spec: WorkerSpec, snapshots: Connection) -> None:
    """The main function of a worker process; it sends requested snapshots of its matches to `snapshots`."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        communicator = WorkerCommunicator(spec.plan, spec.segment)
    except FileNotFoundError:  # the learner has given up its workers or has ended
        return
    try:
        Worker(spec, communicator, snapshots).run()
    finally:
        communicator.cleanup()


def unmark(sent: bytes) -> tuple[int, bytes]:
    """Split a worker's message: the number of the request that it answers, and its snapshot, if there is one."""
    return int.from_bytes(sent[:_MARK]), sent[_MARK:]


class Worker:
    """One worker's loop on its part of the segment."""

    def __init__(self, spec: WorkerSpec, communicator: WorkerCommunicator, snapshots: Connection) -> None:
        self._communicator = communicator
        self._snapshots = snapshots
        self._numbers = communicator.numbers[spec.worker]
        self._ring = communicator.rings[spec.worker]
        self._most_ahead = min(spec.settings.max_staleness, len(self._ring.slots) - 1)
        self._synchronizer = ModelSynchronizer(spec.settings)
        self._incarnation = spec.incarnation
        self._weights = 0
        self._last_wait = 0.0  # seconds spent waiting for the learner
        self._parent_seen = 0
        self._beat(State.STARTING)
        self._player = spec.players.open(spec.worker, spec.incarnation, spec.saved)

    def run(self) -> None:
        """Play until told to stop or until the learner has ended."""
        player, numbers = self._player, self._numbers
        try:
            while self._wait_for_turn():
                self._refresh()
                rollout = self._ring.next_slot()
                if rollout is None or not player.play(rollout, self._go_on):
                    continue
                self._ring.put()
                numbers[WorkerField.DECISIONS] += rollout.decisions
                numbers[WorkerField.GAMES] += rollout["games"]
        finally:
            player.game.close()
            self._beat(State.STOPPED)
            del self._numbers, self._ring

    def _wait_for_turn(self) -> bool:
        """Wait until the learner admits this process and it is not too far ahead of the learner; False to end."""
        began = time.monotonic()
        while self._stays():
            self._give_snapshot()
            admitted = self._numbers[WorkerField.ADMITTED] == self._incarnation + 1
            if admitted and self._ring.waiting <= self._most_ahead:
                self._last_wait = time.monotonic() - began
                self._numbers[WorkerField.WAITED] += int(1e9 * self._last_wait)
                return True
            self._beat(State.WAITING)
            nap(began, self._last_wait)
        return False

    def _refresh(self) -> None:
        """Load the newest weights, and begin new matches if told to."""
        if self._communicator.board.shown != self._weights:
            self._weights = self._communicator.board.read(lambda block: self._synchronizer.restore(block, self._player))
            self._numbers[WorkerField.VERSION] = self._player.version
        if self._player.generation != self._numbers[WorkerField.GENERATION]:
            self._player.begin(int(self._numbers[WorkerField.GENERATION]))

    def _give_snapshot(self) -> None:
        """Save the matches if the learner requests it."""
        asked = int(self._numbers[WorkerField.SNAPSHOT_ASKED])
        if asked == self._numbers[WorkerField.SNAPSHOT_GIVEN]:
            return
        self._numbers[WorkerField.SNAPSHOT_GIVEN] = asked
        self._snapshots.send_bytes(asked.to_bytes(_MARK) + (self._player.snapshot() or b""))

    def _go_on(self) -> bool:
        """Checked before every decision; False drops the rollout, to stop, to save the matches or to begin new ones."""
        self._beat(State.PLAYING)
        numbers = self._numbers
        saves = numbers[WorkerField.SNAPSHOT_ASKED] != numbers[WorkerField.SNAPSHOT_GIVEN]
        return self._stays() and not saves and bool(self._player.generation == numbers[WorkerField.GENERATION])

    def _stays(self) -> bool:
        """Sleep while paused; False to end."""
        began = time.monotonic()
        while True:
            numbers = self._numbers
            if numbers[WorkerField.REPORT_GIVEN] != numbers[WorkerField.REPORT_ASKED]:
                numbers[WorkerField.REPORT_GIVEN] = numbers[WorkerField.REPORT_ASKED]
            now = time.monotonic_ns()
            if now - self._parent_seen > _PARENT_NS:
                parent = multiprocessing.parent_process()
                if parent is not None and not parent.is_alive():
                    return False  # every later check returns the same, so the worker ends
                self._parent_seen = now
            wanted = numbers[WorkerField.WANTED]  # read once: a pause ending between two reads would look like a stop
            if wanted != Wanted.PAUSE:
                return bool(wanted == Wanted.RUN)
            self._beat(State.PAUSED)
            nap(began)

    def _beat(self, state: State) -> None:
        self._numbers[WorkerField.STATE] = state
        self._numbers[WorkerField.HEARTBEAT] = time.monotonic_ns()
