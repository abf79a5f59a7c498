from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from game_files import make_model, put_game
from understudy.cli import main
from understudy.experience.episode import EpisodeMeta
from understudy.experience.journal import Journal
from understudy.ledger.connection import Ledger, LedgerGame
from understudy.models.gate import Gate
from understudy.models.state import read_model, to_bytes
from understudy.models.store import ModelStore
from understudy.run.status import write_status
from understudy.rundir import RunDir
from understudy.settings import GateSettings
from understudy.watch.health import judge
from understudy.watch.snapshot import read_run


@pytest.fixture
def run(tmp_path: Path) -> RunDir:
    run = RunDir.at(tmp_path / "run")
    run.create()
    store = ModelStore(run.model, run.ledger)
    state = store.create(make_model())
    store.publish(state, state, publisher="learner")
    return run


def doctor(run: RunDir, capsys: pytest.CaptureFixture[str], *flags: str) -> tuple[int, str]:
    code = main(["doctor", str(run.root), *flags])
    return code, capsys.readouterr().out


def test_a_sound_run_is_well(run: RunDir, capsys: pytest.CaptureFixture[str]) -> None:
    code, out = doctor(run, capsys)
    assert code == 0
    assert "model version 2" in out
    assert out.endswith("All is well.\n")


def test_no_run_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", str(tmp_path / "nowhere")]) == 1
    assert "There is no run at" in capsys.readouterr().err


def test_a_missing_folder_is_made_again(run: RunDir, capsys: pytest.CaptureFixture[str]) -> None:
    run.rejected.rmdir()
    code, out = doctor(run, capsys)
    assert code == 0  # a copy that nobody uses may lack empty folders
    assert "NOTE     Folders of" in out
    write_status(run.status, {"state": "running"})
    code, out = doctor(run, capsys)
    assert code == 1
    assert "PROBLEM  Folders of" in out
    assert "data/rejected" in out
    code, out = doctor(run, capsys, "--fix")
    assert code == 0
    assert "repaired" in out
    assert run.rejected.is_dir()


def test_a_damaged_model_is_put_back(run: RunDir, capsys: pytest.CaptureFixture[str]) -> None:
    run.model.write_bytes(b"garbage")
    code, out = doctor(run, capsys)
    assert code == 1
    assert "PROBLEM" in out
    assert doctor(run, capsys, "--fix")[0] == 0
    assert ModelStore(run.model, run.ledger).load().version == 2


def test_a_publication_that_was_cut_off_is_finished(
    run: RunDir, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("understudy.watch.file_checks.SETTLED_SECONDS", 0.0)
    run.model.write_bytes(ModelStore(run.model, run.ledger).version_path(1).read_bytes())
    with Ledger(run.ledger) as ledger:
        ledger.record_placed(1)
    code, out = doctor(run, capsys)
    assert code == 1
    assert "version 1, but the ledger's newest is 2" in out
    assert doctor(run, capsys, "--fix")[0] == 0


def test_a_damaged_ledger_is_put_aside(run: RunDir, capsys: pytest.CaptureFixture[str]) -> None:
    run.ledger.write_bytes(b"this is not a database" * 100)
    assert doctor(run, capsys)[0] == 1
    assert doctor(run, capsys, "--fix")[0] == 0
    assert len(list(run.root.glob("understudy.sqlite.damaged-*"))) == 1
    with Ledger(run.ledger) as ledger:
        assert ledger.head() == 2


def test_leftovers_of_killed_processes_are_found(run: RunDir, capsys: pytest.CaptureFixture[str]) -> None:
    half = run.buffer / ".game_x.npz.123-0123abcd.tmp"
    half.write_bytes(b"")
    os.utime(half, (time.time() - 7200,) * 2)
    journal = Journal(run.live, EpisodeMeta(), 4, 3)
    journal.append([0, 0, 0, 0], 0, -1.0, 0.0, None, 0.0)
    journal.close()
    code, out = doctor(run, capsys, "--fix")
    assert code == 0  # salvaging is the learner's work, and the light is grey
    assert "NOTE     1 game(s) of bots that died" in out
    assert not half.exists()


def test_a_learner_that_died_is_said(run: RunDir, capsys: pytest.CaptureFixture[str]) -> None:
    run.learner_lock.touch()
    write_status(run.status, {"state": "running", "pid": 4242, "heartbeat": time.time() - 4})
    code, out = doctor(run, capsys)
    assert code == 1
    assert "pid 4242) died" in out


@pytest.mark.skipif(os.name != "posix", reason="elsewhere three seconds of silence tell")
def test_a_learner_that_died_a_moment_ago_is_said(run: RunDir, capsys: pytest.CaptureFixture[str]) -> None:
    run.learner_lock.touch()
    with subprocess.Popen([sys.executable, "-c", ""]) as dead:
        pass
    write_status(run.status, {"state": "running", "pid": dead.pid})
    assert f"pid {dead.pid}) died" in doctor(run, capsys)[1]
    write_status(run.status, {"state": "running", "pid": os.getpid()})
    assert ") died" not in doctor(run, capsys)[1]


@pytest.mark.parametrize(
    "content", [b"\0" * 100, b"[" * 200_000, b"[1, 2]", None], ids=["zeros", "deep", "list", "folder"]
)
def test_a_status_that_cannot_be_read_is_said_with_what_to_do(
    run: RunDir, capsys: pytest.CaptureFixture[str], content: bytes | None
) -> None:
    run.status.mkdir() if content is None else run.status.write_bytes(content)
    code, out = doctor(run, capsys)
    assert code == 1
    assert "status.json cannot be read; delete it" in out


def test_games_from_the_future_are_said(run: RunDir, capsys: pytest.CaptureFixture[str]) -> None:
    put_game(run.buffer, age=-7200)
    assert "in the future" in doctor(run, capsys)[1]


def test_games_archived_unlearned_are_said_with_the_reason(run: RunDir, capsys: pytest.CaptureFixture[str]) -> None:
    write_status(run.status, {"state": "stopped", "skipped": {"too old": 7}, "skipped_at": time.time() - 60})
    code, out = doctor(run, capsys)
    assert code == 1
    assert "PROBLEM  Games were archived without learning, the last one 1m 0" in out
    assert "7 waited longer than learner.max_file_age." in out
    assert "Raise learner.max_file_age" in out
    write_status(run.status, {"state": "stopped", "skipped": {"too old": 7}, "skipped_at": time.time() - 7200})
    code, out = doctor(run, capsys)
    assert code == 0
    assert "games archived unlearned: 7 waited longer than learner.max_file_age" in out


def test_a_value_out_of_range_is_said_with_what_to_do(run: RunDir, capsys: pytest.CaptureFixture[str]) -> None:
    found = {"outliers": [{"feature": "minerals", "value": 1e12, "game": "game_1.npz"}]}
    write_status(run.status, {"state": "stopped", **found, "outliers_at": time.time() - 60})
    code, out = doctor(run, capsys)
    assert code == 0  # the light is green, too
    assert "NOTE     A value far outside" in out
    assert "range of its feature was learned from 1m 0" in out
    assert "minerals was 1e+12 in game_1.npz." in out
    assert "Check the bot's code that computes it" in out
    write_status(run.status, {"state": "stopped", **found, "outliers_at": time.time() - 7200})
    assert doctor(run, capsys)[0] == 0


def test_a_model_of_nan_is_said_with_what_to_do(run: RunDir, capsys: pytest.CaptureFixture[str]) -> None:
    state = read_model(run.model)
    broken = {**state.arrays, "parameters": np.full_like(state.arrays["parameters"], np.nan)}
    run.model.write_bytes(to_bytes(dataclasses.replace(state, arrays=broken)))
    code, out = doctor(run, capsys)
    assert code == 1
    assert "PROBLEM  Model version 2 is broken: " in out
    assert f"`understudy models {run.root} --rollback VERSION`" in out


def test_conflict_copies_are_named_and_set_aside(run: RunDir, capsys: pytest.CaptureFixture[str]) -> None:
    copy = run.models / "rl_agent_model.sync-conflict-20260125-143022-ABCDEFG.npz"
    copy.write_bytes(b"theirs")
    code, out = doctor(run, capsys)
    assert code == 1
    assert f"such as {copy.name}" in out
    assert doctor(run, capsys, "--fix")[0] == 0
    assert (run.rejected / copy.name).read_bytes() == b"theirs"


def test_a_conflict_copy_of_a_game_is_not_learned_from(run: RunDir, capsys: pytest.CaptureFixture[str]) -> None:
    game = put_game(run.buffer)
    game.rename(game.with_name(f"{game.stem} (Anna's conflicted copy 2026-01-25).npz"))
    assert main(["learn", str(run.root), "--once"]) == 0
    (reason,) = run.rejected.glob("*.reason.json")
    assert "conflict copy" in reason.read_text()
    assert "Rename it if it is a game of its own" in reason.read_text()


def _no_folder(run: RunDir) -> None:
    run.rejected.rmdir()


def _no_folder_for_a_learner(run: RunDir) -> None:
    run.rejected.rmdir()
    write_status(run.status, {"state": "running"})


def _dead_journal(run: RunDir) -> None:
    journal = Journal(run.live, EpisodeMeta(), 4, 3)
    journal.append([0, 0, 0, 0], 0, -1.0, 0.0, None, 0.0)
    journal.close()
    for path in run.live.glob("*.journal"):
        os.utime(path, (time.time() - 7200,) * 2)


def _half_written(run: RunDir) -> None:
    (run.buffer / ".x.npz.1-00000000.tmp").touch()
    os.utime(run.buffer / ".x.npz.1-00000000.tmp", (time.time() - 7200,) * 2)


def _learned_already(run: RunDir) -> None:
    game = put_game(run.buffer, age=60)
    with Ledger(run.ledger) as ledger:
        ledger.record_skipped([LedgerGame(game.stem.rpartition("_")[2], game.name, "Victory", 12, 0.0, 1)])
    write_status(run.status, {"state": "stopped"})


def _no_model(run: RunDir) -> None:
    run.model.unlink()


def _damaged_model(run: RunDir) -> None:
    run.model.write_bytes(b"garbage")


def _publication_cut_off(run: RunDir) -> None:
    run.model.write_bytes(ModelStore(run.model, run.ledger).version_path(1).read_bytes())


def _damaged_ledger(run: RunDir) -> None:
    run.ledger.write_bytes(b"this is not a database" * 100)


def _damaged_page(run: RunDir) -> None:
    """Damage that only a check of the whole file finds: in the tree of an index."""
    with Ledger(run.ledger) as ledger:
        games = [LedgerGame(f"{n}", f"{n}.npz", "Victory", 12, 0.0, 1) for n in range(2000)]
        ledger.record_skipped(games)
        (page,) = ledger.query("SELECT rootpage FROM sqlite_master WHERE name = 'sqlite_autoindex_games_1'")[0]
        (size,) = ledger.query("PRAGMA page_size")[0]
        ledger.query("PRAGMA wal_checkpoint(TRUNCATE)")
    with run.ledger.open("r+b") as stream:
        stream.seek((page - 1) * size + 12)
        stream.write(b"\xff" * (size - 12))


def _model_of_nan(run: RunDir) -> None:
    state = read_model(run.model)
    broken = {**state.arrays, "parameters": np.full_like(state.arrays["parameters"], np.nan)}
    run.model.write_bytes(to_bytes(dataclasses.replace(state, arrays=broken)))


def _champion_apart(run: RunDir) -> None:
    Gate(run.ledger, ModelStore(run.model, run.ledger)).use(GateSettings(mode="strict"))
    store = ModelStore(run.model, run.ledger)
    head = store.load()
    store.publish(head, head, publisher="learner")


def _champion_replaced(run: RunDir) -> None:
    _champion_apart(run)
    run.model.write_bytes(ModelStore(run.model, run.ledger).version_path(1).read_bytes())


def _dead_learner(run: RunDir) -> None:
    run.learner_lock.touch()
    write_status(run.status, {"state": "running", "pid": 4242, "heartbeat": time.time() - 4})


REPAIRED = {
    "missing folders",
    "model missing",
    "model damaged",
    "model by hand",
    "publication cut off",
    "ledger damaged",
}
HARMS: list[tuple[Callable[[RunDir], None], str]] = [
    (_no_folder, "missing folders"),
    (_no_folder_for_a_learner, "missing folders"),
    (_dead_journal, "unfinished games"),
    (_half_written, ""),
    (_learned_already, ""),
    (_no_model, "model missing"),
    (_damaged_model, "model damaged"),
    (_model_of_nan, "model broken"),
    (_champion_apart, ""),
    (_champion_replaced, "model by hand"),
    (_publication_cut_off, "publication cut off"),
    (_damaged_ledger, "ledger damaged"),
    (_damaged_page, "ledger damaged"),
    (_dead_learner, "learner died"),
]


@pytest.mark.parametrize(("harm", "name"), HARMS, ids=lambda value: getattr(value, "__name__", ""))
def test_doctor_and_the_light_agree_about_files(
    run: RunDir,
    harm: Callable[[RunDir], None],
    name: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("understudy.watch.file_checks.SETTLED_SECONDS", 0.0)
    harm(run)
    found = judge(read_run(run))
    code, out = doctor(run, capsys)
    assert [trouble.name for trouble in found.troubles] == ([name] if name else [])
    assert code == (found.light in ("amber", "red")), f"{found.light}: {out}"
    assert ("PROBLEM" in out) == (code == 1)
    for trouble in found.troubles:
        assert trouble.what in out
    if name in REPAIRED:
        assert doctor(run, capsys, "--fix")[0] == 0
        assert judge(read_run(run)).troubles == ()


TROUBLES: list[dict[str, object]] = [
    {},
    {"state": "stopped", "skipped": {"too old": 7}, "skipped_at": time.time()},
    {"state": "running", "loop_seconds": 20.0},
    {"state": "running", "model_trouble": {"what": "The model is broken.", "advice": "Go back."}},
    {"state": "running", "worker_deaths": 3},
    {"state": "paused by somebody"},
    {"state": "waiting: No space left on device"},
]


@pytest.mark.parametrize("status", TROUBLES, ids=lambda status: str(status)[:40])
def test_doctor_and_the_light_agree(run: RunDir, capsys: pytest.CaptureFixture[str], status: dict[str, object]) -> None:
    if status:
        write_status(run.status, status)
    code, out = doctor(run, capsys)
    found = judge(read_run(run))
    assert code == (found.light in ("amber", "red"))
    for trouble in found.troubles:
        assert trouble.what.rpartition(" ago")[0][:20] in out
        assert trouble.advice in out
