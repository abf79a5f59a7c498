"""The ledger's part for background work: the waiting jobs, and the evaluation results of model versions."""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from understudy.ledger.connection import Ledger

Kind = Literal["evaluate", "analyse"]
KINDS: tuple[Kind, ...] = ("evaluate", "analyse")  # in order of priority

MOST_ATTEMPTS = 3  # the first and two more

# Separate from the ledger's other tables, and without a version number: older ledgers get them when they are opened.
_TABLES = """
CREATE TABLE IF NOT EXISTS jobs (
    kind     TEXT NOT NULL,
    key      TEXT NOT NULL,
    name     TEXT NOT NULL,
    function TEXT NOT NULL,
    argument TEXT NOT NULL,           -- JSON
    seconds  REAL NOT NULL,           -- limits of the job
    memory   INTEGER NOT NULL,
    PRIMARY KEY (kind, key)
);
CREATE TABLE IF NOT EXISTS evaluations (
    version   INTEGER NOT NULL,
    evaluator TEXT NOT NULL,          -- who played: "module:function"
    first     INTEGER NOT NULL,       -- number of the first game; the same number is the same game for every version
    results   TEXT NOT NULL,          -- a letter for each game: W, L or T
    seconds   REAL NOT NULL,
    at        REAL NOT NULL,
    PRIMARY KEY (version, evaluator, first)
);
"""


@dataclass(frozen=True, slots=True)
class Job:
    """A task for a worker. Kind and key identify it; the worker calls `function` ("module:name") with `argument`.

    A worker that takes longer than `seconds`, or needs more than `memory` bytes, is ended.
    """

    kind: Kind
    key: str
    name: str
    function: str
    argument: Mapping[str, Any] = field(default_factory=dict)
    seconds: float = 60.0
    memory: int = 1_000_000_000

    @property
    def identity(self) -> tuple[Kind, str]:
        """The identity of a job; two jobs with the same identity are the same."""
        return self.kind, self.key


class JobLedger(Ledger):
    """The ledger of a run, with the tables of background work."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        with self.transaction() as db:
            for statement in filter(str.strip, _TABLES.split(");")):
                db.execute(f"{statement});")

    def save_jobs(self, jobs: Iterable[Job]) -> None:
        """Keep jobs until they have ended; jobs that are already kept are not changed."""
        rows = [(j.kind, j.key, j.name, j.function, json.dumps(dict(j.argument)), j.seconds, j.memory) for j in jobs]
        with self.transaction() as db:
            db.executemany("INSERT OR IGNORE INTO jobs VALUES (?, ?, ?, ?, ?, ?, ?)", rows)

    def forget_job(self, job: Job) -> None:
        """Delete a job that has ended."""
        with self.transaction() as db:
            db.execute("DELETE FROM jobs WHERE kind = ? AND key = ?", (job.kind, job.key))

    def waiting_jobs(self) -> list[Job]:
        """All jobs that have not ended, oldest first."""
        rows = self.query("SELECT kind, key, name, function, argument, seconds, memory FROM jobs ORDER BY rowid")
        return [
            Job(kind, key, name, function, json.loads(text), *limits)
            for kind, key, name, function, text, *limits in rows
        ]

    def set_aside(self, kind: str) -> int:
        """The number of jobs of a kind that failed too often."""
        query = "SELECT count(*) FROM job_failures WHERE kind = ? AND times >= ?"
        return int(self.query(query, (kind, MOST_ATTEMPTS))[0][0])

    def record_evaluation(self, version: int, evaluator: str, first: int, results: str, seconds: float) -> None:
        """Record the results of evaluation games; the same games count once."""
        row = (version, evaluator, first, results, seconds, time.time())
        with self.transaction() as db:
            db.execute("INSERT OR IGNORE INTO evaluations VALUES (?, ?, ?, ?, ?, ?)", row)

    def evaluations_done(self) -> int:
        """The number of evaluation jobs that succeeded."""
        return int(self.query("SELECT count(*) FROM evaluations")[0][0])

    def evaluations(self, evaluator: str) -> dict[int, dict[int, str]]:
        """Version → number of the game → W, L or T."""
        found: defaultdict[int, dict[int, str]] = defaultdict(dict)
        query = "SELECT version, first, results FROM evaluations WHERE evaluator = ? ORDER BY version, first"
        for version, first, results in self.query(query, (evaluator,)):
            found[version].update(enumerate(results, first))
        return dict(found)
