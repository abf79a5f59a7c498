"""Replay jobs from folder to file, with made-up results where no real replay is needed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from games.zerg.replays.replay_files import archive, replay_file, started
from understudy.cli import main
from understudy.errors import RunDirError
from understudy.games.zerg.replays.build_orders import summarize, write_build_orders
from understudy.games.zerg.replays.jobs import ReplayJobs, replay_folder
from understudy.games.zerg.replays.ledger import ReplayTable
from understudy.games.zerg.replays.settings import ReplaySettings
from understudy.jobs.dispatch import Dispatcher
from understudy.jobs.queue import JobOutcome
from understudy.ledger.connection import Ledger
from understudy.ledger.jobs import MOST_ATTEMPTS
from understudy.rundir import RunDir
from understudy.sc2.build_orders import read_build_orders
from understudy.settings import LearnerSettings, Settings


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "replays"
    (made / "deep" / "deeper").mkdir(parents=True)
    return made


def put(folder: Path, name: str, data: bytes = b"", age: float = 60.0) -> Path:
    path = folder / name
    path.write_bytes(data or name.encode())
    os.utime(path, (time.time() - age,) * 2)
    return path


def jobs_of(folder: Path, run: RunDir, ledger: Ledger) -> ReplayJobs:
    return ReplayJobs(folder, run, ledger, ReplaySettings())


def facts(pool: float) -> dict[str, Any]:
    return {
        "matchup": "ZvT",
        "result": "Win",
        "patch": "5.0.15.1",
        "kind": "ladder",
        "computer": False,
        "starting_workers": 12,
        "milestones": {"pool": [pool, 17.0]},
        "drones": [],
        "army_supply": [],
        "first_attack": None,
    }


def result(replay: str, *observations: dict[str, Any]) -> dict[str, Any]:
    return {"replay": replay, "note": None if observations else "no Zerg player", "observations": list(observations)}


def test_only_replays_are_found_in_all_subfolders(folder: Path, run: RunDir) -> None:
    for name in ("a.SC2Replay", "deep/b.sc2replay", "deep/deeper/c.SC2Replay", "notes.txt", "d.SC2Replay.part"):
        put(folder, name)
    with Ledger(run.ledger) as ledger:
        assert [job.name for job in jobs_of(folder, run, ledger).scan()] == [
            "a.SC2Replay",
            "b.sc2replay",
            "c.SC2Replay",
        ]


def test_a_copy_or_a_new_name_is_the_same_replay(folder: Path, run: RunDir) -> None:
    put(folder, "a.SC2Replay", b"same")
    put(folder, "deep/copy.SC2Replay", b"same")
    with Ledger(run.ledger) as ledger:
        replays = jobs_of(folder, run, ledger)
        for job in replays.scan():
            assert replays.settle(JobOutcome(job, result=result("its hash", facts(60.0))))
        assert (replays.done, replays.copies) == (1, 1)
        assert list(replays.scan()) == []
        assert list(jobs_of(folder, run, ledger).scan()) == []  # nor after a restart
        (folder / "a.SC2Replay").rename(folder / "renamed.SC2Replay")
        (job,) = replays.scan()
        assert replays.settle(JobOutcome(job, result=result("its hash", facts(60.0))))
        assert (replays.done, replays.copies) == (1, 2)


def test_new_files_are_picked_up_when_they_are_complete(folder: Path, run: RunDir) -> None:
    with Ledger(run.ledger) as ledger:
        replays = jobs_of(folder, run, ledger)
        path = put(folder, "a.SC2Replay", b"half", age=0.0)
        assert list(replays.scan()) == []  # just written: the game may not have finished
        put(folder, "a.SC2Replay", b"whole", age=10.0)
        (job,) = replays.scan()
        assert job.argument["path"] == str(path)


def test_a_long_scan_goes_on_where_it_ended(folder: Path, run: RunDir) -> None:
    for name in "abc":
        put(folder, f"{name}.SC2Replay")
    with Ledger(run.ledger) as ledger:
        replays = jobs_of(folder, run, ledger)
        found = []
        for _ in range(3):
            found += [job.name for job in replays.scan(seconds=0.0)]
            assert replays.looking
        assert replays.scan(seconds=0.0) == []
        assert not replays.looking
    assert found == ["a.SC2Replay", "b.SC2Replay", "c.SC2Replay"]


def test_a_failing_job_is_tried_three_times_in_all_restarts_included(folder: Path, run: RunDir) -> None:
    put(folder, "a.SC2Replay")
    for attempt in range(1, MOST_ATTEMPTS + 1):
        with Ledger(run.ledger) as ledger:
            replays = jobs_of(folder, run, ledger)
            (job,) = replays.scan()
            ended = replays.settle(JobOutcome(job, failure="Its worker was killed by signal 9."))
            assert ended == (attempt == MOST_ATTEMPTS)
    with Ledger(run.ledger) as ledger:
        assert list(jobs_of(folder, run, ledger).scan()) == []
        ((_, name, outcome, reason, *_rest),) = ReplayTable(ledger).all()
        assert (name, outcome) == ("a.SC2Replay", "set aside")
        assert reason == "Its worker was killed by signal 9. Tried 3 times."
        assert ledger.failures_by_kind() == {"analyse": 3}


def test_a_result_counts_once_however_often_it_comes(folder: Path, run: RunDir) -> None:
    put(folder, "a.SC2Replay")
    with Ledger(run.ledger) as ledger:
        replays = jobs_of(folder, run, ledger)
        (job,) = replays.scan()
        replays.settle(JobOutcome(job, result=result(job.key, facts(60.0))))
        assert replays.write()
        before = run.build_orders.read_bytes()
        replays.settle(JobOutcome(job, result=result(job.key, facts(60.0))))
        assert not replays.write()
    assert run.build_orders.read_bytes() == before


def test_replays_without_zerg_leave_the_file_as_it_is(folder: Path, run: RunDir) -> None:
    run.build_orders.write_text("what was learned elsewhere")
    put(folder, "a.SC2Replay")
    with Ledger(run.ledger) as ledger:
        replays = jobs_of(folder, run, ledger)
        (job,) = replays.scan()
        replays.settle(JobOutcome(job, result=result(job.key)))
        assert not replays.write()
        assert ReplayTable(ledger).by_outcome() == {"analysed": 1, "rejected": 0, "set aside": 0}
    assert run.build_orders.read_text() == "what was learned elsewhere"


def test_what_another_run_learned_is_merged_with(folder: Path, run: RunDir, tmp_path: Path) -> None:
    write_build_orders(run.build_orders, summarize({"elsewhere:0": facts(80.0)}))
    put(folder, "a.SC2Replay")
    with Ledger(run.ledger) as ledger:
        replays = jobs_of(folder, run, ledger)
        (job,) = replays.scan()
        replays.settle(JobOutcome(job, result=result(job.key, facts(60.0))))
        assert replays.write()
    assert read_build_orders(run.build_orders).target("ZvT", "pool") == (70.0, 17.0)


def test_games_of_ones_own_are_known_by_name(folder: Path, run: RunDir) -> None:
    for name in ("a", "b"):
        put(folder, f"{name}.SC2Replay")
    with Ledger(run.ledger) as ledger:
        replays = ReplayJobs(folder, run, ledger, ReplaySettings(own_players="Someone, MyBot"))
        for job, player in zip(list(replays.scan()), ("mybot", "Serral"), strict=True):
            replays.settle(JobOutcome(job, result=result(job.key, facts(60.0) | {"name": player})))
        replays.write()
    assert read_build_orders(run.build_orders).content["sources"]["kinds"] == {"ladder": 1, "own": 1}


def test_games_of_professionals_are_known_by_both_names_where_no_ladder_matched_them(folder: Path, run: RunDir) -> None:
    games = [
        ("custom", "Serral", "Dark"),
        ("ladder", "Serral", "Dark"),
        ("custom", "Serral", "x"),
        ("custom", "x", "y"),
    ]
    for number, _ in enumerate(games):
        put(folder, f"{number}.SC2Replay")
    with Ledger(run.ledger) as ledger:
        replays = ReplayJobs(folder, run, ledger, ReplaySettings(professionals="X, Y"))
        for job, (kind, name, opponent) in zip(replays.scan(), games, strict=True):
            seen = facts(60.0) | {"kind": kind, "name": name, "opponent": opponent}
            replays.settle(JobOutcome(job, result=result(job.key, seen)))
        replays.write()
    assert read_build_orders(run.build_orders).content["sources"]["kinds"] == {"ladder": 1, "professional": 3}
    with Ledger(run.ledger) as ledger:
        again = ReplayJobs(folder, run, ledger, ReplaySettings())
        again.write()
    kinds = read_build_orders(run.build_orders).content["sources"]["kinds"]
    assert kinds == {"custom": 2, "ladder": 1, "professional": 1}


def test_a_file_that_cannot_be_read_is_kept_beside(folder: Path, run: RunDir) -> None:
    run.build_orders.write_text("notes by hand")
    put(folder, "a.SC2Replay")
    with Ledger(run.ledger) as ledger:
        replays = jobs_of(folder, run, ledger)
        (job,) = replays.scan()
        replays.settle(JobOutcome(job, result=result(job.key, facts(60.0))))
        assert replays.write()
    (kept,) = run.root.glob("learned_build_orders.json.*.unreadable")
    assert kept.read_text() == "notes by hand"
    assert read_build_orders(run.build_orders).target("ZvT", "pool") == (60.0, 17.0)


def test_a_missing_folder_is_an_error_that_says_what_to_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RunDirError, match="REPLAY_ARCHIVE_DIR"):
        replay_folder(str(tmp_path / "none"))
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    with pytest.raises(RunDirError, match="REPLAY_ARCHIVE_DIR"):
        replay_folder("")
    assert replay_folder(str(tmp_path)) == tmp_path


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no named pipes in folders and no /dev/zero")
def test_what_is_no_ordinary_file_is_set_aside_and_never_opened(
    folder: Path, run: RunDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(folder / "pipe.SC2Replay")
    (folder / "endless.SC2Replay").symlink_to("/dev/zero")
    with (folder / "sparse.SC2Replay").open("wb") as stream:
        stream.truncate(30_000_000_000)
    os.utime(folder / "sparse.SC2Replay", (time.time() - 60,) * 2)

    def no_opening(path: Path, *_: object) -> None:
        raise AssertionError(path)

    with Ledger(run.ledger) as ledger:
        monkeypatch.setattr(Path, "open", no_opening)
        replays = jobs_of(folder, run, ledger)
        assert list(replays.scan()) == []
        assert replays.set_aside == 3
        reasons = {row[1]: row[3] or "" for row in ReplayTable(ledger).all()}
        assert list(jobs_of(folder, run, ledger).scan()) == []  # nor after a restart
    assert "pipe" in reasons["pipe.SC2Replay"]
    assert "device" in reasons["endless.SC2Replay"]
    assert "larger than 50,000,000 bytes" in reasons["sparse.SC2Replay"]


@pytest.mark.slow
def test_the_command_sets_aside_what_is_no_replay_with_its_reason(
    folder: Path, run: RunDir, capsys: pytest.CaptureFixture[str]
) -> None:
    put(folder, "holiday.SC2Replay", b"\x89PNG not a replay")
    put(folder, "broken.SC2Replay", b"MPQ\x1b" + bytes(60))
    assert main(["replays", str(folder), "--run-dir", str(run.root), "--learner.max-workers", "1"]) == 0
    out = capsys.readouterr().out
    assert "Rejected:                2" in out
    assert "holiday.SC2Replay: This is not a StarCraft II replay: it has no MPQ header." in out
    assert "broken.SC2Replay: The header cannot be read; the file is damaged" in out
    assert not run.build_orders.exists()


@pytest.mark.slow
def test_the_command_learns_build_orders_and_does_so_once(
    folder: Path, run: RunDir, capsys: pytest.CaptureFixture[str]
) -> None:
    for i in range(3):
        put(folder / "deep", f"{i}.SC2Replay", made_up(i))
    command = ["replays", str(folder), "--run-dir", str(run.root)]
    assert main(command) == 0
    assert "Loaded:                  3\n" in capsys.readouterr().out
    before = run.build_orders.read_bytes()
    assert read_build_orders(run.build_orders).target("ZvP", "pool") == (25.0, 12.0)
    put(folder, "again.SC2Replay", made_up(0))
    assert main(command) == 0
    out = capsys.readouterr().out
    assert "Loaded:                  0\n" in out
    assert "Known already:           4\n" in out
    assert run.build_orders.read_bytes() == before


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere memory is watched, which takes longer than this bomb")
def test_a_decompression_bomb_ends_a_worker_and_nothing_else(
    folder: Path, run: RunDir, capsys: pytest.CaptureFixture[str]
) -> None:
    put(folder, "bomb.SC2Replay", archive({"replay.tracker.events": bytes(300_000_000)}, 96000, 6720))
    put(folder, "well.SC2Replay", made_up(0))
    arguments = ["--learner.max-workers", "1", "--replays.memory-limit", "150000000"]
    assert main(["replays", str(folder), "--run-dir", str(run.root), *arguments]) == 0
    out = capsys.readouterr().out
    assert "bomb.SC2Replay: It needed more than 150,000,000 bytes of memory. Tried 3 times." in out
    assert "Loaded:                  1\n" in out


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signal")
def test_killed_workers_cost_time_and_nothing_else(folder: Path, tmp_path: Path) -> None:
    for i in range(8):
        put(folder, f"{i}.SC2Replay", made_up(i))
    calm, disturbed = RunDir.at(tmp_path / "calm"), RunDir.at(tmp_path / "disturbed")
    assert analyse(folder, calm, kills=0) == {"analysed": 8, "rejected": 0, "set aside": 0}
    assert analyse(folder, disturbed, kills=3) == {"analysed": 8, "rejected": 0, "set aside": 0}
    assert disturbed.build_orders.read_bytes() == calm.build_orders.read_bytes()


def analyse(folder: Path, run: RunDir, kills: int) -> dict[str, int]:
    """Analyse a folder, killing the worker of every second running job."""
    run.create()
    settings = Settings(learner=LearnerSettings(max_workers=1))
    with Ledger(run.ledger) as ledger:
        dispatcher = Dispatcher(run, settings, [ReplayJobs(folder, run, ledger, settings.replays)], governed=False)
        dispatcher.turn(0.0)
        spared = False
        while dispatcher.busy:
            dispatcher.turn(0.0 if kills else 0.5)
            if kills and dispatcher.workers.running:
                spared = not spared
                if not spared:
                    os.kill(dispatcher.workers.pids[0], signal.SIGKILL)
                    kills -= 1
                dispatcher.turn(5.0)
        dispatcher.close()
        assert kills == 0
        return ReplayTable(ledger).by_outcome()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows sends Ctrl-C to a whole console")
def test_an_interrupted_command_keeps_what_is_done_and_goes_on_next_time(folder: Path, run: RunDir) -> None:
    for i in range(200):
        put(folder, f"{i}.SC2Replay", made_up(i))
    command = [sys.executable, "-m", "understudy", "replays", str(folder), "--run-dir", str(run.root)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    deadline = time.monotonic() + 60
    while not analysed(run):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=5)
    first = analysed(run)
    assert process.returncode == 130
    assert f"Loaded:                  {first}\n" in out
    assert 0 < first < 200
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    assert analysed(run) == 200


def analysed(run: RunDir) -> int:
    with Ledger(run.ledger) as ledger:
        return ReplayTable(ledger).by_outcome()["analysed"]


def made_up(i: int) -> bytes:
    """A replay in which the pool comes five seconds later than in the one before."""
    return replay_file(started(447 + 112 * i, 50, "SpawningPool"))
