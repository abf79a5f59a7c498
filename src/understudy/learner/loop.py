"""The learner's loop, as it runs in a process of its own: games in, model versions out.

    salvage → take a batch → train → publish with the games it consumed → archive → report, and again

and, in worker processes beside it, versions are evaluated and the background work of games is done.

Each pass can be killed anywhere; the ledger says on the next start where to go on.
"""

from __future__ import annotations

import logging
import math
import os
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from understudy.errors import ModelError, RunDirError
from understudy.experience import outliers
from understudy.experience.spool import Passed, Spool
from understudy.games.spec import all_work, resolve
from understudy.jobs.dispatch import Dispatcher
from understudy.jobs.queue import Job, Work
from understudy.learner import reports
from understudy.learner.arrivals import Arrivals
from understudy.learner.control import PAUSED, Orders
from understudy.learner.evaluation import EvaluationJobs
from understudy.learner.heartbeat import heartbeat
from understudy.learner.log import LearnerLog
from understudy.learner.model_report import ModelReport
from understudy.learner.run_lock import StopRequest
from understudy.learner.skips import Skips
from understudy.learner.statistics import Statistics
from understudy.learner.training import Trained, Training
from understudy.ledger.jobs import JobLedger
from understudy.machine.load_log import LoadLog
from understudy.models.store import ModelStore
from understudy.rundir import RunDir
from understudy.settings import LearnerSettings, Settings
from understudy.status import read_status, write_status

logger = logging.getLogger(__name__)

_WATCH_SECONDS = 0.02  # a look at the buffer's modification time costs a microsecond
_LOOK_SECONDS = 0.1  # between two looks at workers and game during a batch
_PAUSE_SECONDS = 0.2
_BACKLOG_BATCHES = 4
_FINISH_SECONDS = 1.0  # that archiving a surplus may take at a time
_ROOM_SECONDS = 5.0  # between two looks at how much the buffer holds
_ROOM_SHARE = 50  # a look at a very full one may cost a fiftieth of the time
_TROUBLE_SECONDS = 5.0  # between two tries when the disk is full or gone


class LearnerLoop:
    """Learns from the games of one run until asked to stop. The caller holds the run's lock."""

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
        self._works = self._start_work(work, settings)
        evaluating = train and settings.evaluation.function
        self._evaluation = EvaluationJobs(settings.evaluation, self._store, self._ledger) if evaluating else None
        works: list[Work] = [*([self._evaluation] if self._evaluation else []), *self._works.values()]
        self._jobs = Dispatcher(run, settings, works, store=self._ledger)
        self._state = "running"
        self._short_memory: str | None = None
        self._evaluation_reported: int | None = None
        self._started_at = time.time()
        self._arrivals = Arrivals(time.monotonic())
        self._to_recover = True  # the first pass begins with what was left behind
        self._troubled = False
        self._next_look = 0.0
        self._next_report = time.monotonic() + settings.learner.report_seconds
        self._loads = LoadLog(run.loads, run.buffer)
        self._next_room_check = 0.0
        self._model_report = ModelReport(run.root, self._store, self._log.entry)
        self._skips = Skips(self._log.skipped)
        self.stats = self._stats_of_run()

    def run(self, request: StopRequest) -> bool:
        """Learn until asked to stop; what is under way is finished. False if trouble outside was left at the end."""
        self.stats.state = "running"
        self._write_status()
        self._log.say(f"Watching {self._run.buffer}")
        try:
            with heartbeat(self._beat):
                try:
                    self._learn(request)
                finally:
                    self._close_jobs()
        finally:
            self.stats.state = "stopped"
            self._skips.say()
            self._write_status()
            self._ledger.close()
            self._log.entry("Learner Stopped", {"Total Processed": f"{self.stats.files_processed} files"})
        stats = self.stats
        self._log.say(f"Stopped. {stats.files_processed} games learned from in all, {stats.buffer_files} waiting.")
        for name, work in self._works.items():
            waiting = stats.jobs[f"{work.kind} waiting"]
            self._log.say(f"{all_work()[name].title}: {work.done} done in all, {waiting} waiting.")
        return not self._troubled and stats.model_trouble is None

    def _learn(self, request: StopRequest) -> None:
        self._log.entry("Learner Started", {"Watching": str(self._run.buffer), "Process": str(os.getpid())})
        while not request.event.is_set():
            seen = _changed_at(self._run.buffer)
            if self._heed(request):
                self._stand_still(request)
            elif not self._pass(request):
                self._wait(request, seen)
        while request.drain and (self._pass(request, 1) or (self._jobs.busy and not self._troubled)):
            pass

    def _batch_wanted(self) -> int:
        """Games to wait for. Early on quick updates teach most; what is to be learned later shows in many games."""
        least, growth = self._settings.min_batch_games, self._settings.batch_growth
        if growth:
            least = max(least, 1)
            wanted = max(least, min(least + self.stats.files_processed // growth, self._settings.batch_games))
        else:
            wanted = least or min(self._training.worthwhile_games, self._storage.buffer_games)
        self.stats.batch_wanted = wanted
        return wanted

    def _games_needed(self) -> int:
        """A whole batch; or whatever waits, once no more games seem to come."""
        wanted = self._batch_wanted()
        return 1 if self._arrivals.ended(self._spool.waiting, time.monotonic()) else wanted

    def _stand_still(self, request: StopRequest) -> None:
        """During a pause nothing is begun; what workers were at is taken in. No game gets too old by it."""
        self._spool.clock.count_from(time.monotonic())
        try:
            self._keep_bounds()
            self._jobs.collect(_PAUSE_SECONDS)
            self._collect_jobs()
        except (OSError, RunDirError) as error:
            self._trouble(request, f"{error}")

    def _heed(self, request: StopRequest) -> bool:
        """Do what `control.json` asks; True while it asks for a pause."""
        asked = self._orders.look()
        if self._orders.asked_to_stop():
            self._log.say(f"Asked to stop by {asked.by}.")
            self._log.entry("Stopping by Request", {"Asked By": asked.by})
            request.stop(drain=asked.drain)
        paused = self.stats.state.startswith(PAUSED)
        if asked.paused and not paused:
            self.stats.state = f"{PAUSED} of {asked.by}"
            self._log.say(f"Paused by {asked.by}; games wait.")
            self._log.entry("Paused", {"Asked By": asked.by})
        elif paused and not asked.paused:
            self.stats.state = self._state
            self._log.say(f"{asked.by} lets it go on.")
            self._log.entry("Resumed", {"Asked By": asked.by})
        return asked.paused

    def _recover(self) -> None:
        """Put right what a kill, or trouble with the disk, left between ledger, models and games."""
        self._spool.recover()
        self._store.recover()
        self._training.forget()
        before = self.stats
        self.stats = self._stats_of_run()
        self.stats.errors, self.stats.last_error = before.errors, before.last_error
        self.stats.games_salvaged = before.games_salvaged
        self.stats.remember(before.as_dict())
        self._to_recover = self._troubled = False

    def _pass(self, request: StopRequest, at_least: int | None = None) -> bool:
        """One turn of the loop, with so many games or else a whole batch; False if there was nothing to do."""
        try:
            if self._to_recover:
                self._recover()
            self._keep_bounds()
            self._spool.salvage()
            if self._spool.waiting < (at_least or self._games_needed()):  # else the last scan found enough
                self._spool.scan()
            # Only a model that is loaded tells how many games are worth it.
            if self._train and self._has_model() and self._spool.waiting >= (at_least or self._games_needed()):
                self._jobs.queue.add(Job("train", "batch"))
            hurry = request.event.is_set()
            train = partial(self._take_and_learn, request)
            worked = self._jobs.turn(_WATCH_SECONDS if hurry else 0.0, train, hurry=hurry)
            self._collect()
            if self.stats.state not in ("running", "training"):  # waiting for a model, the machine or the game
                self._spool.clock.count_from(time.monotonic())
            return worked
        except (OSError, RunDirError) as error:
            self._trouble(request, f"{error}")
        except ModelError as error:
            self._trouble(request, f"The model cannot be used. {error}")
        return False

    def _keep_bounds(self) -> None:
        """Look now and then whether more games wait than the disk is to hold."""
        began = time.monotonic()
        if began >= self._next_room_check:
            done = self._spool.make_room(_FINISH_SECONDS)
            self._ledger.forget_games(self._storage.ledger_games)
            took = time.monotonic() - began
            self._next_room_check = began + (max(_ROOM_SECONDS, _ROOM_SHARE * took) if done else 0.0)

    def _has_model(self) -> bool:
        """Whether there is a model that can learn."""
        found = self._training.refresh()
        self._state = "running" if found else "waiting for a model (the bot makes the first one)"
        self.stats.model_version = self._training.version if found else self.stats.model_version
        self._judge_model()
        return found and not self._training.broken

    def _judge_model(self) -> None:
        """While the model cannot learn, games wait, and everybody is told."""
        if self._model_report.look(self._training):
            self._count_error(self._training.trouble or "")
        self.stats.model_trouble = self._model_report.trouble
        if self._training.trouble is not None:
            self._state = f"waiting: {self._training.trouble}"

    def _take_and_learn(self, request: StopRequest) -> bool:
        batch = self._training.next_batch()
        if batch:
            self.stats.state = "training"
            self.stats.active_workers = self._jobs.workers.running + 1
            self.stats.jobs = self.stats.jobs | {"train running": 1}
            self._log.say(f"Training on {len(batch)} game files...")
            try:
                self._training.learn(
                    batch,
                    interrupted=partial(self._between_steps, request),
                    published=self._report_batch,
                    refused=self._count_error,
                )
            finally:
                self._collect_jobs()
        self._judge_model()
        self._collect()
        return bool(batch)

    def _between_steps(self, request: StopRequest) -> bool:
        """Between two steps of a batch workers go on, and the game goes first. True if the batch is to end here."""
        if time.monotonic() >= self._next_look:
            self._jobs.turn(0.0)
            self._collect_jobs()
            while self._jobs.paused and not request.event.is_set():
                self._spool.clock.count_from(time.monotonic())
                self._jobs.turn(_PAUSE_SECONDS)
                self._collect_jobs()
            self.stats.state = "training"
            self.stats.active_workers += 1
            self.stats.jobs["train running"] = 1
            self._next_look = time.monotonic() + _LOOK_SECONDS
        return request.overdue

    def _report_batch(self, trained: Trained) -> None:
        stats, facts = self.stats, trained.facts
        stats.add_batch(trained.games, facts["total_steps"], facts["loss"], facts["seconds"], time.time())
        stats.model_version = trained.version
        self._batch_wanted()
        stats.add_outliers(facts["outliers"], time.time())
        stats.staleness, stats.effective_sample_size = facts["staleness"], facts["effective_sample_size"]
        entry = reports.batch_facts(trained.games, facts, stats.as_dict())
        numbers = {**facts, "games": trained.games, "version": trained.version}
        reports.append_entry(self._run.log, "Batch Training Complete", entry, time.time(), numbers)
        if self._short_memory is None:
            self._short_memory = self._training.short_memory(facts["total_steps"] / max(trained.games, 1))
            if self._short_memory is not None:
                self._log.say(self._short_memory)
                self._log.entry("Short Memory", {"Network": self._short_memory})
        self._write_status()
        self._log.say(f"Training complete. Loss: {facts['loss']:.4f}, Saved: {trained.games} files")
        if unusual := outliers.summary(facts["outliers"]):
            self._log.say(f"Far outside of its range: {unusual}. {outliers.ADVICE}")

    def _wait(self, request: StopRequest, seen: float) -> None:
        """Until a game comes, the time for another look, or the end."""
        deadline = time.monotonic() + self._settings.poll_seconds
        while not request.event.is_set() and time.monotonic() < deadline:
            try:
                self._jobs.turn(_WATCH_SECONDS)
                self._collect_jobs()
            except (OSError, RunDirError) as error:
                self._trouble(request, f"{error}")
            if self._heed(request) or self._jobs.training_is_due() or _changed_at(self._run.buffer) != seen:
                return

    # ---- what others see --------------------------------------------------------------------------------------------

    def _beat(self) -> None:
        self._write_status()
        try:
            self._loads.note(self.stats.resources, self.stats.active_workers)
        except OSError as error:
            logger.debug("The load was not written: %s", error)
        if time.monotonic() >= self._next_report:
            self._next_report += self._settings.report_seconds
            if self._settings.verbose:
                reports.show(reports.status_report(self.stats.as_dict()))

    def _write_status(self) -> None:
        try:
            write_status(self._run.status, self.stats.as_dict())
        except OSError as error:
            logger.debug("The status was not written: %s", error)  # the loop itself says what is wrong with the disk

    def _stats_of_run(self) -> Statistics:
        stats = Statistics.of_run(self._ledger)
        stats.remember(read_status(self._run.status))
        stats.max_workers = self._settings.max_workers
        stats.started_at = self._started_at
        return stats

    def _start_work(self, names: Sequence[str], settings: Settings) -> dict[str, Work]:
        """The background work of games that was asked for, by name."""
        found = {
            name: resolve(all_work()[name].start)(self._run, self._ledger, settings, self._log.say) for name in names
        }
        return {name: work for name, work in found.items() if work is not None}

    def _close_jobs(self) -> None:
        """End the workers; what they have finished is recorded, what they have not is done by the next learner."""
        try:
            self._jobs.close()
            self._collect_jobs()
        except (OSError, RunDirError) as error:
            self._count_error(f"{error}")

    def _collect_jobs(self) -> None:
        """Bring in the figures that the dispatcher and its works keep, and log what is new in them."""
        stats = self.stats
        for name, value in self._jobs.facts().items():
            setattr(stats, name, value)
        stats.jobs |= {"train done": stats.batches_trained, "train set aside": self._training.set_aside}
        for name, work in self._works.items():
            self._collect_work(name, work)
        if self._evaluation is not None:
            self._collect_evaluation(self._evaluation)
        asked_to_pause = stats.state.startswith(PAUSED)
        state = stats.state if self._troubled or asked_to_pause else self._jobs.state(self._state)
        if state != stats.state and "training" not in (state, stats.state):
            self._log.state(state, stats)
        stats.state = state

    def _collect_work(self, name: str, work: Work) -> None:
        for attribute, (figure, _) in all_work()[name].figures.items():
            self.stats.work[figure] = getattr(work, attribute)
        news = getattr(work, "news", [])
        while news:
            title, facts = news.pop(0)
            reports.append_entry(self._run.log, title, facts, time.time())

    def _collect_evaluation(self, evaluation: EvaluationJobs) -> None:
        latest = evaluation.latest
        if latest is None:
            return
        self.stats.evaluation = latest.as_dict()
        if evaluation.is_whole(latest.version) and latest.version != self._evaluation_reported:
            self._evaluation_reported = latest.version
            text = reports.evaluation(self.stats.evaluation)
            reports.append_entry(self._run.log, "Model Evaluated", {"Result": text}, time.time())
            self._log.say(f"Evaluation: {text}")
        if evaluation.trouble is not None:
            self._count_error(evaluation.trouble)
            evaluation.trouble = None

    def _collect(self) -> None:
        """Bring in the figures that the spool keeps."""
        self._collect_jobs()
        spool, stats = self._spool, self.stats
        stats.buffer_files = spool.waiting
        stats.archive_files, stats.archive_bytes = self._ledger.archive_size()
        passed, spool.passed = spool.passed, Passed()
        if passed.rejected:
            self._log.rejections(self._ledger, passed.rejected)
        stats.files_rejected += passed.rejected
        stats.add_skipped(self._skips.note(passed), time.time())
        stats.games_salvaged += passed.salvaged

    def _trouble(self, request: StopRequest, message: str) -> None:
        """Something outside is wrong: say it, keep everything, and try again in a while."""
        if message != self.stats.last_error:
            reports.say(f"Waiting: {message} Nothing is lost; trying again every {_TROUBLE_SECONDS:g} s.")
            self._log.entry("Trouble", {"Waiting": message})
        self._count_error(message)
        self._to_recover = self._troubled = True
        self.stats.state = f"waiting: {message}"
        self._write_status()
        request.event.wait(_TROUBLE_SECONDS)

    def _count_error(self, message: str) -> None:
        self.stats.errors += 1
        self.stats.last_error = message


def _backlog(settings: LearnerSettings) -> int:
    """With more games than this waiting, batches grow; 0 = they never do."""
    return _BACKLOG_BATCHES * settings.batch_games if settings.batch_decisions else 0


def _changed_at(folder: Path) -> float:
    """When a file last came or went; NaN, which equals nothing, while the next could fall into the same tick."""
    try:
        modified = folder.stat().st_mtime
    except OSError:  # the next pass says what is wrong
        return 0.0
    return math.nan if abs(time.time() - modified) < _WATCH_SECONDS * 2 else modified
