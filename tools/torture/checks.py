"""What must be true after the torture, and the table that says whether it was."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tools.torture.processes import Process, understudy

from understudy.experience.journal import orphans
from understudy.ledger.connection import Ledger
from understudy.ledger.gate import pinned
from understudy.models.state import read_model
from understudy.rundir import RunDir
from understudy.settings import StorageSettings

_TEMPORARY = re.compile(r"\..+\.tmp")


@dataclass(slots=True)
class Report:
    """The checks made so far."""

    rows: list[tuple[str, str, str, str]] = field(default_factory=list)
    part: str = ""

    def begin(self, part: str, title: str) -> None:
        """Start a part of the table."""
        self.part = part
        print(f"\n== {part}: {title}", flush=True)

    def check(self, what: str, holds: bool, found: object = "") -> None:
        """Note whether something holds, and what was found."""
        self._note("held" if holds else "FAILED", what, found)

    def equal(self, what: str, found: object, wanted: object) -> None:
        """Note whether two things are equal."""
        nothing = found == wanted and found in ([], {}, set())
        self.check(what, found == wanted, "" if nothing else found if found == wanted else f"{found!r}, not {wanted!r}")

    def skip(self, why: str) -> None:
        """Note a part that cannot be run here."""
        self._note("skipped", why, "")

    def fact(self, what: str, found: object) -> None:
        """Note a figure that is neither good nor bad."""
        self._note("", what, found)

    def _note(self, verdict: str, what: str, found: object) -> None:
        self.rows.append((self.part, verdict, what, str(found)))
        print(f"  {verdict or '-':<8} {what}{f': {found}' if str(found) else ''}", flush=True)

    @property
    def failed(self) -> int:
        """How many checks did not hold."""
        return sum(verdict == "FAILED" for _, verdict, _, _ in self.rows)

    def table(self) -> str:
        """Everything, one line a check."""
        lines = [f"{part:<10} {verdict:<8} {what:<62} {found}" for part, verdict, what, found in self.rows]
        held = sum(verdict == "held" for _, verdict, _, _ in self.rows)
        return "\n".join(["", *lines, "", f"{held} checks held, {self.failed} failed"])


def games_told(notebooks: Iterable[Path]) -> tuple[list[str], set[str]]:
    """(ids of games that had ended, ids of games whose end had begun), as reported by the bots."""
    ended, ending = [], set()
    for notebook in notebooks:
        for line in notebook.read_text().splitlines() if notebook.exists() else ():
            word, _, rest = line.partition(" ")
            if word == "ended":
                ended.append(rest.split()[0])
            elif word == "ending":
                ending.add(rest)
    return ended, ending


def check_processes(report: Report, processes: Sequence[Process]) -> None:
    """Nobody died of anything but us, and nobody printed a traceback."""
    died = {p.name: p.ended_by_itself for p in processes if p.ended_by_itself}
    report.equal("no process ended by itself", died, {})
    for process in processes:
        if "Traceback" in (printed := process.printed()):
            report.check(f"{process.name} printed no traceback", False, printed[printed.index("Traceback") :][-2000:])


def settle(report: Report, run: RunDir, folder: Path) -> None:
    """The last learner, which finds everything that a killed one left; a minute later, as far as journals can tell."""
    for journal in run.live.glob("*.journal"):  # an empty one may be of a bot that is about to lock it, for a minute
        if journal.stat().st_size == 0:
            os.utime(journal, (journal.stat().st_mtime - 61,) * 2)
    code, printed, _ = understudy("learn", str(run.root), "--once", folder=folder)
    report.check("a last `understudy learn --once` ends with 0", code == 0, "" if code == 0 else printed[-1500:])


def check_run(report: Report, run: RunDir, folder: Path, notebooks: Sequence[Path], outcomes: set[str]) -> None:
    """Every promise of the disk contract that can be checked once nobody works any more."""
    ended, ending = games_told(notebooks)
    with Ledger(run.ledger) as ledger:
        rows, versions, problems = ledger.games(), ledger.versions(), ledger.problems()
        archived = {name for _, name, _ in ledger.oldest_archived(-1)}
    recorded = Counter(game.id for game, _, _ in rows)
    learned = {game.id for game, outcome, _ in rows if outcome in outcomes}
    report.fact("games that ended, and that were being ended when killed", f"{len(ended)}, {len(ending - set(ended))}")
    report.fact("games in the ledger, model versions", f"{len(rows)}, {len(versions)}")
    report.equal("games that had ended but were not learned", len(set(ended) - learned), 0)
    # Every decision of such a game was in its journal, so that it is salvaged, wherever its end was cut off.
    report.equal("games that were being ended but were not learned", len(ending - learned), 0)
    report.check("no game is in the ledger twice", max(recorded.values(), default=0) <= 1)
    report.equal("games in the ledger without a version", sum(version is None for *_, version in rows), 0)
    report.equal("games with an outcome other than expected", len(recorded) - len(learned), 0)
    per_version = Counter(version for *_, version in rows)
    report.check("each version has as many games as it says", all(v.games == per_version[v.version] for v in versions))
    _check_model(report, run, rows=len(rows), steps=sum(game.steps for game, _, _ in rows))
    report.equal(
        "publishers that mend a loss", {v.publisher for v in versions} & {"restored", "by hand", "adopted"}, set()
    )
    report.equal("games left in the buffer", len(list(run.buffer.glob("*.npz"))), 0)
    report.equal("journals left behind", [path.name for path in orphans(run.live)], [])
    report.equal("archive and ledger differ by", {p.name for p in run.archive.glob("*.npz")} ^ archived, set())
    report.equal("what SQLite's integrity check finds", problems, [])
    _check_temporaries(report, run, folder)
    code, printed, _ = understudy("doctor", str(run.root), folder=folder)
    report.check("`understudy doctor` ends with 0", code == 0, "" if code == 0 else printed)


def _check_model(report: Report, run: RunDir, rows: int, steps: int) -> None:
    """Model and ledger agree: the model's own counters say how much went into it."""
    with Ledger(run.ledger) as ledger:
        versions, head, pins = ledger.versions(), ledger.head(), pinned(ledger)
    model = read_model(run.model)
    report.equal("model's count of games = sum over versions", model.counters["games"], sum(v.games for v in versions))
    report.equal("model's count of games = games in the ledger", model.counters["games"], rows)
    report.equal("model's count of steps = sum over versions", model.counters["steps"], sum(v.steps for v in versions))
    report.equal("model's count of steps = steps in the ledger", model.counters["steps"], steps)
    report.equal("model's version = head of the ledger", model.version, head)
    # Versions that the gate has pinned (champions, the challenger) are kept beside the newest ones.
    kept = [path for path in (run.models / "versions").glob("*.npz") if int(path.stem) not in pins]
    most = StorageSettings().model_versions
    report.check("kept versions stay within their bound", len(kept) <= most + 1, f"{len(kept)} of {most}")


def _check_temporaries(report: Report, run: RunDir, folder: Path) -> None:
    """Half-written files are what a kill leaves; an hour later the next learner must sweep them all."""
    left = [path for path in run.root.rglob(".*") if _TEMPORARY.fullmatch(path.name)]
    report.fact("half-written files left by kills", len(left))
    for path in left:
        os.utime(path, (path.stat().st_mtime - 3700,) * 2)
    understudy("learn", str(run.root), "--once", folder=folder)
    unswept = [str(path.relative_to(run.root)) for path in left if path.exists()]
    report.equal("of them, not swept an hour later", unswept, [])
