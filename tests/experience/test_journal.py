from __future__ import annotations

import dataclasses
import errno
import json
import logging
import os
import random
import shutil
import struct
import subprocess
import sys
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from understudy.errors import EpisodeError
from understudy.experience.episode import Episode, EpisodeMeta, file_name, read_episode, write_episode
from understudy.experience.journal import Journal, Salvaged, orphans, salvage
from understudy.settings import StorageSettings

FEATURES, ACTIONS = 6, 11
STORAGE = StorageSettings()


@dataclasses.dataclass(frozen=True)
class Folders:
    live: Path
    buffer: Path
    rejected: Path

    def salvage(self, path: Path, storage: StorageSettings = STORAGE) -> Salvaged | None:
        return salvage(path, self.buffer, self.rejected, storage)


@pytest.fixture
def folders(tmp_path: Path) -> Folders:
    made = Folders(tmp_path / "buffer" / "live", tmp_path / "buffer", tmp_path / "rejected")
    made.live.mkdir(parents=True)
    made.rejected.mkdir()
    return made


def play(journal: Journal, decisions: int, masked: bool = True) -> dict[str, Any]:
    """Record a game, and return what was recorded; reward 10·t follows decision t."""
    rng = np.random.default_rng(5)
    states = rng.normal(size=(decisions, FEATURES)).astype(np.float32)
    actions = rng.integers(0, ACTIONS, decisions)
    legal = rng.random((decisions, ACTIONS)) < 0.5
    legal[np.arange(decisions), actions] = True
    log_probs, values = -rng.random(decisions), rng.normal(size=decisions)
    trial = np.arange(decisions) % 3 == 0
    for t in range(decisions):
        mask = legal[t] if masked else None
        reward_before = 10.0 * (t - 1)
        journal.append(states[t], int(actions[t]), log_probs[t], values[t], mask, reward_before, trial=bool(trial[t]))
    rewards = np.arange(decisions, dtype=np.float32) * 10
    record = {"states": states, "actions": actions, "rewards": rewards, "legal": legal if masked else None}
    record["trial"] = trial
    return record | {"log_probs": log_probs.astype(np.float32), "values": values.astype(np.float32)}


def assert_holds(episode: Episode, recorded: dict[str, Any], decisions: int) -> None:
    for name, array in recorded.items():
        found = getattr(episode, name)
        assert (found is None) == (array is None), name
        assert array is None or np.array_equal(found, array[:decisions]), name


def assert_same(found: Episode, expected: Episode) -> None:
    for field in dataclasses.fields(Episode):
        one, other = getattr(found, field.name), getattr(expected, field.name)
        assert np.array_equal(one, other) if isinstance(other, np.ndarray) else one == other, field.name


def new_journal(folders: Folders, **meta: Any) -> Journal:
    return Journal(folders.live, EpisodeMeta(game="zerg", **meta), FEATURES, ACTIONS)


def path_of(journal: Journal) -> Path:
    assert journal.path is not None
    return journal.path


def abandoned(folders: Folders, decisions: int, **meta: Any) -> Path:
    """The journal of an owner who left without a word."""
    journal = new_journal(folders, **meta)
    play(journal, decisions)
    journal.close()
    return path_of(journal)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("on_disk", [False, True])
def test_a_finished_game_holds_every_decision_and_each_reward_follows_its_action(
    folders: Folders, masked: bool, on_disk: bool
) -> None:
    journal = Journal(folders.live if on_disk else None, EpisodeMeta(game="zerg", seed=4), FEATURES, ACTIONS)
    recorded = play(journal, 40, masked)
    assert len(journal) == 40
    episode = journal.finish("Victory", last_reward=390.0, ended_at=1.7e9, trained_online=True)
    assert_holds(episode, recorded, 40)
    assert episode.meta == dataclasses.replace(journal.meta, result="Victory", ended_at=1.7e9, trained_online=True)
    assert episode.final_state is None
    journal.discard()
    assert list(folders.live.iterdir()) == []


def test_a_truncated_game_keeps_its_final_state(folders: Folders) -> None:
    journal = new_journal(folders)
    recorded = play(journal, 5)
    episode = journal.truncate(np.arange(FEATURES), last_reward=40.0, ended_at=1.7e9)
    assert_holds(episode, recorded, 5)
    assert episode.final_state is not None
    assert episode.final_state.tolist() == list(range(FEATURES))
    assert episode.meta.truncated
    assert episode.meta.result == "Unknown"
    journal.discard()


def test_decisions_without_a_mask_among_masked_ones_had_every_action() -> None:
    journal = Journal(None, EpisodeMeta(), FEATURES, ACTIONS)
    only_third = np.arange(ACTIONS) == 3
    journal.append(np.zeros(FEATURES), 3, -1.0, 0.0, only_third, 0.0)
    journal.append(np.zeros(FEATURES), 7, -1.0, 0.0, None, 0.0)
    episode = journal.finish("Tie", 0.0, 1.7e9)
    assert episode.legal is not None
    assert episode.legal.tolist() == [only_third.tolist(), [True] * ACTIONS]


def test_a_decision_of_the_wrong_size_is_an_error_of_the_caller() -> None:
    journal = Journal(None, EpisodeMeta(), FEATURES, ACTIONS)
    for state, legal in (
        (np.zeros(FEATURES + 1), None),
        (np.float32(0), None),
        (np.zeros(FEATURES), np.ones(40, bool)),
    ):
        with pytest.raises(ValueError, match="has 6 features, and a mask of 11 actions"):
            journal.append(state, 0, -1.0, 0.0, legal, 0.0)
    assert len(journal) == 0


def test_nothing_follows_the_end(folders: Folders) -> None:
    journal = new_journal(folders)
    play(journal, 3)
    journal.finish("Victory", 0.0, 1.7e9)
    with pytest.raises(RuntimeError, match="has ended"):
        play(journal, 1)
    with pytest.raises(RuntimeError, match="already ended"):
        journal.finish("Victory", 0.0, 1.7e9)
    journal.discard()


def test_a_living_owner_keeps_its_journal(folders: Folders) -> None:
    journal = new_journal(folders)
    play(journal, 3)
    assert list(orphans(folders.live)) == []
    assert folders.salvage(path_of(journal)) is None
    journal.close()
    journal.close()
    assert list(orphans(folders.live)) == [path_of(journal)]


def test_orphans_come_oldest_first_and_nothing_else_does(folders: Folders) -> None:
    made = [abandoned(folders, 2, id=name) for name in ("b", "c", "a")]
    for age, path in enumerate(made):
        os.utime(path, (1e9 - age, 1e9 - age))
    (folders.live / "notes.txt").touch()
    (folders.live / ".x.journal").touch()
    assert list(orphans(folders.live)) == made[::-1]


def test_a_game_that_broke_off_is_saved_but_for_its_last_decision(folders: Folders) -> None:
    journal = new_journal(folders, seed=9, model_version=4)
    recorded = play(journal, 20)
    journal.close()
    path = path_of(journal)
    os.utime(path, (1_700_000_000.5, 1_700_000_000.5))
    size = path.stat().st_size
    saved = folders.salvage(path)
    meta = dataclasses.replace(journal.meta, truncated=True, ended_at=1_700_000_000.5)
    assert saved == Salvaged(folders.buffer / file_name(meta), "", size)
    assert saved.path is not None
    episode = read_episode(saved.path, STORAGE)
    assert_holds(episode, recorded, 19)
    assert np.array_equal(episode.final_state, recorded["states"][19])  # type: ignore[arg-type]
    assert episode.meta == meta
    assert not path.exists()
    assert folders.salvage(path) is None


@pytest.mark.parametrize("cut", [False, True])
def test_a_game_that_ended_is_saved_as_the_very_file_its_owner_would_have_written(folders: Folders, cut: bool) -> None:
    journal = new_journal(folders, extra={"é": [1]})
    play(journal, 20)
    final_state = np.linspace(-1, 1, FEATURES) / 3
    episode = (
        journal.truncate(final_state, 0.1, 1.7e9, result="Tie")
        if cut
        else journal.finish("Defeat", 0.1, 1.7e9, trained_online=True)
    )
    own = folders.rejected / "own.npz"
    write_episode(own, episode, compress=STORAGE.compress)
    journal.close()
    saved = folders.salvage(path_of(journal))
    assert saved is not None
    assert saved.path == folders.buffer / file_name(episode.meta)
    assert saved.path.read_bytes() == own.read_bytes()
    assert_same(read_episode(saved.path, STORAGE), episode)


def test_salvage_killed_before_it_removed_the_journal_gives_the_same_file_again(folders: Folders) -> None:
    path = abandoned(folders, 10)
    content, modified = path.read_bytes(), path.stat().st_mtime_ns
    first = folders.salvage(path)
    assert first is not None
    assert first.path is not None
    game = first.path.read_bytes()
    path.write_bytes(content)
    os.utime(path, ns=(modified, modified))
    again = folders.salvage(path)
    assert again == first
    assert first.path.read_bytes() == game
    assert len(list(folders.buffer.glob("*.npz"))) == 1


@pytest.mark.parametrize("decisions", [0, 1])
def test_a_journal_without_a_whole_transition_is_set_aside(folders: Folders, decisions: int) -> None:
    path = abandoned(folders, decisions)
    size = path.stat().st_size
    saved = folders.salvage(path)
    assert saved is not None
    assert saved.path is None
    assert f"{decisions} complete decisions" in saved.reason
    assert (folders.rejected / path.name).stat().st_size == saved.size == size
    note = json.loads((folders.rejected / f"{path.name}.reason.json").read_text())
    assert note["reason"] == saved.reason
    assert note["bytes"] == size
    assert not path.exists()
    assert list(folders.buffer.glob("*.npz")) == []


def test_an_empty_journal_is_left_to_an_owner_who_may_be_about_to_lock_it(folders: Folders) -> None:
    path = folders.live / "x.journal"
    path.touch()
    assert folders.salvage(path) is None
    os.utime(path, (1e9, 1e9))
    saved = folders.salvage(path)
    assert saved is not None
    assert "no complete header" in saved.reason


def test_a_game_with_nan_is_refused_by_its_owner_and_set_aside_by_the_salvager(folders: Folders) -> None:
    journal = new_journal(folders)
    play(journal, 3)
    journal.append(np.full(FEATURES, np.nan), 0, -1.0, 0.0, None, 0.0)
    with pytest.raises(EpisodeError, match="states is not finite in float32, first in row 3"):
        journal.finish("Victory", 1.0, 1.7e9)
    journal.close()
    saved = folders.salvage(path_of(journal))
    assert saved is not None
    assert "states is not finite in float32, first in row 3" in saved.reason
    assert (folders.rejected / path_of(journal).name).exists()


def test_numbers_too_large_for_float32_do_not_stop_the_game() -> None:
    journal = Journal(None, EpisodeMeta(), FEATURES, ACTIONS)
    play(journal, 3)
    journal.append(np.zeros(FEATURES), 0, -1.0, 1e300, None, -1e300)
    with pytest.raises(EpisodeError, match="not finite"):
        journal.finish("Victory", 1.0, 1.7e9)


def test_every_length_of_a_torn_journal_gives_the_decisions_that_are_whole(folders: Folders) -> None:
    journal = new_journal(folders)
    recorded = play(journal, 6)
    journal.finish("Victory", 50.0, 1.7e9)
    journal.close()
    whole = path_of(journal).read_bytes()
    header = whole.index(b"\n") + 1
    record = journal._type.itemsize
    for length in range(header, len(whole), 7):
        path_of(journal).write_bytes(whole[:length])
        saved = folders.salvage(path_of(journal))
        assert saved is not None
        complete = min((length - header) // record, 6)
        if complete < 2:
            assert saved.path is None
            continue
        assert saved.path is not None
        episode = read_episode(saved.path, STORAGE)
        assert_holds(episode, recorded, complete - 1)
        assert episode.meta.truncated


def test_reading_stops_at_the_first_damaged_decision(folders: Folders) -> None:
    journal = new_journal(folders)
    recorded = play(journal, 10)
    journal.close()
    content = bytearray(path_of(journal).read_bytes())
    content[content.index(b"\n") + 1 + 6 * journal._type.itemsize + 20] ^= 1
    path_of(journal).write_bytes(content)
    saved = folders.salvage(path_of(journal))
    assert saved is not None
    assert saved.path is not None
    assert_holds(read_episode(saved.path, STORAGE), recorded, 5)


def test_a_decision_in_another_ones_place_is_no_decision(folders: Folders) -> None:
    journal = new_journal(folders)
    play(journal, 4)
    journal.close()
    content = path_of(journal).read_bytes()
    header, record = content.index(b"\n") + 1, journal._type.itemsize
    path_of(journal).write_bytes(content[: header + record] + content[header : header + record])
    saved = folders.salvage(path_of(journal))
    assert saved is not None
    assert "1 complete decisions" in saved.reason


def head(**changes: Any) -> bytes:
    whole = {"schema": 1, "state_dim": 4, "n_actions": 3, "meta": {"id": "x"}} | changes
    return b"UNDERSTUDY-JOURNAL " + json.dumps(whole).encode() + b"\n"


def end(payload: bytes) -> bytes:
    body = struct.pack("<II", 3, len(payload)) + payload
    return struct.pack("<I", zlib.crc32(body, 0)) + body


HOSTILE: dict[str, tuple[bytes, str]] = {
    "noise": (bytes(range(256)) * 10, "no complete header"),
    "no line end": (head()[:-1], "no complete header"),
    "endless header": (b"UNDERSTUDY-JOURNAL " + b" " * 2_000_000, "no complete header"),
    "no JSON": (b"UNDERSTUDY-JOURNAL {\n", "header cannot be read"),
    "deep JSON": (b"UNDERSTUDY-JOURNAL " + b"[" * 500_000 + b"\n", "header cannot be read"),
    "a list": (b"UNDERSTUDY-JOURNAL []\n", "header cannot be read"),
    "meta": (head(meta=5), "header cannot be read"),
    "id": (head(meta={"id": "../x"}), "id in meta"),
    "newer": (head(schema=2), "schema 2"),
    "huge state": (head(state_dim=10**12), "1000000000000 features"),
    "negative state": (head(state_dim=-4), "-4 features"),
    "text actions": (head(n_actions="many"), "'many' actions"),
    "huge actions": (head(n_actions=2**62), "actions, which is impossible"),
    "true actions": (head(n_actions=True), "True actions"),
    "end without decisions": (head() + end(b'{"meta": {}, "last_reward": 0, "final_state": null}'), r"shape \(0, 4\)"),
    "end of nonsense": (head() + end(b"[]"), "end cannot be read"),
    "endless reward": (head() + end(b'{"meta": {}, "last_reward": 1' + b"0" * 400 + b"}"), "end cannot be read"),
    "ragged end": (head() + end(b'{"meta": {}, "last_reward": 0, "final_state": [[1], 2]}'), "end cannot be read"),
}


@pytest.mark.parametrize(("content", "reason"), HOSTILE.values(), ids=HOSTILE.keys())
def test_a_journal_of_nonsense_is_set_aside_with_its_reason(folders: Folders, content: bytes, reason: str) -> None:
    path = folders.live / "x.journal"
    path.write_bytes(content)
    saved = folders.salvage(path)
    assert saved is not None
    assert saved.path is None
    with pytest.raises(EpisodeError, match=reason):
        raise EpisodeError(saved.reason)
    assert (folders.rejected / "x.journal").exists()


def test_journals_beyond_the_limits_are_set_aside(folders: Folders) -> None:
    saved = folders.salvage(abandoned(folders, 50), StorageSettings(episode_steps=20))
    assert saved is not None
    assert "more than 20 decisions" in saved.reason
    path = folders.live / "x.journal"
    with path.open("wb") as stream:
        stream.truncate(5_000_000)
    saved = folders.salvage(path, StorageSettings(episode_bytes=1_000_000))
    assert saved is not None
    assert "5,000,000 bytes; the limit is 1,000,000" in saved.reason


def test_a_failing_salvage_leaves_the_journal_for_the_next_attempt(folders: Folders) -> None:
    path = abandoned(folders, 5)
    content = path.read_bytes()
    with pytest.raises(OSError, match="missing"):
        salvage(path, folders.buffer / "missing", folders.rejected, STORAGE)
    assert path.read_bytes() == content
    assert folders.salvage(path) is not None


def fail_after(writes: int, monkeypatch: pytest.MonkeyPatch, partial: int | None) -> None:
    """Fill the disk after some writes; the write that meets it is cut to `partial` bytes, or fails (None)."""
    real, done = os.write, [0]

    def write(descriptor: int, data: bytes) -> int:
        done[0] += 1
        if done[0] <= writes:
            return real(descriptor, data)
        if partial is not None and done[0] == writes + 1:
            return real(descriptor, bytes(data[:partial]))
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "write", write)


@pytest.mark.parametrize("partial", [None, 0, 13])
def test_a_full_disk_is_reported_once_and_the_game_goes_on_in_memory(
    folders: Folders, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, partial: int | None
) -> None:
    fail_after(5, monkeypatch, partial)
    journal = new_journal(folders)
    with caplog.at_level(logging.WARNING):
        recorded = play(journal, 30)
        episode = journal.finish("Victory", 290.0, 1.7e9)
    assert len(caplog.records) == 1
    assert "in memory only" in caplog.text
    assert_holds(episode, recorded, 30)
    monkeypatch.undo()
    journal.close()
    saved = folders.salvage(path_of(journal))
    assert saved is not None
    assert saved.path is not None
    assert_holds(read_episode(saved.path, STORAGE), recorded, 3)


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = shutil.which("mount")
    if mount is None or not hasattr(os, "geteuid") or os.geteuid() != 0:
        pytest.skip("a disk to fill needs the right to mount one")
    if subprocess.run(
        [mount, "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk], capture_output=True, check=False
    ).returncode:
        pytest.skip("this machine lets nobody mount a disk to fill")
    yield disk
    subprocess.run(["umount", disk], check=True)


def test_a_disk_that_is_really_full_stops_neither_the_game_nor_the_salvage(
    tiny_disk: Path, folders: Folders, caplog: pytest.LogCaptureFixture
) -> None:
    journal = Journal(tiny_disk, EpisodeMeta(), FEATURES, ACTIONS)
    recorded = play(journal, 2000)
    episode = journal.finish("Victory", 19990.0, 1.7e9)
    assert_holds(episode, recorded, 2000)
    assert len(caplog.records) == 1
    with pytest.raises(OSError, match="No space left"):
        write_episode(tiny_disk / "x.npz", episode, compress=False)
    assert list(tiny_disk.iterdir()) == [journal.path]
    journal.close()
    saved = folders.salvage(path_of(journal))
    assert saved is not None
    assert saved.path is not None
    found = read_episode(saved.path, STORAGE)
    assert 300 < len(found) < 2000
    assert_holds(found, recorded, len(found))


def test_a_folder_that_is_missing_does_not_stop_the_game(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    journal = Journal(tmp_path / "missing", EpisodeMeta(), FEATURES, ACTIONS)
    recorded = play(journal, 5)
    assert_holds(journal.finish("Victory", 40.0, 1.7e9), recorded, 5)
    journal.discard()
    assert len(caplog.records) == 1


@pytest.mark.slow
@pytest.mark.parametrize("alive", [False, True])
def test_the_journal_of_another_game_with_the_same_id_is_left_alone(
    folders: Folders, caplog: pytest.LogCaptureFixture, alive: bool
) -> None:
    first = new_journal(folders, id="same")
    play(first, 4)
    if not alive:
        first.close()
    content = path_of(first).read_bytes()
    second = new_journal(folders, id="same")
    recorded = play(second, 5)
    assert "another game with the same id" in caplog.text
    assert_holds(second.finish("Victory", 40.0, 1.7e9), recorded, 5)
    second.discard()
    assert path_of(first).read_bytes() == content
    first.close()


BOT = f"""
import os, sys, time
from pathlib import Path
import numpy as np
from understudy.experience.episode import EpisodeMeta
from understudy.experience.journal import Journal
journal = Journal(Path(sys.argv[1]), EpisodeMeta(id=sys.argv[2]), {FEATURES}, {ACTIONS})
t = 0
while True:
    journal.append(np.full({FEATURES}, t), t % {ACTIONS}, -0.5, t, None, t - 1)
    t += 1
    os.write(1, b"%d\\n" % t)
    time.sleep(0.001)
"""


@pytest.mark.slow
def test_a_killed_bot_loses_nothing_it_had_decided(folders: Folders) -> None:
    rng = random.Random(3)
    bots = [
        subprocess.Popen([sys.executable, "-c", BOT, str(folders.live), f"bot{i}"], stdout=subprocess.PIPE, text=True)
        for i in range(10)
    ]
    for i, bot in enumerate(bots):
        assert bot.stdout is not None
        told = "".join(bot.stdout.readline() for _ in range(rng.randrange(3, 30)))
        time.sleep(rng.random() * 0.03)
        bot.kill()
        decided = int((told + bot.communicate()[0]).split()[-1])
        (path,) = (found for found in orphans(folders.live) if found.stem == f"bot{i}")
        saved = folders.salvage(path)
        assert saved is not None
        assert saved.path is not None
        episode = read_episode(saved.path, STORAGE)
        # One decision may have been recorded just before the kill without being reported.
        assert len(episode) + 1 in (decided, decided + 1)
        count = np.arange(len(episode))
        assert np.array_equal(episode.states, np.repeat(count[:, None], FEATURES, axis=1))
        assert np.array_equal(episode.actions, count % ACTIONS)
        assert np.array_equal(episode.rewards, count)
        assert episode.final_state is not None
        assert episode.final_state[0] == len(episode)


SALVAGER = """
import sys, time
from pathlib import Path
from understudy.experience.journal import salvage
from understudy.settings import StorageSettings
live, buffer, rejected = map(Path, sys.argv[1:])
journals = sorted(live.iterdir())
print("ready", flush=True)
sys.stdin.readline()
saved = [salvage(journal, buffer, rejected, StorageSettings()) for journal in journals]
print(sum(found is not None and found.path is not None for found in saved))
"""


def test_two_salvagers_at_once_save_each_game_once(folders: Folders) -> None:
    for _ in range(30):
        abandoned(folders, 5)
    command = [sys.executable, "-c", SALVAGER, str(folders.live), str(folders.buffer), str(folders.rejected)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    salvagers = [subprocess.Popen(command, text=True, **pipes) for _ in range(2)]  # type: ignore[call-overload]
    for process in salvagers:
        assert process.stdout.readline() == "ready\n"
    for process in salvagers:
        process.stdin.write("go\n")
        process.stdin.flush()
    outputs = [process.communicate()[0] for process in salvagers]
    if sys.platform != "win32":  # there a file is unlocked a moment before it is removed, and may be saved twice over
        assert sum(map(int, outputs)) == 30
    assert len(list(folders.buffer.glob("*.npz"))) == 30
    assert list(folders.live.iterdir()) == []
    assert list(folders.rejected.iterdir()) == []
