"""Processes that are killed and started again, and the storm that does it."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CHILD = Path(__file__).with_name("child.py")
_THREADS = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def environment() -> dict[str, str]:
    """The environment of every process that is started here: this source tree, one BLAS thread."""
    paths = [str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, **_THREADS, "PYTHONPATH": os.pathsep.join(filter(None, paths))}


class Process:
    """A command that can be started, killed and started again. All that it ever prints goes into one file."""

    def __init__(self, name: str, folder: Path, command: Sequence[str]) -> None:
        self.name = name
        self.output = folder / f"{name}.out"
        self.kills = 0
        self.ended_by_itself: list[int] = []
        self._command = [sys.executable, *command]
        self._popen: subprocess.Popen[bytes] | None = None

    @property
    def running(self) -> bool:
        """Whether it runs; an end that nobody here asked for is noted."""
        if self._popen is None:
            return False
        code = self._popen.poll()
        if code is not None:
            self.ended_by_itself.append(code)
            self._popen = None
        return code is None

    def start(self) -> None:
        """Start it, unless it runs."""
        if not self.running:
            with self.output.open("ab") as output:
                self._popen = subprocess.Popen(
                    self._command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=environment()
                )

    def kill(self) -> None:
        """SIGKILL, now."""
        if self.running and self._popen is not None:
            self._popen.kill()
            self._popen.wait()
            self._popen = None
            self.kills += 1

    def stop(self, timeout: float = 60.0) -> int | None:
        """Ask it to end, and return its exit code; None, and it is killed, if it does not."""
        if not self.running or self._popen is None:
            return None
        popen, self._popen = self._popen, None
        popen.send_signal(signal.SIGTERM)
        try:
            return popen.wait(timeout)
        except subprocess.TimeoutExpired:
            popen.kill()
            popen.wait()
            return None

    def printed(self) -> str:
        """Everything it has printed so far."""
        return self.output.read_text(errors="replace") if self.output.exists() else ""


def end_all(processes: Iterable[Process]) -> None:
    """End whatever still runs."""
    for process in processes:
        process.kill()


def wait_until(holds: Callable[[], bool], timeout: float) -> bool:
    """Wait until something holds; False if it did not within `timeout` seconds."""
    deadline = time.monotonic() + timeout
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def understudy(*arguments: str, folder: Path, timeout: float = 600.0) -> tuple[int, str, int]:
    """Run an `understudy` command to its end; return its exit code, what it printed, and its peak memory in bytes."""
    command = [sys.executable, "-m", "understudy", *arguments]
    output = folder / "command.out"
    with output.open("wb") as stream:
        popen = subprocess.Popen(command, stdout=stream, stderr=stream, env=environment())
        deadline = time.monotonic() + timeout
        while True:
            pid, status, usage = os.wait4(popen.pid, os.WNOHANG)
            if pid:
                break
            if time.monotonic() > deadline:
                popen.kill()
            time.sleep(0.01)
    popen.returncode = os.waitstatus_to_exitcode(status)
    unit = 1 if sys.platform == "darwin" else 1024
    return popen.returncode, output.read_text(errors="replace"), usage.ru_maxrss * unit


class _Sentence:
    """When a process is to die: after a lifetime, or, past it, at the next change of one of the run's folders.

    Many a kill falls into the start of a process; half of the others are aimed at the moment when files move.
    """

    def __init__(self, rng: random.Random, patience: float, folders: Sequence[Path]) -> None:
        kind = rng.random()
        lifetime = rng.uniform(0, 0.1) if kind < 0.1 else rng.uniform(0.1, 0.6) if kind < 0.3 else rng.uniform(0.6, 2)
        self._at = time.monotonic() + lifetime * patience
        self._latest = self._at + 1.0
        self._watched = rng.choice(folders) if rng.random() < 0.5 else None
        self._delay = rng.choice((0.0, 0.0, rng.uniform(0, 0.004)))
        self._seen: int | None = None

    def is_due(self) -> bool:
        """Whether the time has come; looks at the watched folder only once the lifetime is over."""
        now = time.monotonic()
        if now < self._at:
            return False
        if self._watched is None or now > self._latest:
            return True
        changed = self._watched.stat().st_mtime_ns if self._watched.exists() else 0
        if self._seen is None:
            self._seen = changed
        if changed == self._seen:
            return False
        time.sleep(self._delay)
        return True


def storm(
    victims: Sequence[Process],
    kills: int,
    rng: random.Random,
    folders: Sequence[Path],
    deadline: float,
    patience: Callable[[Process], float] = lambda _: 1.0,
) -> None:
    """Kill and restart the victims at random until there were enough kills, or the deadline (monotonic) has come."""
    sentences: dict[str, _Sentence] = {}
    done = 0
    while done < kills and time.monotonic() < deadline:
        for process in victims:
            if not process.running or process.name not in sentences:
                process.start()
                sentences[process.name] = _Sentence(rng, patience(process), folders)
            elif sentences[process.name].is_due():
                process.kill()
                done += 1
                if done % 25 == 0:
                    print(f"  {done} kills", flush=True)
        time.sleep(0.0005)
