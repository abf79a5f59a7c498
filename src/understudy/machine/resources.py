"""The load of the machine, which decides how many workers may run.

The number falls at once and rises slowly: a busy machine loses its workers at the next reading, and gets them back one
at a time after the load has stayed clearly below the thresholds for a while.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from understudy.files.plain_json import parsed_json
from understudy.machine import cgroup
from understudy.settings import ResourceSettings

try:
    import psutil
except ImportError:
    psutil = None
try:
    import pynvml
except ImportError:
    pynvml = None

_MARGIN = 10.0  # percent below a threshold at which work may resume
_CALM_SECONDS = 3.0  # seconds of lower load for each worker that comes back
_STEP_TIME_SECONDS = 5.0  # after which the game's own measurement is outdated


class Hold(Enum):
    """The reason why work has to wait."""

    MEASUREMENT = "the first measurement of the load"
    GAME = "the game"
    CPU = "CPU"
    MEMORY = "memory"
    GPU_MEMORY = "GPU memory"


@dataclass(frozen=True, slots=True)
class Reading:
    """One measurement of the machine, in percent; None if it cannot be measured. CPU is what *others* use."""

    cpu: float | None = None
    memory: float | None = None
    gpu_memory: float | None = None


class Sensor:
    """Measures the machine, or the container of this process."""

    def __init__(self) -> None:
        self._before: tuple[float, float, float] | None = None
        self._ours = 0.0
        self._mine: dict[int, float] = {}
        self.read([])  # a share of time needs two readings

    def read(self, pids: list[int]) -> Reading:
        """The current load. Usage by this process and `pids` is excluded, because it is no reason to stop them."""
        if psutil is None:
            return Reading()
        return Reading(self._cpu_of_others([os.getpid(), *pids]), _memory_percent(), _gpu_memory_percent())

    def _cpu_of_others(self, pids: list[int]) -> float | None:
        """Percent of the available CPU time that others used since the last reading; None for the first."""
        used, available = _cpu_used_and_available()
        mine = {pid: seconds for pid in pids if (seconds := _cpu_seconds(pid)) is not None}
        self._ours += sum(seconds - self._mine.get(pid, 0.0) for pid, seconds in mine.items())
        self._mine = mine
        before, self._before = self._before, (used, available, self._ours)
        if before is None or available <= before[1]:
            return None
        others = (used - before[0]) - (self._ours - before[2])
        return min(max(100.0 * others / (available - before[1]), 0.0), 100.0)


class Governor:
    """Turns readings into a number of workers, with a reason."""

    def __init__(self, settings: ResourceSettings, most: int) -> None:
        self._settings = settings
        self._most = most
        self._calm_since: float | None = None
        self._measured = False
        self.allowed = 0
        self.waiting_for: Hold | None = Hold.MEASUREMENT

    def decide(self, reading: Reading, now: float, step_seconds: float | None = None) -> int:
        """How many workers may run, given the load and the duration of the game's last step."""
        if not self._measured:
            self._measured, self.allowed = True, self._most
        over = self._reason(reading, step_seconds, margin=0.0)
        if over is not None:
            self.allowed, self.waiting_for, self._calm_since = 0, over, None
            return 0
        if self.allowed == self._most:
            self.waiting_for = None
            return self.allowed
        if self._reason(reading, step_seconds, margin=_MARGIN) is not None:
            self._calm_since = None
            return self.allowed
        if self._calm_since is None:
            self._calm_since = now
        elif now - self._calm_since >= _CALM_SECONDS:
            self.allowed, self._calm_since, self.waiting_for = self.allowed + 1, now, None
        return self.allowed

    def _reason(self, reading: Reading, step_seconds: float | None, margin: float) -> Hold | None:
        """The threshold that is exceeded, or None. With a margin: the threshold that is still too close to resume."""
        settings = self._settings
        budget = settings.step_budget * (1 - margin / 100)
        if budget and step_seconds is not None and step_seconds > budget:
            return Hold.GAME
        for hold, value, threshold in (
            (Hold.CPU, reading.cpu, settings.cpu_threshold),
            (Hold.MEMORY, reading.memory, settings.memory_threshold),
            (Hold.GPU_MEMORY, reading.gpu_memory, settings.gpu_memory_threshold),
        ):
            if value is not None and threshold < 100 and value >= threshold - margin:
                return hold
        return None


def memory_of(pid: int | None) -> int | None:
    """The memory of a process in bytes; None if it cannot be measured."""
    if psutil is None or pid is None:
        return None
    try:
        return int(psutil.Process(pid).memory_info().rss)
    except psutil.Error:
        return None


def as_dict(reading: Reading) -> dict[str, Any]:
    """Plain values, for statistics."""
    return {"cpu": reading.cpu, "memory": reading.memory, "gpu_memory": reading.gpu_memory}


def read_step_time(path: Path) -> float | None:
    """The current duration of a step of the game; None if there is no recent measurement."""
    try:
        note = parsed_json(path.read_bytes())
        seconds, at = float(note["seconds"]), float(note["at"])
    except (OSError, ValueError, TypeError, KeyError):
        return None
    return seconds if abs(time.time() - at) < _STEP_TIME_SECONDS else None


def processor_seconds(pids: Sequence[int]) -> float | None:
    """The CPU time of this process and of these; None if psutil is not installed."""
    if psutil is None:
        return None
    return time.process_time() + sum(_cpu_seconds(pid) or 0.0 for pid in pids)


def _cpu_seconds(pid: int) -> float | None:
    try:
        times = psutil.Process(pid).cpu_times()
    except psutil.Error:
        return None
    return float(times.user + times.system)


def _cpu_used_and_available() -> tuple[float, float]:
    """CPU time used and available since some moment, in seconds: of the container if it is limited, or the machine."""
    if (share := cgroup.cpu_seconds()) is not None:
        return share
    times = psutil.cpu_times()
    total = sum(times) - getattr(times, "guest", 0.0) - getattr(times, "guest_nice", 0.0)  # already included in user
    return total - times.idle - getattr(times, "iowait", 0.0), total


def _memory_percent() -> float:
    """Of the container's limit if that is lower than the machine's memory."""
    memory = psutil.virtual_memory()
    share = cgroup.memory_bytes()
    if share is not None and share.available < memory.total:
        return 100.0 * share.used / share.available
    return float(memory.percent)


def _gpu_memory_percent() -> float | None:
    """Of the fullest GPU."""
    if pynvml is None:
        return None
    try:
        pynvml.nvmlInit()
        handles = [pynvml.nvmlDeviceGetHandleByIndex(i) for i in range(pynvml.nvmlDeviceGetCount())]
        memories = [pynvml.nvmlDeviceGetMemoryInfo(handle) for handle in handles]
    except pynvml.NVMLError:
        return None
    return max((100.0 * memory.used / memory.total for memory in memories), default=None)
