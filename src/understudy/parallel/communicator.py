"""WorkerCommunicator: all communication between the learner and its workers, in one segment of shared memory.

Commands are states, not messages ("be paused", "play generation 3"): none can be lost, repeated, or wait in a queue.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Literal

import numpy as np

from understudy.parallel.rollout import Rollout, RolloutShape
from understudy.parallel.shared import Block, Ring, Segment, WeightBoard

Command = Literal["stop", "pause", "resume", "reset", "report", "snapshot"]

_SHORTEST_NAP, _LONG_NAP, _LONGEST_NAP = 0.0002, 0.002, 0.05


def nap(since: float, last: float = 0.0) -> None:
    """Sleep a tenth of the time waited so far (monotonic), a fiftieth if that is over 2 ms, at most 50 ms.

    Short waits end at once, and long ones use little CPU. For the first half of the last wait's duration, sleep
    through: checking earlier takes CPU from the processes that do the work.
    """
    waited = time.monotonic() - since
    share = min(max(waited / 10, _SHORTEST_NAP), max(waited / 50, _LONG_NAP))
    time.sleep(min(max(last / 2 - waited, share), _LONGEST_NAP))


class WorkerField(IntEnum):
    """The numbers stored for each worker. The learner writes the first group, the worker the second."""

    WANTED = 0
    GENERATION = 1
    REPORT_ASKED = 2
    RELEASED = 3
    ADMITTED = 4  # the incarnation that may play, counted from 1
    SNAPSHOT_ASKED = 5

    PUT = 8
    HEARTBEAT = 9  # nanoseconds of the monotonic clock, which all processes of a machine share
    STATE = 10
    REPORT_GIVEN = 11
    DECISIONS = 12
    GAMES = 13
    WAITED = 14  # nanoseconds spent waiting for the learner
    VERSION = 15
    SNAPSHOT_GIVEN = 16


FIELDS = 24  # whole cache lines


class Wanted(IntEnum):
    """What a worker is told to do."""

    RUN = 0
    PAUSE = 1
    STOP = 2


class State(IntEnum):
    """What a worker is doing."""

    STARTING = 0
    PLAYING = 1
    WAITING = 2
    PAUSED = 3
    STOPPED = 4


@dataclass(frozen=True, slots=True)
class Plan:
    """The layout of the segment; with its name, all that a worker needs to find its part."""

    workers: int
    slots: int
    shape: RolloutShape
    weights: int

    def offsets(self) -> tuple[int, int, int, int]:
        """The offsets of the numbers, the weights and the rings, and the total size."""
        numbers = self.workers * 8 * FIELDS
        board = numbers + WeightBoard.nbytes(self.weights)
        return 0, numbers, board, board + self.workers * self.slots * self.shape.nbytes

    @property
    def nbytes(self) -> int:
        """The size of the segment."""
        return self.offsets()[-1]


class WorkerCommunicator:
    """The learner's end of the segment, or a worker's (`name` given)."""

    def __init__(self, plan: Plan, name: str | None = None) -> None:
        self.plan = plan
        self._segment = Segment(plan.nbytes, name)
        self.name = self._segment.name
        start, board, rings, end = plan.offsets()
        self.numbers = np.frombuffer(self._segment.view(start, board), np.int64).reshape(plan.workers, -1)
        self.board = WeightBoard(self._segment.view(board, rings - board))
        size = (end - rings) // plan.workers
        self.rings = [
            Ring(
                plan.shape,
                plan.slots,
                self._segment.view(rings + i * size, size),
                self.numbers[i, WorkerField.PUT : WorkerField.PUT + 1],
                self.numbers[i, WorkerField.RELEASED : WorkerField.RELEASED + 1],
            )
            for i in range(plan.workers)
        ]

    def send_model_weights(self, block: Block) -> int:
        """Make new weights visible to all workers; returns the number of workers."""
        return self.board.write(block)

    def collect_experiences(self, workers: list[int]) -> list[Rollout]:
        """The oldest rollout of each of these workers that has one; valid until `release_experiences`."""
        taken = (self.rings[worker].take() for worker in workers)
        return [rollout for rollout in taken if rollout is not None]

    def release_experiences(self) -> None:
        """Allow the workers to reuse the slots of all collected rollouts."""
        for ring in self.rings:
            ring.release()

    def send_control_command(self, command: Command, workers: list[int] | None = None, generation: int = 0) -> None:
        """Tell these workers (None: all) to stop, pause, resume, report, or save or restart (`reset`) matches."""
        rows = range(self.plan.workers) if workers is None else workers
        for row in rows:
            match command:
                case "stop":
                    self.numbers[row, WorkerField.WANTED] = Wanted.STOP
                case "pause":
                    self.numbers[row, WorkerField.WANTED] = Wanted.PAUSE
                case "resume":
                    self.numbers[row, WorkerField.WANTED] = Wanted.RUN
                case "reset":
                    self.numbers[row, WorkerField.GENERATION] = generation
                case "report":
                    self.numbers[row, WorkerField.REPORT_ASKED] += 1
                case "snapshot":
                    self.numbers[row, WorkerField.SNAPSHOT_ASKED] += 1

    def get_queue_info(self) -> list[dict[str, Any]]:
        """For each worker: waiting rollouts, free slots, seconds since its last heartbeat, and its counters."""
        now = time.monotonic_ns()
        return [
            {
                "worker": i,
                "state": State(int(row[WorkerField.STATE])).name.lower(),
                "waiting": ring.waiting,
                "slots": len(ring.slots),
                "silent_seconds": (now - int(row[WorkerField.HEARTBEAT])) / 1e9,
                "decisions": int(row[WorkerField.DECISIONS]),
                "games": int(row[WorkerField.GAMES]),
                "waited_seconds": int(row[WorkerField.WAITED]) / 1e9,
                "version": int(row[WorkerField.VERSION]),
            }
            for i, (row, ring) in enumerate(zip(self.numbers, self.rings, strict=True))
        ]

    def cleanup(self) -> None:
        """Close the memory; collected rollouts become invalid. The learner's end removes the segment."""
        for ring in self.rings:
            ring.close()
        self.board.close()
        del self.numbers, self.rings, self.board
        self._segment.close()
