"""The log of a run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from understudy.run import log
from understudy.rundir import RunDir

AT = 1_770_000_000.0


def test_log_and_events_go_on_in_new_files_and_stay_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log, "_LOG_BYTES", 1000)
    run = RunDir.at(tmp_path)
    run.create()
    for number in range(100):
        log.append_entry(run.log, f"Entry {number}", {"Some": "fact"}, AT)
    names = {path.name for path in run.logs.iterdir()}
    assert names == {"background_training.log", "background_training.log.1", "events.jsonl", "events.jsonl.1"}
    assert all(path.stat().st_size < 1200 for path in run.logs.iterdir())
    assert "Entry 99" in run.log.read_text(encoding="utf-8")
    assert json.loads(run.events.read_text(encoding="utf-8").splitlines()[-1])["event"] == "Entry 99"
