from __future__ import annotations

import json
import shutil
import time
from pathlib import Path

import pytest

from game_files import put_game
from understudy.experience.episode import EpisodeMeta
from understudy.experience.journal import Journal
from understudy.ledger.connection import Ledger
from understudy.rundir import RunDir
from understudy.watch import run_files
from understudy.watch.snapshot import read_run
from watch.prepared import learned_run, new_run


@pytest.fixture
def run(learned: RunDir) -> RunDir:
    return learned


def test_a_look_finds_everything_that_is_in_the_folders(run: RunDir) -> None:
    (run.buffer / "bad.npz").write_bytes(b"x")
    waiting = put_game(run.buffer, result="Tie")
    seen = read_run(run)
    assert (seen.exists, seen.problems) == (True, ())
    assert (seen.buffer.count, seen.archive.count, seen.rejected.count) == (2, 40, 0)
    assert seen.buffer.bytes == waiting.stat().st_size + 1
    assert [(file.name, file.result) for file in seen.buffer.recent if file.result] == [(waiting.name, "Tie")]
    assert (seen.model.version, seen.model.updates, seen.model.games, seen.model.publisher) == (5, 4, 40, "learner")
    assert seen.model.kept == (1, 2, 3, 4, 5)
    assert seen.outcomes == {"learned": 40, "online": 0, "skipped": 0, "rejected": 0}
    assert sum(seen.results.values()) == 40
    assert seen.metrics["loss"] == seen.learner.stats["last_loss"]
    assert (seen.learner.state, seen.learner.alive) == ("stopped", False)
    assert seen.disk_free
    assert "Learner Stopped" in "\n".join(seen.log)
    assert seen.events[-1]["event"] == "Learner Stopped"
    json.dumps(seen.as_dict(), allow_nan=False)


def test_games_in_progress_are_counted(run: RunDir) -> None:
    journal = Journal(run.live, EpisodeMeta(), 4, 3)
    assert read_run(run).in_progress == 1
    journal.discard()
    assert read_run(run).in_progress == 0


def test_looking_changes_nothing(run: RunDir) -> None:
    def content() -> dict[str, bytes]:
        return {str(path): path.read_bytes() for path in run.root.rglob("*") if path.is_file()}

    before = content()
    read_run(run)
    assert {path: data for path, data in content().items() if not path.endswith("-shm")} == {
        path: data for path, data in before.items() if not path.endswith("-shm")
    } | {path: data for path, data in content().items() if path.endswith("-wal")}


def test_a_copy_of_the_folder_tells_the_same(run: RunDir, tmp_path: Path) -> None:
    shutil.copytree(run.root, tmp_path / "copy")
    mine, copied = read_run(run), read_run(RunDir.at(tmp_path / "copy"))
    assert (copied.outcomes, copied.metrics, copied.archive.count) == (mine.outcomes, mine.metrics, 40)


def test_a_copy_of_a_ledger_in_use_holds_what_is_not_yet_in_its_file(run: RunDir, tmp_path: Path) -> None:
    with Ledger(run.ledger) as ledger:
        ledger.record_version(6, 5, "learner", (), {"loss": 9.0})
        wal = run.ledger.with_name(f"{run.ledger.name}-wal")
        assert wal.stat().st_size
        with Ledger.copy_of(run.ledger) as copy:
            assert copy.head() == 6
    assert not list(tmp_path.glob("ledger*"))


def test_what_is_missing_or_damaged_is_told_and_the_rest_is_read(run: RunDir) -> None:
    run.status.write_text("{")
    run.model.write_bytes(b"PK nonsense")
    shutil.rmtree(run.archive)
    run.events.write_text('{"event": "cut off\n', encoding="utf-8")
    seen = read_run(run)
    assert len(seen.problems) == len(seen.inside.damaged_models) == 1
    assert (seen.model.exists, seen.model.version, seen.events) == (True, None, ())
    assert (seen.learner.seen, seen.outcomes["learned"]) == (False, 40)


def test_without_a_ledger_the_reasons_come_from_the_notes(run: RunDir) -> None:
    run.ledger.unlink()
    (run.rejected / "x.npz").write_bytes(b"")
    (run.rejected / "x.npz.reason.json").write_text('{"file": "x.npz", "reason": "It is empty."}', encoding="utf-8")
    seen = read_run(run)
    assert [reason.reason for reason in seen.reasons] == ["It is empty."]
    assert (seen.rejected.count, seen.archive.count) == (1, 40)


def test_a_new_run_and_one_that_is_not_there_can_be_looked_at(tmp_path: Path) -> None:
    assert read_run(new_run(tmp_path / "new")).model.version == 1
    empty = tmp_path / "empty"
    empty.mkdir()
    assert read_run(RunDir.at(empty)).exists
    assert not read_run(RunDir.at(tmp_path / "nothing")).exists


@pytest.mark.slow
def test_of_very_many_files_the_number_is_told_but_no_size(run: RunDir, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_files, "_MEASURED_FILES", 5)
    seen = read_run(run)
    assert (seen.rejected.count, seen.rejected.bytes) == (0, 0)
    for number in range(8):
        put_game(run.buffer, seed=number)
    waiting = read_run(run).buffer
    assert (waiting.count, waiting.bytes, len(waiting.recent)) == (8, None, 5)


def test_the_last_game_is_the_newest_one_also_while_it_waits(tmp_path: Path) -> None:
    run = learned_run(tmp_path / "run", games=4)
    learned = read_run(run).last_game_at
    assert learned is not None
    put_game(run.buffer, seed=50, age=-3600.0)  # it ends in an hour
    newest = read_run(run).last_game_at
    assert newest is not None
    assert 3500 < newest - time.time() < 3700
    assert learned < time.time()
