"""The layouts that users know, word by word. What they did not have comes after what they had, never between."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from understudy.learner import reports
from understudy.learner.log import LearnerLog
from understudy.learner.statistics import Statistics
from understudy.run.log import append_entry
from understudy.run.state import Activity, RunState
from understudy.rundir import RunDir

AT = time.mktime((2026, 1, 25, 14, 32, 5, 0, 0, -1))


def stats() -> dict[str, object]:
    known = Statistics(
        state=RunState(Activity.RUNNING),
        files_processed=15,
        batches_trained=5,
        total_samples=450,
        avg_loss=0.0234,
        last_loss=0.0234,
        total_processing_time=6.15,
        buffer_files=3,
        archive_files=15,
        last_training_time=AT,
        max_workers=1,
        model_version=6,
    )
    return known.as_dict()


def check_lines_in_order(wanted: list[str], text: str) -> None:
    """Each of the lines, whole, in this order."""
    lines = iter(text.splitlines())
    for line in wanted:
        assert line in lines, f"{line!r} is missing, or out of order, in\n{text}"


def test_the_status_report_has_the_lines_that_users_know() -> None:
    check_lines_in_order(
        [
            "=" * 70,
            "[BACKGROUND LEARNER] STATUS REPORT",
            "=" * 70,
            "Training Statistics:",
            "  Files Processed:      15",
            "  Batch Training Runs:  5",
            "  Total Samples:        450",
            "  Average Loss:         0.0234",
            "  Last Loss:            0.0234",
            "",
            "Directory Status:",
            "  Buffer Files:         3",
            "  Archived Files:       15",
            "",
            "System Status:",
            "  Active Workers:       0/1",
            "  Total Process Time:   6.15s",
            "  Errors:               0",
            "  Last Training:        2026-01-25 14:32:05",
            "=" * 70,
        ],
        reports.status_report(stats()),
    )


def test_the_statistics_of_every_five_games_have_the_lines_that_users_know() -> None:
    check_lines_in_order(
        [
            "=" * 70,
            "[BACKGROUND LEARNING] STATISTICS",
            "=" * 70,
            "Experience Files Processed: 15",
            "Batch Training Runs: 5",
            "Total Training Samples: 450",
            "Average Loss: 0.0234",
            "Total Processing Time: 6.15s",
            "Active Workers: 0/1",
            "Errors: 0",
            "=" * 70,
        ],
        reports.statistics_table(stats()),
    )
    check_lines_in_order(
        ["Replays Analyzed: 0", "Models Trained: 5", "Total Processing Time: 6.15s"], reports.statistics_table(stats())
    )


def test_an_entry_of_the_log_has_the_lines_that_users_know_and_an_event_beside_it(tmp_path: Path) -> None:
    run = RunDir.at(tmp_path)
    run.create()
    facts = {"total_steps": 200, "loss": 0.0234, "entropy": 1.0, "effective_sample_size": 1.0, "staleness": 0.0}
    entry = reports.batch_facts(3, {**facts, "seconds": 1.23}, {"files_processed": 8, "batches_trained": 3} | _VERSION)
    append_entry(run.log, "Batch Training Complete", entry, AT, facts)
    check_lines_in_order(
        [
            "[2026-01-25 14:32:05] Batch Training Complete",
            "  Batch Size:      3 games",
            "  Total Steps:     200",
            "  Loss:            0.0234",
            "  Processing Time: 1.23s",
            "  Total Processed: 8 files",
            "  Total Batches:   3",
            "-" * 60,
            "",
        ],
        run.log.read_text(encoding="utf-8"),
    )
    event = json.loads(run.events.read_text(encoding="utf-8"))
    assert (event["at"], event["event"], event["numbers"]["loss"]) == (AT, "Batch Training Complete", 0.0234)
    assert event["facts"]["Batch Size"] == "3 games"


_VERSION = {"model_version": 4}


def test_states_that_come_and_go_are_logged_once_a_minute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = RunDir.at(tmp_path)
    run.create()
    log, now = LearnerLog(run, verbose=False), 1000.0
    states = RunState(Activity.MACHINE_BUSY, "CPU"), RunState(Activity.GAME_FIRST)
    monkeypatch.setattr(time, "monotonic", lambda: now)
    for second in range(0, 70, 5):
        now = 1000.0 + second
        log.state(states[second // 5 % 2], Statistics())
    titles = [json.loads(line)["event"] for line in run.events.read_text(encoding="utf-8").splitlines()]
    assert titles == ["State: waiting for CPU", "State: paused for the game"] * 2
