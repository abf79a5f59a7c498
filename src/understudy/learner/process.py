"""BackgroundParallelLearner: starts, watches and ends the learner process from inside a bot.

The learner is a process of its own, at low priority and with one BLAS thread, because a thread in the bot's process
delays the bot's decisions. It notices the death of its parent by the end of its standard input.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Literal

import understudy
from understudy.errors import LearnerBusy, LearnerError, LearnerFailed, SettingsError
from understudy.games.spec import find_work, resolve
from understudy.learner.reports import say
from understudy.learner.statistics import Statistics
from understudy.machine.priority import ONE_BLAS_THREAD
from understudy.rundir import DEFAULT_RUN_DIR, RunDir
from understudy.settings import LearnerSettings, Settings, as_flags, learner_sections
from understudy.status import read_status

_START_SECONDS = 60.0


class BackgroundParallelLearner:
    """Learns from the games in a run directory, in the background, until `stop` or the end of this process.

    Any further setting of the learner (batch_games, poll_seconds, report_seconds, …) is taken by its name. If another
    learner holds the run, this one waits and takes over after it (`if_busy="exit"`: start() raises LearnerBusy).
    """

    def __init__(
        self,
        *,
        run_dir: str | os.PathLike[str] = DEFAULT_RUN_DIR,
        max_workers: int | None = None,
        enable_replay_analysis: bool = False,
        enable_model_training: bool = True,
        verbose: bool = True,
        max_file_age: float | None = None,
        if_busy: Literal["wait", "exit"] = "wait",
        outlive_parent: bool = False,
        settings: Settings | None = None,
        **more: Any,
    ) -> None:
        self._work = [name for name, wanted in {"replays": enable_replay_analysis}.items() if wanted]
        for name in self._work:
            resolve(find_work(name).check)()
        base = settings or Settings()
        known = {f.name for f in dataclasses.fields(LearnerSettings)}
        if unknown := more.keys() - known:
            raise SettingsError(
                f"{', '.join(sorted(unknown))}: no such setting; the learner has {', '.join(sorted(known))}."
            )
        given = {"verbose": verbose, **more}
        if max_file_age is not None:  # else the settings'
            given["max_file_age"] = float(max_file_age)
        if max_workers is not None:  # else the settings', which NUM_INSTANCES fills
            given["max_workers"] = max_workers
        self.settings = dataclasses.replace(base, learner=dataclasses.replace(base.learner, **given))
        self.run_dir = RunDir.at(run_dir)
        self._train = enable_model_training
        self._if_busy = if_busy
        self._outlive_parent = outlive_parent
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def running(self) -> bool:
        """Whether the learner process is alive."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> bool:
        """Start the learner process; True once it learns, False if it waits for another learner to end."""
        if self.running:
            return True
        self.run_dir.create()
        self._process = subprocess.Popen(
            self._command(),
            stdin=subprocess.DEVNULL if self._outlive_parent else subprocess.PIPE,
            bufsize=0,  # a command is sent when it is written
            env={**os.environ, **ONE_BLAS_THREAD, "PYTHONPATH": _with_this_package(os.environ.get("PYTHONPATH"))},
        )
        try:
            return self._wait_until_ready(self._process)
        except LearnerError:
            self.stop()
            raise

    def stop(self, *, drain: bool = False, timeout: float = 60.0) -> dict[str, Any]:
        """Let the learner finish what is under way (`drain`: all that waits), and return its statistics."""
        process, self._process = self._process, None
        if process is None:
            return self.get_stats()
        if process.stdin is not None:
            with contextlib.suppress(OSError):  # it has ended already
                process.stdin.write(b"drain\n" if drain else b"stop\n")
            process.stdin.close()
        else:
            process.terminate()
        try:
            process.wait(timeout)
        except subprocess.TimeoutExpired:
            say(f"The learner did not end within {timeout:g} s and is killed. The next one learns what is left.")
            process.kill()
            process.wait()
        return self.get_stats()

    def get_stats(self) -> dict[str, Any]:
        """The learner's figures, as it last wrote them (at most a second ago while it runs)."""
        status = read_status(self.run_dir.status)
        stats = Statistics(max_workers=self.settings.learner.max_workers, state="stopped").as_dict()
        stats.update({name: status[name] for name in stats if name in status})
        return stats | {"running": self.running}

    def __enter__(self) -> BackgroundParallelLearner:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _command(self) -> list[str]:
        command = [sys.executable, "-m", "understudy", "learn", str(self.run_dir.root)]
        command += [] if self._outlive_parent else ["--parent", str(os.getpid())]
        command += ["--wait"] if self._if_busy == "wait" else []
        command += [] if self._train else ["--no-training"]
        command += [f"--{name}" for name in self._work]
        return command + as_flags(self.settings, learner_sections())

    def _wait_until_ready(self, process: subprocess.Popen[bytes]) -> bool:
        before = read_status(self.run_dir.status)
        deadline = time.monotonic() + _START_SECONDS
        while time.monotonic() < deadline:
            code = process.poll()
            if code == LearnerBusy.exit_code:
                raise LearnerBusy(f"Another learner holds {self.run_dir.root}; its message is above.")
            if code is not None:
                raise LearnerFailed(f"The learner process ended at once with code {code}; its message is above.")
            status = read_status(self.run_dir.status)
            if status.get("pid") == process.pid:
                return True
            if self._if_busy == "wait" and status.get("heartbeat") not in (None, before.get("heartbeat")):
                return False  # another learner's heart beats: ours waits for it
            time.sleep(0.01)
        raise LearnerFailed(f"The learner process did not report within {_START_SECONDS:g} s.")


def _with_this_package(path: str | None) -> str:
    """PYTHONPATH with the folder of this package first: inside a bot's zip it is not installed."""
    here = str(Path(understudy.__file__).resolve().parent.parent)
    return here if not path else os.pathsep.join([here, path])
