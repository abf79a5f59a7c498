from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from game_files import put_game
from understudy.learner.loop import LearnerLoop
from understudy.machine import load_log as loads
from understudy.machine.load_log import Load, LoadLog, read_loads
from understudy.run import heartbeat
from understudy.run.lock import StopRequest
from understudy.rundir import RunDir
from understudy.settings import LearnerSettings, Settings

BUSY = {"cpu": 41.26, "memory": 7.0, "gpu_memory": None}


def test_a_reading_is_noted_at_most_every_ten_seconds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    log = LoadLog(tmp_path / "load.jsonl", tmp_path)
    log.note({}, 0)  # nothing has been measured yet
    for second in range(25):
        now = 100.0 + second
        log.note(BUSY, workers=1)
        put_game(tmp_path, second)
    read = read_loads(tmp_path / "load.jsonl")
    assert [load.waiting for load in read] == [0, 10, 20]
    assert read[0] == Load(read[0].at, 41.3, 7.0, None, 1, 0)


def test_the_file_stays_bounded_and_the_one_before_it_is_read_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loads, "EVERY_SECONDS", 0.0)
    monkeypatch.setattr(loads, "_BYTES", 2000)
    log = LoadLog(tmp_path / "load.jsonl")
    for number in range(200):
        log.note(BUSY, workers=number)
    assert {path.name for path in tmp_path.iterdir()} == {"load.jsonl", "load.jsonl.1"}
    assert all(path.stat().st_size < 2200 for path in tmp_path.iterdir())
    kept = [load.workers for load in read_loads(tmp_path / "load.jsonl")]
    assert kept == list(range(kept[0], 200))
    assert len(kept) > 15


def test_lines_that_cannot_be_understood_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "load.jsonl"
    whole = '{"at": 5, "cpu": null, "memory": 3, "gpu_memory": null, "workers": 2, "waiting": null}'
    path.write_text(f'{whole}\n[]\n{{"at": "x"}}\nnot JSON\n{whole[:40]}', encoding="utf-8")
    assert read_loads(path) == [Load(5.0, None, 3.0, None, 2, None)]
    assert read_loads(tmp_path / "missing.jsonl") == []


def test_a_learner_notes_the_load_while_it_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heartbeat, "_SECONDS", 0.01)
    run = RunDir.at(tmp_path)
    run.create()
    put_game(run.buffer)  # there is no model yet: it waits
    request = StopRequest()
    settings = Settings(learner=LearnerSettings(verbose=False))
    thread = threading.Thread(target=lambda: LearnerLoop(run, settings).run(request))
    thread.start()
    deadline = time.monotonic() + 20
    while not read_loads(run.loads) and time.monotonic() < deadline:
        time.sleep(0.01)
    request.stop()
    thread.join(20)
    (load,) = read_loads(run.loads)
    assert (load.waiting, load.workers) == (1, 0)
    assert abs(load.at - time.time()) < 60
