from __future__ import annotations

import csv
import json
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from game_files import make_episode, put_game
from understudy.cli import main
from understudy.experience.episode import file_name, write_episode
from understudy.ledger.connection import Ledger
from understudy.rundir import RunDir
from understudy.settings import Settings
from understudy.watch.export import crc32c, to_csv, to_tensorboard
from understudy.watch.prometheus import exposition
from understudy.watch.snapshot import read_run
from watch.prepared import learn_all, new_run


def test_csv_holds_every_version_and_every_game(learned: RunDir, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "--csv", str(learned.root)]) == 0
    files = [Path(line) for line in capsys.readouterr().out.splitlines()]
    versions, games = (list(csv.DictReader(file.read_text(encoding="utf-8").splitlines())) for file in files)
    assert [row["version"] for row in versions] == ["1", "2", "3", "4", "5"]
    with Ledger(learned.ledger, read_only=True) as ledger:
        newest = ledger.versions()[-1]
    assert (float(versions[-1]["loss"]), float(versions[-1]["entropy"])) == (newest.loss, newest.stats["entropy"])
    assert versions[0]["loss"] == ""
    assert len(games) == 40
    assert {json.loads(row["axes"])["opponent_race"] for row in games} == {"Zerg", "Terran"}
    assert all(row["opponent_race"] == json.loads(row["axes"])["opponent_race"] for row in games)
    assert sum(json.loads(games[0]["actions"]).values()) == int(games[0]["steps"]) == 12


def test_an_event_file_holds_every_metric_with_checksums(learned: RunDir, tmp_path: Path) -> None:
    assert main(["export", "--tensorboard", str(learned.root), "--to", str(tmp_path / "tb")]) == 0
    (file,) = (tmp_path / "tb").iterdir()
    assert "tfevents" in file.name  # what TensorBoard looks for
    first, *events = records(file.read_bytes())
    assert first.endswith(b"brain.Event:2")
    assert [struct.unpack("<B", event[10:11])[0] for event in events] == [1, 2, 3, 4, 5]  # the step is the version
    with Ledger(learned.ledger, read_only=True) as ledger:
        newest = ledger.versions()[-1]
    assert newest.loss is not None
    assert b"\x0a\x0dlearning/loss\x15" + struct.pack("<f", newest.loss) in events[-1]
    assert struct.unpack("<d", events[-1][1:9])[0] == newest.at


def test_a_version_with_a_value_out_of_range_is_exported_as_any(tmp_path: Path) -> None:
    run = new_run(tmp_path / "run")
    for seed in range(9):
        put_game(run.buffer, seed)
    game = make_episode(9)
    game.states[5, 1] = 1e12
    write_episode(run.buffer / file_name(game.meta), game, compress=False)
    learn_all(run)
    with Ledger(run.ledger, read_only=True) as ledger:
        (found,) = ledger.versions()[-1].stats["outliers"]
    assert found["feature"] == "feature 1"
    versions, _ = to_csv(run, tmp_path / "csv")
    *_, row = csv.DictReader(versions.read_text(encoding="utf-8").splitlines())
    assert float(row["learning_rate"]) == pytest.approx(Settings().training.learning_rate)
    assert "outliers" not in row
    (events,) = to_tensorboard(run, tmp_path / "tb")
    assert b"learning/shortened" in list(records(events.read_bytes()))[-1]
    told = exposition([read_run(run)])
    assert "understudy_shortened{" in told
    assert "understudy_health{" in told
    assert "outliers" not in told


def records(data: bytes) -> Iterator[bytes]:
    while data:
        (length,) = struct.unpack("<Q", data[:8])
        message, rest = data[12 : 12 + length], data[12 + length :]
        assert data[8:12] == masked(data[:8])
        assert rest[:4] == masked(message)
        yield message
        data = rest[4:]


def masked(data: bytes) -> bytes:
    crc = crc32c(data)
    return struct.pack("<I", (((crc >> 15) | (crc << 17) & 0xFFFFFFFF) + 0xA282EAD8) % 2**32)


def test_the_checksum_is_castagnolis() -> None:
    assert crc32c(b"123456789") == 0xE3069283  # the check value of the standard
    assert crc32c(b"\x00" * 32) == 0x8A9136AA  # RFC 3720, B.4


def test_a_folder_without_a_run_is_an_error_in_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "--csv", str(tmp_path)]) == 1
    assert "There is no run at" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
