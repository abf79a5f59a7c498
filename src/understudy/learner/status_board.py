"""The learner's statistics and state for others: in `status.json`, in the log and on the terminal."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping

from understudy.experience import outliers
from understudy.experience.spool import Passed, Spool
from understudy.games.spec import all_work
from understudy.jobs.dispatch import Dispatcher
from understudy.jobs.queue import Work
from understudy.learner import reports
from understudy.learner.evaluation import EvaluationJobs
from understudy.learner.gate_messages import GateMessages
from understudy.learner.log import LearnerLog
from understudy.learner.schedule import Schedule
from understudy.learner.skips import Skips
from understudy.learner.statistics import Statistics
from understudy.learner.training import Trained, Training
from understudy.ledger.jobs import JobLedger
from understudy.machine.load_log import LoadLog
from understudy.machine.resources import Hold
from understudy.run.log import append_entry, say, show
from understudy.run.state import Activity, RunState
from understudy.run.status import read_status, write_status
from understudy.rundir import RunDir
from understudy.settings import LearnerSettings

logger = logging.getLogger(__name__)


NO_MEMORY = "there is not enough memory to learn; other programs have it, or a game is very long"


class StatusBoard:
    """Collects the statistics of all parts of the learner, and shows them."""

    def __init__(
        self,
        run: RunDir,
        settings: LearnerSettings,
        ledger: JobLedger,
        log: LearnerLog,
        *,
        training: Training,
        schedule: Schedule,
        jobs: Dispatcher,
        works: Mapping[str, Work],
        evaluation: EvaluationJobs | None,
        gate: GateMessages,
    ) -> None:
        self._run = run
        self._settings = settings
        self._ledger = ledger
        self._log = log
        self._training = training
        self._schedule = schedule
        self._jobs = jobs
        self._works = works
        self._evaluation = evaluation
        self._gate = gate
        self._evaluation_reported: int | None = None
        self._short_memory: str | None = None
        self._written: RunState | None = None
        self._skips = Skips(log.skipped)
        self._loads = LoadLog(run.loads, run.buffer)
        self._started_at = time.time()
        self._turned_at = time.monotonic()
        self._next_report = time.monotonic() + settings.report_seconds
        self.has_model = True
        self.paused_by: str | None = None
        """Who asked for the current pause."""
        self.trouble: str | None = None
        """An external problem that keeps the learner from working, such as a full disk."""
        self.stats = self._stats_of_run()

    def begin(self) -> None:
        """Called when the learner starts."""
        self.stats.state = RunState(Activity.RUNNING)
        self.write()

    def end(self) -> None:
        """Called when the learner has stopped."""
        self.stats.state = RunState(Activity.STOPPED)
        self._skips.say()
        self.write()

    def recovered(self) -> None:
        """Count again from the ledger; values that only this process knows are kept."""
        before = self.stats
        self.stats = self._stats_of_run()
        self.stats.errors, self.stats.last_error = before.errors, before.last_error
        self.stats.games_salvaged = before.games_salvaged
        self.stats.remember(before.as_dict())
        self.trouble = None

    def beat(self) -> None:
        """Called once a second in the heartbeat thread."""
        self.stats.loop_seconds = self.loop_seconds
        self.write()
        try:
            self._loads.note(self.stats.resources, self.stats.active_workers)
        except OSError as error:
            logger.debug("The load was not written: %s", error)
        if time.monotonic() >= self._next_report:
            self._next_report += self._settings.report_seconds
            if self._settings.verbose:
                show(reports.status_report(self.stats.as_dict()))

    def turned(self) -> None:
        """Called at each turn of the loop."""
        self._turned_at = time.monotonic()

    @property
    def loop_seconds(self) -> float:
        """Seconds since the loop last turned."""
        return time.monotonic() - self._turned_at

    def write(self) -> None:
        """Write `status.json`."""
        if self.stats.state != self._written:
            self._written, self.stats.state_since = self.stats.state, time.time()
        try:
            write_status(self._run.status, self.stats.as_dict())
        except OSError as error:
            logger.debug("The status was not written: %s", error)  # the loop reports problems of the disk

    def count_error(self, message: str) -> None:
        """Count an error."""
        self.stats.errors += 1
        self.stats.last_error = message

    def show_pause(self, by: str, *, paused: bool) -> None:
        """Show the start or the end of a pause in the state and the log."""
        if paused == (self.paused_by is not None):
            return
        self.paused_by = by if paused else None
        self.stats.state = RunState(Activity.PAUSED, by) if paused else RunState(Activity.RUNNING)
        self._log.say(f"Paused by {by}; games wait." if paused else f"Resumed by {by}.")
        self._log.entry("Paused" if paused else "Resumed", {"Asked By": by})

    def show_trouble(self, message: str, again: float) -> None:
        """Report, once, what keeps the learner from working; it tries again every `again` seconds."""
        if message != self.stats.last_error:
            say(f"Waiting: {message} Nothing is lost; trying again every {again:g} s.")
            self._log.entry("Trouble", {"Waiting": message})
        self.count_error(message)
        self.trouble = message
        self.stats.state = RunState(Activity.TROUBLE, message)
        self.write()

    def collect(self, spool: Spool) -> None:
        """Collect the statistics of all parts."""
        self.collect_jobs()
        stats = self.stats
        stats.buffer_files = spool.waiting
        stats.archive_files, stats.archive_bytes = self._ledger.archive_size()
        passed, spool.passed = spool.passed, Passed()
        if passed.rejected:
            self._log.rejections(self._ledger, passed.rejected)
        stats.files_rejected += passed.rejected
        stats.add_skipped(self._skips.note(passed), time.time())
        stats.games_salvaged += passed.salvaged
        stats.gate = self._gate.look()

    def collect_jobs(self) -> None:
        """Collect the statistics of jobs and training, log what is new, and show the state."""
        stats, running = self.stats, int(self._schedule.running)
        facts = self._jobs.facts()
        train = {
            "train waiting": int(self._schedule.ready),
            "train running": running,
            "train retried": 0,
            "train done": stats.batches_trained,
            "train set aside": self._training.set_aside,
        }
        stats.jobs = train | facts["jobs"]
        stats.active_workers = facts["active_workers"] + running
        stats.workers, stats.worker_deaths, stats.resources = (
            facts["workers"],
            facts["worker_deaths"],
            facts["resources"],
        )
        stats.batch_wanted = self._schedule.wanted(stats.files_processed)
        for name, work in self._works.items():
            self._collect_work(name, work)
        if self._evaluation is not None:
            self._collect_evaluation(self._evaluation)
        self._show_state()

    def report_batch(self, trained: Trained) -> None:
        """Report a published batch."""
        stats, facts = self.stats, trained.facts
        stats.add_batch(trained.games, facts["total_steps"], facts["loss"], facts["seconds"], time.time())
        stats.model_version = trained.version
        self._gate.look_again()
        stats.batch_wanted = self._schedule.wanted(stats.files_processed)
        stats.add_outliers(facts["outliers"], time.time())
        stats.staleness, stats.effective_sample_size = facts["staleness"], facts["effective_sample_size"]
        entry = reports.batch_facts(trained.games, facts, stats.as_dict())
        numbers = {**facts, "games": trained.games, "version": trained.version}
        append_entry(self._run.log, "Batch Training Complete", entry, time.time(), numbers)
        if self._short_memory is None:
            self._short_memory = self._training.short_memory(facts["total_steps"] / max(trained.games, 1))
            if self._short_memory is not None:
                self._log.say(self._short_memory)
                self._log.entry("Short Memory", {"Network": self._short_memory})
        self.write()
        self._log.say(f"Training complete. Loss: {facts['loss']:.4f}, Saved: {trained.games} files")
        if unusual := outliers.summary(facts["outliers"]):
            self._log.say(f"Far outside its range: {unusual}. {outliers.ADVICE}")

    def _stats_of_run(self) -> Statistics:
        stats = Statistics.of_run(self._ledger)
        stats.remember(read_status(self._run.status))
        stats.max_workers = self._settings.max_workers
        stats.started_at = self._started_at
        return stats

    def _show_state(self) -> None:
        state, before = self._state(), self.stats.state
        if state != before and Activity.TRAINING not in (state.activity, before.activity):
            self._log.state(state, self.stats)
        self.stats.state = state

    def _state(self) -> RunState:
        """The current state: the first one that applies."""
        if self.trouble is not None:
            return RunState(Activity.TROUBLE, self.trouble)
        if self.paused_by is not None:
            return RunState(Activity.PAUSED, self.paused_by)
        hold = self._jobs.hold
        if self._schedule.running and hold is not Hold.GAME:
            return RunState(Activity.TRAINING)
        if hold is Hold.GAME or (hold is not None and (self._schedule.ready or self._jobs.waiting)):
            return _held(hold)
        if self._training.trouble is not None or self._training.short_of_memory:
            return RunState(Activity.TROUBLE, self._training.trouble or NO_MEMORY)
        return RunState(Activity.RUNNING if self.has_model else Activity.NO_MODEL)

    def _collect_work(self, name: str, work: Work) -> None:
        for attribute, (figure, _) in all_work()[name].figures.items():
            self.stats.work[figure] = getattr(work, attribute)
        news = getattr(work, "news", [])
        while news:
            title, facts = news.pop(0)
            append_entry(self._run.log, title, facts, time.time())

    def _collect_evaluation(self, evaluation: EvaluationJobs) -> None:
        latest = evaluation.latest
        if latest is None:
            return
        self.stats.evaluation = latest.as_dict()
        if evaluation.is_whole(latest.version) and latest.version != self._evaluation_reported:
            self._evaluation_reported = latest.version
            text = reports.evaluation(self.stats.evaluation)
            append_entry(self._run.log, "Model Evaluated", {"Result": text}, time.time())
            self._log.say(f"Evaluation: {text}")
        if evaluation.trouble is not None:
            self.count_error(evaluation.trouble)
            evaluation.trouble = None


def _held(hold: Hold) -> RunState:
    special = {Hold.GAME: Activity.GAME_FIRST, Hold.MEASUREMENT: Activity.MEASURING}
    return RunState(special[hold]) if hold in special else RunState(Activity.MACHINE_BUSY, hold.value)
