"""The disk contract: the path of every file of a run. No other module spells out a file name of a run."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from understudy.errors import RunDirError
from understudy.files.atomic import make_folder

DEFAULT_RUN_DIR = "local_training"
EVENTS = "events.jsonl"  # beside the log


@dataclass(frozen=True, slots=True)
class RunDir:
    """The folder of one run. Constructing the object touches nothing; `create` makes the folders."""

    root: Path

    @classmethod
    def at(cls, root: str | os.PathLike[str]) -> RunDir:
        """The run directory at this path, made absolute so that a later chdir does not change it."""
        name = os.fsdecode(root)
        if not name:
            raise RunDirError("The name of the run directory is empty. Name a folder, such as local_training.")
        return cls(Path(name).absolute())

    @property
    def buffer(self) -> Path:
        """Finished games that wait to be learned from."""
        return self.root / "data" / "buffer"

    @property
    def live(self) -> Path:
        """Journals of games in progress."""
        return self.buffer / "live"

    @property
    def archive(self) -> Path:
        """Games that were learned from, or skipped."""
        return self.root / "data" / "archive"

    @property
    def rejected(self) -> Path:
        """Files that cannot be used, each beside a `.reason.json`."""
        return self.root / "data" / "rejected"

    @property
    def outbox(self) -> Path:
        """Games on their way to a bucket."""
        return self.root / "data" / "outbox"

    @property
    def relearn(self) -> Path:
        """Games whose update was dropped, on their way back into the buffer."""
        return self.root / "data" / "relearn"

    @property
    def models(self) -> Path:
        """The model that the bot loads, its earlier versions, and the states of seeded agents."""
        return self.root / "models"

    @property
    def model(self) -> Path:
        """The model that the bot loads."""
        return self.models / "rl_agent_model.npz"

    @property
    def versions(self) -> Path:
        """Earlier versions of the model."""
        return self.models / "versions"

    @property
    def matches(self) -> Path:
        """The state of self-play's matches at each of these versions."""
        return self.models / "matches"

    @property
    def games(self) -> Path:
        """Recorded games of self-play for people, if the game supports it."""
        return self.root / "games"

    @property
    def logs(self) -> Path:
        """Logs for people and programs."""
        return self.root / "logs"

    @property
    def log(self) -> Path:
        """One entry per batch, for people."""
        return self.logs / "background_training.log"

    @property
    def events(self) -> Path:
        """The same events, one JSON object per line, for programs."""
        return self.logs / EVENTS

    @property
    def remarks(self) -> Path:
        """People's notes about the run, one JSON object per line."""
        return self.logs / "notes.jsonl"

    @property
    def updates(self) -> Path:
        """The statistics of each self-play update, one JSON object per line."""
        return self.logs / "updates.jsonl"

    @property
    def loads(self) -> Path:
        """How busy the machine was, a reading every ten seconds while a learner runs."""
        return self.logs / "load.jsonl"

    @property
    def ledger(self) -> Path:
        """The database that decides which game went into which model version."""
        return self.root / "understudy.sqlite"

    @property
    def status(self) -> Path:
        """The learner's heartbeat and statistics."""
        return self.root / "status.json"

    @property
    def remote_models(self) -> Path:
        """The bucket's models at the latest synchronisations."""
        return self.models / "remote"

    @property
    def sync_status(self) -> Path:
        """The state of `understudy sync`."""
        return self.root / "sync.json"

    @property
    def sync_lock(self) -> Path:
        """Held by the one process that synchronises this run with a bucket."""
        return self.root / "sync.lock"

    @property
    def control(self) -> Path:
        """Requests to the learner: pause, resume, stop."""
        return self.root / "control.json"

    @property
    def control_lock(self) -> Path:
        """Held while that file is changed."""
        return self.root / "control.lock"

    @property
    def step_time(self) -> Path:
        """The duration of a step of the game, written by the process that plays."""
        return self.root / "step_time.json"

    @property
    def build_orders(self) -> Path:
        """The build orders learned from replays."""
        return self.root / "learned_build_orders.json"

    @property
    def build_orders_lock(self) -> Path:
        """Held while that file is computed and written."""
        return self.root / "learned_build_orders.lock"

    @property
    def learner_lock(self) -> Path:
        """Held by the one learner of this run."""
        return self.root / "learner.lock"

    @property
    def folders(self) -> tuple[Path, ...]:
        """Every folder of a run, parents first."""
        return (self.root, self.buffer, self.live, self.archive, self.rejected, self.models, self.versions, self.logs)

    @property
    def outer(self) -> RunDir | None:
        """The run that this folder is a part of, such as RUN for RUN/models."""
        around = (RunDir(parent) for parent in self.root.parents)
        return next((run for run in around if self.root in run.folders and run.ledger.exists()), None)

    def require_outermost(self) -> None:
        """Raise RunDirError if this folder is part of a run: a run inside a run is a mistake."""
        if (outer := self.outer) is not None:
            raise RunDirError(f"{self.root} is a folder of the run {outer.root}. Name that run.")

    def mend(self) -> None:
        """Recreate removed folders if the ledger exists; otherwise the whole run was moved or deleted."""
        if self.ledger.exists() and not (self.live.is_dir() and self.models.is_dir()):
            self.create()

    def create(self) -> None:
        """Create missing folders, and check that all are writable."""
        self.require_outermost()
        for folder in self.folders:
            try:
                make_folder(folder)
            except OSError as error:
                raise RunDirError(
                    f"The run directory {self.root} cannot be used: {folder} cannot be created ({error.strerror}). "
                    "Choose another run directory, or allow writing there."
                ) from error
            if not os.access(folder, os.W_OK):
                raise RunDirError(
                    f"The run directory {self.root} cannot be used: {folder} is read-only. "
                    "Choose another run directory, or allow writing there."
                )
