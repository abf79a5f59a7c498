from __future__ import annotations

import errno
import json
import logging
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from game_files import ACTIONS, STATE_DIM, put_game
from runs import drained
from understudy.experience.episode import Episode, EpisodeMeta, Expected, read_episode
from understudy.experience.file_clock import FileClock
from understudy.experience.journal import Journal
from understudy.experience.spool import Spool, WaitingGame
from understudy.learner.loop import LearnerLoop
from understudy.ledger.connection import Ledger
from understudy.models.state import ModelState
from understudy.rundir import RunDir
from understudy.settings import LearnerSettings, Settings, StorageSettings

EXPECTED = Expected(STATE_DIM, len(ACTIONS))


@pytest.fixture
def ledger(run: RunDir) -> Iterator[Ledger]:
    with Ledger(run.ledger) as ledger:
        yield ledger


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.glob("*.npz")}


def test_games_come_oldest_first_and_stay_until_settled(run: RunDir, ledger: Ledger) -> None:
    paths = [put_game(run.buffer, seed, age=100 - seed) for seed in range(5)]
    spool = Spool(run, ledger, StorageSettings())
    batch = spool.next_batch(EXPECTED, 3, 0)
    assert [game.path for game in batch] == paths[:3]
    assert names(run.buffer) == {path.name for path in paths}
    ledger.record_version(1, None, "learner", [game.record for game in batch])
    spool.settle(batch)
    assert names(run.archive) == {path.name for path in paths[:3]}
    assert [game.path for game in spool.next_batch(EXPECTED, 3, 0)] == paths[3:]


def test_a_plain_file_of_three_arrays_is_a_game(run: RunDir, ledger: Ledger) -> None:
    np.savez(run.buffer / "mine.npz", states=np.ones((3, STATE_DIM)), actions=np.array([0, 1, 2]), rewards=np.ones(3))
    spool = Spool(run, ledger, StorageSettings())
    (game,) = spool.next_batch(EXPECTED, 10, 3600)
    assert game.record.steps == 3
    assert game.record.id.startswith("sha-")


def test_a_game_the_ledger_knows_is_archived_and_not_given_out(run: RunDir, ledger: Ledger) -> None:
    path = put_game(run.buffer)
    spool = Spool(run, ledger, StorageSettings())
    batch = spool.next_batch(EXPECTED, 10, 0)
    ledger.record_version(1, None, "learner", [game.record for game in batch])
    # killed here: the file is still in the buffer, and another process begins
    again = Spool(run, ledger, StorageSettings())
    assert again.next_batch(EXPECTED, 10, 0) == []
    assert names(run.archive) == {path.name}
    assert ledger.archive_size()[0] == 1


def test_a_look_at_many_files_that_are_not_learned_from_ends_in_time_and_goes_on(
    monkeypatch: pytest.MonkeyPatch, run: RunDir, ledger: Ledger
) -> None:
    for seed in range(3):
        put_game(run.buffer, seed, age=100 - seed, trained_online=True)
    game = put_game(run.buffer, 3)
    monkeypatch.setattr("understudy.experience.spool._LOOK_SECONDS", 0.0)
    spool = Spool(run, ledger, StorageSettings())
    for _ in range(3):
        assert spool.next_batch(EXPECTED, 10, 0) == []
        assert spool.unfinished
    assert [one.path for one in spool.next_batch(EXPECTED, 10, 0)] == [game]
    assert names(run.buffer) == {game.name}


def test_a_learner_does_not_wait_before_it_goes_on_with_files_that_are_not_learned_from(
    monkeypatch: pytest.MonkeyPatch, run: RunDir, first_model: ModelState
) -> None:
    for seed in range(30):
        put_game(run.buffer, seed, trained_online=True)
    monkeypatch.setattr("understudy.experience.spool._LOOK_SECONDS", 0.0)
    loop = LearnerLoop(run, Settings(learner=LearnerSettings(verbose=False, poll_seconds=60.0)))
    assert loop.run(drained())
    assert names(run.buffer) == set()


def test_a_copy_under_another_name_is_learned_once(run: RunDir, ledger: Ledger) -> None:
    path = put_game(run.buffer)
    (run.buffer / "copy.npz").write_bytes(path.read_bytes())
    spool = Spool(run, ledger, StorageSettings())
    batch = spool.next_batch(EXPECTED, 10, 0)
    assert len(batch) == 1
    ledger.record_version(1, None, "learner", [game.record for game in batch])
    spool.settle(batch)
    assert spool.next_batch(EXPECTED, 10, 0) == []
    assert names(run.buffer) == set()


def test_a_game_that_was_learned_online_is_not_learned_again(run: RunDir, ledger: Ledger) -> None:
    put_game(run.buffer, trained_online=True)
    spool = Spool(run, ledger, StorageSettings())
    assert spool.next_batch(EXPECTED, 10, 0) == []
    assert ledger.games_by_outcome()["online"] == 1
    assert names(run.buffer) == set()


def test_unusable_files_do_not_block_the_good_ones(run: RunDir, ledger: Ledger) -> None:
    bad = run.buffer / "game_20000101_000000_Victory_bad.npz"
    np.savez(bad, states=np.ones((10, STATE_DIM)), actions=np.zeros(10, int), rewards=np.ones(9))
    good = put_game(run.buffer)
    spool = Spool(run, ledger, StorageSettings())
    assert [game.path for game in spool.next_batch(EXPECTED, 1, 0)] == [good]
    reason = json.loads((run.rejected / f"{bad.name}.reason.json").read_text())["reason"]
    assert "rewards has 9 entries, states has 10" in reason
    assert (run.rejected / bad.name).exists()
    assert ledger.rejections() == [(bad.name, reason)]
    assert spool.passed.rejected == 1


def test_games_over_the_age_limit_are_archived_unlearned_and_do_not_block(run: RunDir, ledger: Ledger) -> None:
    for seed in range(12):
        put_game(run.buffer, seed, age=4000 + seed)
    young = put_game(run.buffer, 99)
    spool = Spool(run, ledger, StorageSettings())
    spool.clock.count_from(time.monotonic() - 5000)  # it has been learning for so long
    assert [game.path for game in spool.next_batch(EXPECTED, 10, 3600)] == [young]
    assert spool.passed.too_old == 12
    assert len(names(run.archive)) == 12
    assert names(run.buffer) == {young.name}
    assert ledger.games_by_outcome()["skipped"] == 12


def test_games_do_not_get_too_old_while_nobody_can_learn_from_them(run: RunDir, ledger: Ledger) -> None:
    for seed in range(3):
        put_game(run.buffer, seed, age=4000 + seed)
    spool = Spool(run, ledger, StorageSettings())  # a learner that has just started
    assert len(spool.next_batch(EXPECTED, 10, 3600)) == 3
    spool.clock.count_from(time.monotonic() - 5000)
    spool.clock.count_from(time.monotonic())  # the end of a pause
    spool.scan()
    assert len(spool.next_batch(EXPECTED, 10, 3600)) == 3
    assert ledger.games_by_outcome()["skipped"] == 0


def test_of_a_backlog_the_newest_games_come_first(run: RunDir, ledger: Ledger) -> None:
    paths = [put_game(run.buffer, seed, age=100 - seed) for seed in range(12)]
    spool = Spool(run, ledger, StorageSettings(), backlog=10)
    take(spool, ledger, 1)
    batch = spool.next_batch(EXPECTED, 3, 0)
    assert [game.path for game in batch] == paths[10:7:-1]
    settle(spool, ledger, batch)
    spool.scan()
    assert [game.path for game in spool.next_batch(EXPECTED, 3, 0)] == paths[:3]  # no backlog any more


def settle(spool: Spool, ledger: Ledger, batch: list[WaitingGame]) -> None:
    ledger.record_version((ledger.head() or 0) + 1, None, "learner", [game.record for game in batch])
    spool.settle(batch)


def take(spool: Spool, ledger: Ledger, most: int, decisions: int = 10_000) -> int:
    """Learn from one batch, and return how many games it had."""
    spool._scan_seconds = 0.0  # as if another look cost nothing
    batch = spool.next_batch(EXPECTED, most, 0, decisions)
    settle(spool, ledger, batch)
    return len(batch)


def test_batches_grow_with_what_comes_and_with_what_waits_up_to_a_bound(run: RunDir, ledger: Ledger) -> None:
    for seed in range(100):  # of 12 decisions each
        put_game(run.buffer, seed, age=100)
    spool = Spool(run, ledger, StorageSettings(), backlog=8)
    take(spool, ledger, 2)
    assert take(spool, ledger, 2) == 5  # a twentieth: nothing has come
    for seed in range(10):
        put_game(run.buffer, seed)
    assert take(spool, ledger, 2) == 15  # half as many again as have come
    for seed in range(10):
        put_game(run.buffer, seed)
    assert take(spool, ledger, 2, decisions=72) == 6
    assert take(spool, ledger, 2, decisions=0) == 2


def test_games_of_the_same_second_come_in_an_order_that_their_result_has_no_part_in(
    run: RunDir, ledger: Ledger
) -> None:
    for seed in range(40):
        put_game(run.buffer, seed, ended_at=1_000_000.0, result=("Victory", "Defeat")[seed % 2], id=f"{seed:016x}")
    for backlog in (0, 1):
        spool = Spool(run, ledger, StorageSettings(), backlog=backlog)
        spool.scan()
        results = [game.record.result for game in spool.next_batch(EXPECTED, 10, 0)]
        assert results.count("Victory") == 5


def test_a_backlog_is_looked_at_again_for_fresh_games(run: RunDir, ledger: Ledger) -> None:
    for seed in range(5):
        put_game(run.buffer, seed, age=100)
    spool = Spool(run, ledger, StorageSettings(), backlog=2)
    spool.scan()
    fresh = put_game(run.buffer, 9)
    spool._scan_seconds = 0.0
    assert [game.path for game in spool.next_batch(EXPECTED, 1, 0)] == [fresh]


def test_a_buffer_beyond_its_bounds_loses_its_oldest_games_to_the_archive_and_counts_them(
    run: RunDir, ledger: Ledger
) -> None:
    np.savez(run.buffer / "mine.npz", states=np.ones((3, STATE_DIM)), actions=np.array([0, 1, 2]), rewards=np.ones(3))
    os.utime(run.buffer / "mine.npz", (1e9, 1e9))
    (run.buffer / "game_20000101_000000_Victory_bad.npz").write_bytes(b"no zip")
    paths = [put_game(run.buffer, seed, age=100 - seed) for seed in range(20)]
    spool = Spool(run, ledger, StorageSettings(buffer_games=22))
    spool.make_room()
    assert len(names(run.buffer)) == 22  # not beyond them
    spool = Spool(run, ledger, StorageSettings(buffer_games=20))
    spool.make_room()
    assert names(run.buffer) == {path.name for path in paths[2:]}  # a tenth is left free
    assert (spool.passed.no_room, spool.passed.rejected, spool.waiting) == (3, 1, 18)
    assert names(run.archive) == {"mine.npz", paths[0].name, paths[1].name}
    assert ledger.games_by_outcome() == {"learned": 0, "online": 0, "skipped": 3, "rejected": 1}
    size = paths[-1].stat().st_size
    Spool(run, ledger, StorageSettings(buffer_bytes=21 * size // 2)).make_room()
    assert names(run.buffer) == {path.name for path in paths[-9:]}
    paths[0] = (run.archive / paths[0].name).rename(run.buffer / paths[0].name)
    assert paths[0] not in [game.path for game in spool.next_batch(EXPECTED, 100, 0)]  # the ledger knows it


@pytest.mark.slow
def test_room_is_made_in_parts_when_it_takes_long(run: RunDir, ledger: Ledger) -> None:
    template = put_game(run.buffer).read_bytes()
    for i in range(1200):
        (run.buffer / f"game_20260101_{i:06d}_Victory_{i:016x}.npz").write_bytes(template)
    spool = Spool(run, ledger, StorageSettings(buffer_games=100))
    assert spool.make_room(seconds=0) is False
    assert len(names(run.buffer)) == 701
    assert spool.make_room(seconds=3600) is True
    assert (len(names(run.buffer)), spool.waiting, spool.passed.no_room) == (90, 90, 1111)


def test_half_written_files_are_never_looked_at(run: RunDir, ledger: Ledger) -> None:
    (run.buffer / ".game_20260101_000000_Victory_x.npz.1-abcdef01.tmp").write_bytes(b"half")
    (run.buffer / ".hidden.npz").write_bytes(b"half")
    spool = Spool(run, ledger, StorageSettings())
    assert spool.scan() == 0
    assert spool.next_batch(EXPECTED, 10, 0) == []
    assert list(run.rejected.iterdir()) == []


def test_the_archive_keeps_the_newest_within_its_bounds(run: RunDir, ledger: Ledger) -> None:
    paths = [put_game(run.buffer, seed, age=100 - seed) for seed in range(10)]
    size = paths[0].stat().st_size
    spool = Spool(run, ledger, StorageSettings(archive_games=4))
    for version in range(1, 6):
        batch = spool.next_batch(EXPECTED, 2, 0)
        ledger.record_version(version, None, "learner", [game.record for game in batch])
        spool.settle(batch)
    assert names(run.archive) == {path.name for path in paths[-4:]}
    assert ledger.games_by_outcome()["learned"] == 10
    put_game(run.buffer, 50)
    small = Spool(run, ledger, StorageSettings(archive_bytes=2 * size + 100))
    batch = small.next_batch(EXPECTED, 1, 0)
    ledger.record_version(6, None, "learner", [game.record for game in batch])
    small.settle(batch)
    assert len(names(run.archive)) == 2
    assert batch[0].path.name in names(run.archive)


def test_rejected_files_are_bounded_too(run: RunDir, ledger: Ledger) -> None:
    spool = Spool(run, ledger, StorageSettings(rejected_files=5))
    for i in range(40):
        (run.buffer / f"bad{i:02d}.npz").write_bytes(b"no zip")
        spool.next_batch(EXPECTED, 1, 0)
        assert len(list(run.rejected.glob("*.npz"))) <= 5
    assert (run.rejected / "bad39.npz").exists()
    assert ledger.games_by_outcome()["rejected"] == 40


@pytest.mark.parametrize("most", [0, 1, 5, 30])
def test_the_newest_rejected_files_are_kept_and_never_more_than_the_setting(
    run: RunDir, ledger: Ledger, most: int
) -> None:
    for i in range(most + 3):  # of an earlier start, when the setting was higher
        (run.rejected / f"before{i}.npz").write_bytes(b"no zip")
        (run.rejected / f"before{i}.npz.reason.json").write_text("{}")
        os.utime(run.rejected / f"before{i}.npz.reason.json", (1_000_000 + i,) * 2)
    spool = Spool(run, ledger, StorageSettings(rejected_files=most))
    spool.recover()
    for i in range(70):
        (run.buffer / f"bad{i}.npz").write_bytes(b"no zip")
        spool.next_batch(EXPECTED, 1, 0)
        kept = {path.name for path in run.rejected.glob("*.npz")}
        assert {path.name.removesuffix(".reason.json") for path in run.rejected.glob("*.reason.json")} == kept
        assert most - most // 10 <= len(kept) <= most
        newest = [f"before{n}.npz" for n in range(most + 3)] + [f"bad{n}.npz" for n in range(i + 1)]
        assert kept == set(newest[len(newest) - len(kept) :])


def test_archive_and_ledger_agree_again_after_a_kill_between_them(run: RunDir, ledger: Ledger) -> None:
    spool = Spool(run, ledger, StorageSettings())
    put_game(run.buffer)
    batch = spool.next_batch(EXPECTED, 10, 0)
    ledger.record_version(1, None, "learner", [game.record for game in batch])
    batch[0].path.rename(run.archive / batch[0].path.name)  # moved, but killed before the ledger recorded it
    stranger = put_game(run.archive, 7)  # came with an archive whose ledger was lost
    (run.rejected / "x.npz").write_bytes(b"")
    (run.rejected / "x.npz.reason.json").write_text('{"reason": "why", "bytes": 3}')
    Spool(run, ledger, StorageSettings()).recover()
    assert ledger.archive_size()[0] == 2
    assert ledger.rejections() == [("x.npz", "why")]
    stranger.rename(run.buffer / stranger.name)
    again = Spool(run, ledger, StorageSettings())
    again.recover()
    assert again.next_batch(EXPECTED, 10, 0) == []  # a game from the archive is never learned from again


def test_a_batch_stops_before_it_needs_too_much_memory(run: RunDir, ledger: Ledger) -> None:
    for seed in range(6):
        put_game(run.buffer, seed, age=100 - seed)
    one = 12 * (STATE_DIM * 4 + 8 + 4 + 4)
    spool = Spool(run, ledger, StorageSettings(episode_bytes=max(1024, 3 * one)))
    sizes = []
    version = 0
    while batch := spool.next_batch(EXPECTED, 10, 0):
        version += 1
        sizes.append(len(batch))
        ledger.record_version(version, None, "learner", [game.record for game in batch])
        spool.settle(batch)
    assert sum(sizes) == 6
    assert max(sizes) <= 3


def test_the_journal_of_a_dead_bot_becomes_a_game_and_that_of_a_living_one_does_not(
    run: RunDir, ledger: Ledger
) -> None:
    living = Journal(run.live, EpisodeMeta(), STATE_DIM, len(ACTIONS))
    dead = (
        "import sys; from pathlib import Path\n"
        "from understudy.experience.episode import EpisodeMeta; from understudy.experience.journal import Journal\n"
        "j = Journal(Path(sys.argv[1]), EpisodeMeta(), 4, 3)\n"
        "for t in range(5): j.append([t, 0, 0, 0], t % 3, -1.0, 0.5, None, float(t))\n"
        "import os; os._exit(9)\n"
    )
    assert subprocess.run([sys.executable, "-c", dead, str(run.live)], check=False).returncode == 9
    spool = Spool(run, ledger, StorageSettings())
    assert spool.salvage()
    assert spool.passed.salvaged == 1
    (game,) = spool.next_batch(EXPECTED, 10, 0)
    assert game.episode.meta.truncated
    assert game.episode.rewards.tolist() == [1.0, 2.0, 3.0, 4.0]
    assert game.episode.final_state is not None
    assert game.episode.final_state.tolist() == [4, 0, 0, 0]
    assert [path.stem for path in run.live.iterdir()] == [living.meta.id]
    living.discard()


def test_many_journals_are_salvaged_some_at_a_time(run: RunDir, ledger: Ledger) -> None:
    for _ in range(3):
        journal = Journal(run.live, EpisodeMeta(), STATE_DIM, len(ACTIONS))
        for t in range(3):
            journal.append([t, 0, 0, 0], 0, -1.0, 0.5, None, 1.0)
        journal.close()
    spool = Spool(run, ledger, StorageSettings())
    assert [spool.salvage(0.0) for _ in range(4)] == [False, False, False, True]
    assert spool.passed.salvaged == 3


@pytest.mark.slow
def test_many_waiting_files_take_bounded_memory(run: RunDir, ledger: Ledger) -> None:
    template = put_game(run.buffer).read_bytes()
    for i in range(3000):
        (run.buffer / f"game_20260101_{i:06d}_Victory_{i:016x}.npz").write_bytes(template)
    spool = Spool(run, ledger, StorageSettings())
    assert spool.scan() == 3001
    assert len(spool._names) == 1000
    assert spool._names[0] == f"game_20260101_{0:06d}_Victory_{0:016x}.npz"


def test_ages_survive_a_jump_of_the_clock(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    now = time.time()
    clock = FileClock()
    assert clock.age(now - 100) == pytest.approx(100, abs=1)
    day = 86_400.0
    monkeypatch.setattr(time, "time", lambda: now + day)
    with caplog.at_level(logging.WARNING):
        assert clock.age(now - 100) == pytest.approx(100, abs=1)  # written before the jump
    assert "clock jumped by +86400 s" in caplog.text
    assert clock.age(now + day - 50) == pytest.approx(50, abs=1)  # written after it
    monkeypatch.setattr(time, "time", lambda: now)
    assert clock.age(now + 3 * day) == 0.0  # from the future: as young as can be
    assert clock.age(now - 7200) == pytest.approx(7200, abs=1)


def test_names_of_games_that_end_in_the_same_second_differ(run: RunDir) -> None:
    assert len({put_game(run.buffer, 0, ended_at=1_000_000.0).name for _ in range(50)}) == 50
    assert len(names(run.buffer)) == 50


def test_folders_named_like_a_game_are_rejected_and_bounded_like_files(run: RunDir, ledger: Ledger) -> None:
    spool = Spool(run, ledger, StorageSettings(rejected_files=5))
    for _ in range(20):
        (run.buffer / "a_folder.npz").mkdir()
        (run.buffer / "a_folder.npz" / "content").touch()
        game = put_game(run.buffer)
        assert [found.path for found in spool.next_batch(EXPECTED, 10, 0)] == [game]
        game.unlink()
        assert 1 <= len(names(run.rejected)) <= 5


@pytest.mark.parametrize("code", [errno.EIO, errno.EPERM, errno.ESTALE])
def test_a_file_that_cannot_be_read_now_rests_while_others_are_learned(
    run: RunDir, ledger: Ledger, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    bad, good = put_game(run.buffer, 1, age=10), put_game(run.buffer, 2)
    healed = False

    def read(path: Path, *arguments: Any) -> Episode:
        if path == bad and not healed:
            raise OSError(code, os.strerror(code), str(path))
        return read_episode(path, *arguments)

    monkeypatch.setattr("understudy.experience.spool.read_episode", read)
    spool = Spool(run, ledger, StorageSettings())
    batch = spool.next_batch(EXPECTED, 10, 0)
    assert [game.path for game in batch] == [good]
    ledger.record_version(1, None, "learner", [game.record for game in batch])
    spool.settle(batch)
    assert not spool.next_batch(EXPECTED, 10, 0)
    assert bad.exists()
    healed = True
    monkeypatch.setattr("understudy.experience.spool._FIRST_REST", 0.0)
    spool._resting.clear()  # an hour later
    assert [game.path for game in spool.next_batch(EXPECTED, 10, 0)] == [bad]


def test_files_of_one_name_do_not_replace_each_other(run: RunDir, ledger: Ledger) -> None:
    spool = Spool(run, ledger, StorageSettings())
    for number in range(3):
        states = np.full((3, STATE_DIM), number)
        np.savez(run.buffer / "mine.npz", states=states, actions=np.array([0, 1, 2]), rewards=np.ones(3))
        batch = spool.next_batch(EXPECTED, 10, 0)
        ledger.record_version(number + 1, None, "learner", [game.record for game in batch])
        spool.settle(batch)
        (run.buffer / "bad.npz").write_bytes(b"no zip %d" % number)
        assert not spool.next_batch(EXPECTED, 10, 0)
    assert names(run.archive) == {"mine.npz", "mine~1.npz", "mine~2.npz"}
    assert names(run.rejected) == {"bad.npz", "bad~1.npz", "bad~2.npz"}
    assert len({path.read_bytes() for path in run.rejected.glob("*.npz")}) == 3
    assert ledger.archive_size()[0] == 3


def test_a_copy_of_an_archived_game_takes_no_second_place(run: RunDir, ledger: Ledger) -> None:
    spool = Spool(run, ledger, StorageSettings())
    path = put_game(run.buffer)
    content = path.read_bytes()
    batch = spool.next_batch(EXPECTED, 10, 0)
    ledger.record_version(1, None, "learner", [game.record for game in batch])
    spool.settle(batch)
    (run.buffer / "copy.npz").write_bytes(content)
    assert not spool.next_batch(EXPECTED, 10, 0)
    assert names(run.archive) == {path.name}
    assert not names(run.buffer)


def test_a_file_dated_before_1970_is_a_game(run: RunDir, ledger: Ledger) -> None:
    path = run.buffer / "mine.npz"
    np.savez(path, states=np.ones((3, STATE_DIM)), actions=np.array([0, 1, 2]), rewards=np.ones(3))
    os.utime(path, (-1e6, -1e6))
    assert len(Spool(run, ledger, StorageSettings()).next_batch(EXPECTED, 10, 0)) == 1


def test_an_archive_on_another_disk_is_filled_by_copying(
    run: RunDir, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace = Path.replace

    def within_one_disk(source: Path, target: Path) -> Path:
        if source.parent != target.parent:
            raise OSError(errno.EXDEV, "Invalid cross-device link")
        return replace(source, target)

    monkeypatch.setattr(Path, "replace", within_one_disk)
    path = put_game(run.buffer)
    content = path.read_bytes()
    spool = Spool(run, ledger, StorageSettings())
    batch = spool.next_batch(EXPECTED, 10, 0)
    ledger.record_version(1, None, "learner", [game.record for game in batch])
    spool.settle(batch)
    assert (run.archive / path.name).read_bytes() == content
    assert not path.exists()
