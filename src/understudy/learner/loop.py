"""The learner's loop, as it runs in a separate process: games in, model versions out.

    salvage → take a batch → train → publish with the games it consumed → archive → report, and again

Worker processes beside it evaluate versions and do the background work of games. A pass may be killed at any point; on
the next start, the ledger says where to continue.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from understudy.errors import ModelError, RunDirError, RunReplaced
from understudy.experience.spool import Spool
from understudy.games.spec import all_work, resolve
from understudy.jobs.dispatch import Dispatcher
from understudy.jobs.queue import Work
from understudy.learner.arrivals import changed_at
from understudy.learner.evaluation import EvaluationJobs
from understudy.learner.gate_games import GateGames
from understudy.learner.gate_messages import GateMessages
from understudy.learner.log import LearnerLog
from understudy.learner.model_report import ModelReport
from understudy.learner.schedule import Schedule
from understudy.learner.statistics import Statistics
from understudy.learner.status_board import NO_MEMORY, StatusBoard
from understudy.learner.training import Training
from understudy.ledger.jobs import JobLedger
from understudy.machine.resources import Hold
from understudy.models.gate import Gate
from understudy.models.store import ModelStore
from understudy.run.control import Orders
from understudy.run.heartbeat import heartbeat
from understudy.run.lock import StopRequest
from understudy.run.log import say
from understudy.run.state import Activity
from understudy.rundir import RunDir
from understudy.settings import LearnerSettings, Settings

_WATCH_SECONDS = 0.02  # checking the buffer's modification time takes a microsecond
_LOOK_SECONDS = 0.1  # between two checks of workers and game during a batch
_PAUSE_SECONDS = 0.2
_BACKLOG_BATCHES = 4
_FINISH_SECONDS = 1.0  # at a time, for archiving a surplus or salvaging games
_ROOM_SECONDS = 5.0  # between two checks of the buffer's size
_ROOM_SHARE = 50  # a check of a very full buffer may take at most a fiftieth of the time
_HANGS_SECONDS = 30.0  # without a turn of the loop, after a request to stop
_DRAIN_PATIENCE = 10  # times as long if nobody waits for the end: a very busy machine may be this slow
_TROUBLE_SECONDS = 5.0  # between two tries when the disk is full or missing


class LearnerLoop:
    """Learns from the games of a run until asked to stop. The caller holds the run's lock."""

    def __init__(
        self,
        run: RunDir,
        settings: Settings,
        training: Mapping[str, Any] | None = None,
        *,
        train: bool = True,
        work: Sequence[str] = (),
    ) -> None:
        self._run = run
        self._settings = settings.learner
        self._storage = settings.storage
        self._train = train
        self._log = LearnerLog(run, verbose=settings.learner.verbose)
        self._ledger = JobLedger(run.ledger)
        self._store = ModelStore(run.model, run.ledger, keep=settings.storage.model_versions)
        self._spool = Spool(run, self._ledger, settings.storage, _backlog(settings.learner))
        self._orders = Orders(run.control)
        self._training = Training(self._store, self._spool, settings.learner, training)
        self._model_report = ModelReport(run.root, self._store, self._log.entry)
        self._works = self._start_work(work, settings)
        evaluating = train and settings.evaluation.function
        gate_games = GateGames(settings.evaluation, self._store, self._ledger, Gate(run.ledger, self._store))
        evaluation = EvaluationJobs(settings.evaluation, self._store, self._ledger, gate_games) if evaluating else None
        works: list[Work] = [*([evaluation] if evaluation else []), *self._works.values()]
        self._jobs = Dispatcher(run, settings, works, store=self._ledger)
        self._schedule = Schedule(settings, self._jobs, lambda: self._training.worthwhile_games)
        self._board = StatusBoard(
            run,
            settings.learner,
            self._ledger,
            self._log,
            training=self._training,
            schedule=self._schedule,
            jobs=self._jobs,
            works=self._works,
            evaluation=evaluation,
            gate=GateMessages(run, self._store, settings.gate, self._log.say, self._log.entry),
        )
        self._to_recover = True  # the first pass repairs what was left behind
        self._next_look = 0.0
        self._next_room_check = 0.0

    @property
    def stats(self) -> Statistics:
        """The statistics."""
        return self._board.stats

    def run(self, request: StopRequest) -> bool:
        """Learn until asked to stop; work in progress is finished. False if an external problem remained at the end."""
        self._board.begin()
        self._log.say(f"Watching {self._run.buffer}")
        try:
            with heartbeat(partial(self._beat, request)):
                try:
                    self._learn(request)
                finally:
                    self._close_jobs()
        finally:
            self._board.end()
            self._ledger.close()
            self._log.entry("Learner Stopped", {"Total Processed": f"{self.stats.files_processed} files"})
        stats = self.stats
        self._log.say(f"Stopped. {stats.files_processed} games learned from in all, {stats.buffer_files} waiting.")
        for name, work in self._works.items():
            waiting = stats.jobs[f"{work.kind} waiting"]
            self._log.say(f"{all_work()[name].title}: {work.done} done in all, {waiting} waiting.")
        return self._board.trouble is None and stats.model_trouble is None and not self._training.short_of_memory

    def _beat(self, request: StopRequest) -> None:
        """Called once a second in another thread. A loop that hangs cannot end by itself; killing it loses nothing."""
        self._board.beat()
        patience = _HANGS_SECONDS * (_DRAIN_PATIENCE if request.drain else 1)
        if request.event.is_set() and self._board.loop_seconds > patience:
            self._log.say(f"The learner has hung for {self._board.loop_seconds:.0f} s and is ended. Nothing is lost.")
            os._exit(1)

    def _learn(self, request: StopRequest) -> None:
        self._log.entry("Learner Started", {"Watching": str(self._run.buffer), "Process": str(os.getpid())})
        while not request.event.is_set():
            seen = changed_at(self._run.buffer)
            if self._obey(request):
                self._stand_still(request)
            elif not self._pass(request):
                self._wait(request, seen)
        while request.drain and (self._pass(request, 1) or self._something_left()):
            pass

    def _something_left(self) -> bool:
        """Whether a batch or a job still waits to run, and there is no problem."""
        return (self._schedule.ready or self._jobs.busy) and self._board.trouble is None

    def _pass(self, request: StopRequest, at_least: int | None = None) -> bool:
        """One pass of the loop, with `at_least` games or else a whole batch; False if there was nothing to do."""
        self._board.turned()
        try:
            self._ledger.require_in_place()
            if self._to_recover:
                self._recover()
            self._keep_bounds()
            salvaged = self._spool.salvage(_FINISH_SECONDS)
            if self._spool.waiting < (at_least or self._games_needed()):  # otherwise the last scan found enough
                self._spool.scan()
            # The size of a batch is known only once the model is loaded.
            can_train = self._train and self._has_model()
            self._schedule.ready = can_train and self._spool.waiting >= (at_least or self._games_needed())
            hurry = request.event.is_set()
            reserved = self._schedule.reserved
            worked = self._jobs.turn(_WATCH_SECONDS if hurry else 0.0, reserved=reserved, hurry=hurry)
            if self._schedule.may_begin(hurry=hurry):
                worked |= self._take_and_learn(request)
            self._board.collect(self._spool)
            if self.stats.state.activity not in (Activity.RUNNING, Activity.TRAINING):
                self._spool.clock.count_from(time.monotonic())  # games do not age while the learner has to wait
            return worked or not salvaged
        except RunReplaced as error:
            say(f"The learner stops: {error} Start it again.")
            self._board.trouble = f"{error}"
            request.stop()
        except (OSError, RunDirError) as error:
            self._trouble(request, f"{error}")
        except ModelError as error:
            self._trouble(request, f"The model cannot be used. {error}")
        except MemoryError:
            self._trouble(request, f"{NO_MEMORY}.")
        return False

    def _take_and_learn(self, request: StopRequest) -> bool:
        """Train on the next batch; False if none of the waiting games can be learned from, and all were looked at."""
        batch = self._training.next_batch()
        if batch:
            with self._schedule.batch():
                self._board.collect_jobs()
                self._log.say(f"Training on {len(batch)} game files...")
                self._training.learn(
                    batch,
                    interrupted=partial(self._between_steps, request),
                    published=self._board.report_batch,
                    refused=self._board.count_error,
                )
        self._schedule.ready = False
        self._judge_model()
        return bool(batch) or self._spool.unfinished

    def _between_steps(self, request: StopRequest) -> bool:
        """Called between two steps of a batch, to serve workers and yield to the game. True if the batch must end."""
        if time.monotonic() >= self._next_look:
            self._serve_jobs(0.0)
            while self._jobs.hold is Hold.GAME and not request.event.is_set():
                self._spool.clock.count_from(time.monotonic())
                self._serve_jobs(_PAUSE_SECONDS)
            self._next_look = time.monotonic() + _LOOK_SECONDS
        return request.overdue

    def _serve_jobs(self, timeout: float) -> None:
        self._board.turned()
        self._jobs.turn(timeout, reserved=self._schedule.reserved)
        self._board.collect_jobs()

    def _wait(self, request: StopRequest, seen: float) -> None:
        """Wait for a game, the next scheduled look, or the end."""
        deadline = time.monotonic() + self._settings.poll_seconds
        while not request.event.is_set() and time.monotonic() < deadline:
            try:
                self._serve_jobs(_WATCH_SECONDS)
            except (OSError, RunDirError) as error:
                self._trouble(request, f"{error}")
            if self._obey(request) or self._schedule.may_begin() or changed_at(self._run.buffer) != seen:
                return

    def _stand_still(self, request: StopRequest) -> None:
        """During a pause, start nothing; outcomes of workers are recorded, and games do not age."""
        self._board.turned()
        self._spool.clock.count_from(time.monotonic())
        try:
            self._keep_bounds()
            self._jobs.collect(_PAUSE_SECONDS)
            self._board.collect_jobs()
        except (OSError, RunDirError) as error:
            self._trouble(request, f"{error}")

    def _obey(self, request: StopRequest) -> bool:
        """Execute requests from `control.json`; True while a pause is requested."""
        asked = self._orders.look()
        if self._orders.asked_to_stop():
            self._log.say(f"Asked to stop by {asked.by}.")
            self._log.entry("Stopping by Request", {"Asked By": asked.by})
            request.stop(drain=asked.drain)
        self._board.show_pause(asked.by, paused=asked.paused)
        return asked.paused

    def _recover(self) -> None:
        """Repair inconsistencies between ledger, models and games after a kill or a disk error."""
        self._run.create()
        self._spool.recover()
        self._store.recover()
        self._training.forget()
        self._board.recovered()
        self._to_recover = False

    def _keep_bounds(self) -> None:
        """Check from time to time whether the buffer exceeds its limits."""
        began = time.monotonic()
        if began >= self._next_room_check:
            done = self._spool.make_room(_FINISH_SECONDS)
            self._ledger.forget_games(self._storage.ledger_games)
            took = time.monotonic() - began
            self._next_room_check = began + (max(_ROOM_SECONDS, _ROOM_SHARE * took) if done else 0.0)

    def _games_needed(self) -> int:
        return self._schedule.needed(self.stats.files_processed, self._spool.waiting)

    def _has_model(self) -> bool:
        """Whether there is a model that can learn."""
        found = self._board.has_model = self._training.refresh()
        if found:
            self.stats.model_version = self._training.version
        self._judge_model()
        return found and not self._training.broken

    def _judge_model(self) -> None:
        """Check the model. While it cannot learn, games wait, and the problem is reported."""
        if self._model_report.look(self._training):
            self._board.count_error(self._training.trouble or "")
        self.stats.model_trouble = self._model_report.trouble

    def _start_work(self, names: Sequence[str], settings: Settings) -> dict[str, Work]:
        """Start the requested background work of games, by name."""
        found = {
            name: resolve(all_work()[name].start)(self._run, self._ledger, settings, self._log.say) for name in names
        }
        return {name: work for name, work in found.items() if work is not None}

    def _close_jobs(self) -> None:
        """End the workers. Finished jobs are recorded; the next learner does the unfinished ones."""
        try:
            self._jobs.close()
            self._board.collect_jobs()
        except (OSError, RunDirError) as error:
            self._board.count_error(f"{error}")

    def _trouble(self, request: StopRequest, message: str) -> None:
        """Report an external problem, keep everything, and try again later."""
        self._board.show_trouble(message, _TROUBLE_SECONDS)
        self._to_recover = True
        request.event.wait(_TROUBLE_SECONDS)


def _backlog(settings: LearnerSettings) -> int:
    """The number of waiting games beyond which batches grow; 0 = never."""
    return _BACKLOG_BATCHES * settings.batch_games if settings.batch_decisions else 0
