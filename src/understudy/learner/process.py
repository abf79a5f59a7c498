"""BackgroundParallelLearner: starts, watches and ends the learner process from inside a bot.

The learner is a separate process, at low priority and with one BLAS thread, because a thread in the bot's process
delays the bot's decisions. It notices the death of its parent by the end of its standard input.
"""

from __future__ import annotations

import contextlib
import dataclasses
import difflib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from understudy.errors import LearnerBusy, LearnerError, LearnerFailed, SettingsError
from understudy.games.spec import find_work, resolve
from understudy.learner.statistics import Statistics
from understudy.machine.priority import ONE_BLAS_THREAD
from understudy.machine.signals import apart
from understudy.run.log import say
from understudy.run.state import Activity, RunState
from understudy.run.status import read_status
from understudy.rundir import DEFAULT_RUN_DIR, RunDir
from understudy.settings import LearnerSettings, Settings, as_flags, learner_sections, sections

_START_SECONDS = 60.0
_MOST_DEATHS = 6  # in a row
_FIRST_PAUSE = 1.0  # seconds before the first restart; doubled each time
_LONG_LIFE_SECONDS = 600.0  # a process that ran for this long does not count as a failed start
_ASKED_TO_END = (0, 130, LearnerBusy.exit_code, -signal.SIGINT, -signal.SIGTERM)


class BackgroundParallelLearner:
    """Learns from the games in a run directory, in the background, until `stop` or the end of this process.

    Any other setting of the learner (batch_games, poll_seconds, cpu_threshold …) is accepted by name. Arguments
    override `settings`, and both override understudy.toml. If another learner holds the run, this one waits and takes
    over after it (`if_busy="exit"`: start() raises LearnerBusy). A learner process that dies is restarted.
    """

    def __init__(
        self,
        *,
        run_dir: str | os.PathLike[str] = DEFAULT_RUN_DIR,
        max_workers: int | None = None,
        enable_replay_analysis: bool = False,
        enable_model_training: bool = True,
        verbose: bool | None = None,
        max_file_age: float | None = None,
        if_busy: Literal["wait", "exit"] = "wait",
        outlive_parent: bool = False,
        settings: Settings | None = None,
        **more: Any,
    ) -> None:
        self._work = [name for name, wanted in {"replays": enable_replay_analysis}.items() if wanted]
        for name in self._work:
            resolve(find_work(name).check)()
        if settings is None and verbose is None:
            verbose = True
        if if_busy not in ("wait", "exit"):
            raise SettingsError(f"if_busy is {if_busy!r}; it must be 'wait' or 'exit'.")
        if not isinstance(settings, Settings | None):
            raise SettingsError(f"settings is {settings!r:.80}; it must be a Settings, which load_settings() returns.")
        named = {"verbose": verbose, "max_file_age": max_file_age, "max_workers": max_workers}
        given = more | {name: value for name, value in named.items() if value is not None}
        self.settings, self._decided = _with_arguments(settings, given)
        self.run_dir = RunDir.at(run_dir)
        self._train = enable_model_training
        self._if_busy = if_busy
        self._outlive_parent = outlive_parent
        self._process: subprocess.Popen[bytes] | None = None
        self._stopping = threading.Event()
        self._trouble: str | None = None
        self._restarts = 0

    @property
    def running(self) -> bool:
        """Whether the learner process is alive."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> bool:
        """Start the learner process; True once it learns, False if it waits for another learner to end."""
        if self.running:
            return True
        self.run_dir.create()
        self._stopping = threading.Event()
        self._trouble = None
        self._process = self._started()
        try:
            learns = self._wait_until_ready(self._process)
        except LearnerError:
            self.stop()
            raise
        threading.Thread(target=self._watch, args=(self._process, self._stopping), daemon=True).start()
        return learns

    def stop(self, *, drain: bool = False, timeout: float = 60.0) -> dict[str, Any]:
        """Let the learner finish its work in progress (`drain`: everything that waits), and return its statistics."""
        self._stopping.set()
        process, self._process = self._process, None
        if process is None:
            return self.get_stats()
        if process.stdin is not None:
            with contextlib.suppress(OSError, ValueError):  # it has already ended
                process.stdin.write(b"drain\n" if drain else b"stop\n")
            process.stdin.close()
        else:
            process.terminate()
        try:
            process.wait(timeout)
        except subprocess.TimeoutExpired:
            say(f"The learner did not end within {timeout:g} s and is killed. The next one learns the rest.")
            self._trouble = f"The learner did not end within {timeout:g} s and was killed"
            process.kill()
            process.wait()
        return self.get_stats()

    def get_stats(self) -> dict[str, Any]:
        """The learner's statistics, as it last wrote them (at most a second ago while it runs)."""
        status = read_status(self.run_dir.status)
        stats = Statistics(max_workers=self.settings.learner.max_workers, state=RunState(Activity.STOPPED)).as_dict()
        stats.update({name: status[name] for name in stats if name in status})
        if self._trouble is not None:  # status.json has what the process wrote before it died
            stats |= {"state": "failed" if self._stopping.is_set() else "restarting", "last_error": self._trouble}
        return stats | {"running": self.running, "restarts": self._restarts}

    def __enter__(self) -> BackgroundParallelLearner:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Learn from all waiting games, then stop; after an exception, stop at once."""
        self.stop(drain=kind is None)

    def _started(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            self._command(),
            stdin=subprocess.DEVNULL if self._outlive_parent else subprocess.PIPE,
            bufsize=0,  # commands are sent as soon as they are written
            env={**os.environ, **ONE_BLAS_THREAD, "PYTHONPATH": _with_this_package(os.environ.get("PYTHONPATH"))},
            **apart(),
        )

    def _watch(self, process: subprocess.Popen[bytes], stopping: threading.Event) -> None:
        """Restart the process when it dies, from a thread that otherwise sleeps. Give up when it keeps dying."""
        deaths = 0
        while True:
            started = time.monotonic()
            code = process.wait()
            if stopping.is_set() or code in _ASKED_TO_END:
                return
            if process.stdin is not None:
                process.stdin.close()
            deaths = 1 if time.monotonic() - started > _LONG_LIFE_SECONDS else deaths + 1
            self._trouble = f"The learner process died ({_how_it_ended(code)})"
            if deaths >= _MOST_DEATHS:
                stopping.set()
                say(
                    f"{self._trouble} {deaths} times in a row and is not restarted. Games wait in "
                    f"{self.run_dir.buffer}. See {self.run_dir.log}, or run: understudy doctor {self.run_dir.root}"
                )
                return
            pause = _FIRST_PAUSE * 2 ** (deaths - 1)
            say(f"{self._trouble}. It restarts in {pause:g} s; no game is lost.")
            if stopping.wait(pause):
                return
            process = self._started()
            self._process = process
            self._restarts += 1
            if stopping.is_set():  # stop() was called meanwhile and may not know this process
                process.terminate()
                self._process = None
                return

    def _command(self) -> list[str]:
        command = [sys.executable, "-m", "understudy", "learn", str(self.run_dir.root)]
        command += [] if self._outlive_parent else ["--parent", str(os.getpid())]
        command += ["--wait"] if self._if_busy == "wait" else []
        command += [] if self._train else ["--no-training"]
        command += [f"--{name}" for name in self._work]
        return command + as_flags(self.settings, learner_sections(), self._decided)

    def _wait_until_ready(self, process: subprocess.Popen[bytes]) -> bool:
        before = read_status(self.run_dir.status)
        deadline = time.monotonic() + _START_SECONDS
        while time.monotonic() < deadline:
            code = process.poll()
            if code == LearnerBusy.exit_code:
                raise LearnerBusy(f"Another learner holds {self.run_dir.root}; see its message above.")
            if code is not None:
                raise LearnerFailed(f"The learner process ended at once with code {code}; its message is above.")
            status = read_status(self.run_dir.status)
            if status.get("pid") == process.pid:
                return True
            if self._if_busy == "wait" and status.get("heartbeat") not in (None, before.get("heartbeat")):
                return False  # another learner is alive: ours waits for it
            time.sleep(0.01)
        raise LearnerFailed(f"The learner process did not report within {_START_SECONDS:g} s.")


def _with_arguments(settings: Settings | None, given: Mapping[str, Any]) -> tuple[Settings, set[str]]:
    """The settings with the arguments in their sections, and the names (`section.name`) that no file may change.

    Training settings that were not given keep the model's own values.
    """
    result = settings or Settings()
    kinds = sections()
    own = [f.name for f in dataclasses.fields(Settings) if f.name in learner_sections()]
    homes = {f.name: section for section in reversed(own) for f in dataclasses.fields(kinds[section])}
    homes |= {f.name: "learner" for f in dataclasses.fields(LearnerSettings)}
    if unknown := sorted(given.keys() - homes):
        near = difflib.get_close_matches(unknown[0], homes, 1)
        hint = f" Did you mean {near[0]}?" if near else f" The learner has {', '.join(sorted(homes))}."
        raise SettingsError(f"{', '.join(unknown)}: no such setting.{hint}")
    for name, value in given.items():
        changed = dataclasses.replace(getattr(result, homes[name]), **{name: value})
        result = dataclasses.replace(result, **{homes[name]: changed})
    decided = {f"{homes[name]}.{name}" for name in given}
    if settings is not None:
        rest = [section for section in learner_sections() if section != "training"]
        decided |= {f"{section}.{f.name}" for section in rest for f in dataclasses.fields(kinds[section])}
    return result, decided


def _how_it_ended(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"killed by signal {-code}"


def _with_this_package(path: str | None) -> str:
    """PYTHONPATH with this package's folder first, because inside a bot's zip it is not installed."""
    here = str(Path(__file__).resolve().parents[2])
    return here if not path else os.pathsep.join([here, path])
