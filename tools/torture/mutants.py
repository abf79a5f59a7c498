"""Files that must never be learned from, among good ones: the learner sorts them, in bounded memory."""

from __future__ import annotations

import json
import time
from pathlib import Path

from tools.torture.checks import Report
from tools.torture.processes import understudy

from experience.corrupt_files import MARKER, corrupt_files, sound_file
from understudy.agent import RLAgent
from understudy.experience.episode import Expected, features_hash
from understudy.ledger.connection import Ledger
from understudy.models.state import read_model
from understudy.rundir import RunDir

_FEATURES = tuple(f"feature {i}" for i in range(12))
_MOST_MEMORY = 400_000_000


def feed_mutants(report: Report, folder: Path, count: int, seed: int) -> None:
    """Run the learner on mutants with a good game after every tenth of them."""
    run = RunDir.at(folder / "run")
    RLAgent(len(_FEATURES), 5, run_dir=run.root, features=_FEATURES, hidden=(16,), online_training=False).close()
    expected = Expected(len(_FEATURES), 5, features_hash(_FEATURES))
    mutants = {path.name for path, _ in corrupt_files(run.buffer, count, seed, expected)}
    good = {
        f"game_20260125_{i // 3600:02}{i // 60 % 60:02}{i % 60:02}_Victory_good{i}.npz" for i in range(0, count, 10)
    }
    for index, name in enumerate(sorted(good)):
        (run.buffer / name).write_bytes(sound_file(seed + index, expected, run.buffer))
    start = time.monotonic()
    flags = ("--storage.rejected-files", str(2 * count))
    code, printed, peak = understudy("learn", str(run.root), "--once", *flags, folder=folder)
    report.fact("files, seconds of the learner", f"{count + len(good)}, {time.monotonic() - start:.1f}")
    report.check("the learner ends with 0", code == 0, "" if code == 0 else printed[-1500:])
    report.check("without a traceback", "Traceback" not in printed)
    report.check(f"peak memory is below {_MOST_MEMORY // 10**6} MB", peak < _MOST_MEMORY, f"{peak / 1e6:.0f} MB")
    report.check("no pickle was executed", not list(run.root.rglob(MARKER)))
    report.equal("files left in the buffer", len(list(run.buffer.glob("*.npz"))), 0)
    _check_rejected(report, run, mutants)
    with Ledger(run.ledger) as ledger:
        learned = {game.name for game, outcome, version in ledger.games() if outcome == "learned" and version}
    report.equal("good games learned", len(learned & good), len(good))
    report.equal("mutants learned", learned - good, set())
    report.equal("model's count of games", read_model(run.model).counters["games"], len(good))
    report.equal("good games in the archive", len({p.name for p in run.archive.glob("*.npz")} & good), len(good))


def _check_rejected(report: Report, run: RunDir, mutants: set[str]) -> None:
    rejected = {path.name for path in run.rejected.glob("*.npz")}
    report.equal("mutants that are not in rejected/", len(mutants - rejected), 0)
    report.equal("good files in rejected/", rejected - mutants, set())
    told = [json.loads(note.read_text(encoding="utf-8")) for note in run.rejected.glob("*.reason.json")]
    with_reason = {note["file"] for note in told if len(note["reason"]) > 10}
    report.equal("mutants without a reason", len(mutants - with_reason), 0)
    with Ledger(run.ledger) as ledger:
        report.equal("mutants without a row in the ledger", len(mutants - {name for name, _ in ledger.rejections()}), 0)
