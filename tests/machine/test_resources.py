from __future__ import annotations

import os
from pathlib import Path

import pytest

from understudy.files.step_time import write_step_time
from understudy.machine import cgroup, resources
from understudy.machine.resources import Governor, Hold, Reading, Sensor, memory_of, read_step_time
from understudy.settings import ResourceSettings

CALM = Reading(cpu=10.0, memory=30.0)


def test_workers_go_to_none_at_once_when_the_machine_is_busy() -> None:
    governor = Governor(ResourceSettings(), most=3)
    assert governor.decide(CALM, 0.0) == 3
    assert governor.decide(Reading(cpu=95.0, memory=30.0), 1.0) == 0
    assert governor.waiting_for == Hold.CPU


def test_workers_come_back_one_by_one_after_the_load_has_gone() -> None:
    governor = Governor(ResourceSettings(), most=2)
    governor.decide(Reading(cpu=95.0), 0.0)
    allowed = [governor.decide(CALM, float(second)) for second in range(1, 9)]
    assert allowed == [0, 0, 0, 1, 1, 1, 2, 2]
    assert governor.waiting_for is None


def test_load_just_below_the_threshold_brings_nobody_back() -> None:
    governor = Governor(ResourceSettings(cpu_threshold=80.0), most=2)
    governor.decide(Reading(cpu=81.0), 0.0)
    assert [governor.decide(Reading(cpu=75.0), float(second)) for second in range(1, 20)] == [0] * 19
    governor = Governor(ResourceSettings(cpu_threshold=80.0), most=2)
    assert governor.decide(Reading(cpu=75.0), 0.0) == 2  # and drives nobody away


def test_a_new_peak_starts_the_waiting_anew() -> None:
    governor = Governor(ResourceSettings(), most=1)
    governor.decide(Reading(cpu=95.0), 0.0)
    readings = {1: CALM, 2: CALM, 3: Reading(cpu=95.0), 4: CALM, 6: CALM, 7: CALM}
    assert [governor.decide(reading, float(at)) for at, reading in readings.items()] == [0, 0, 0, 0, 0, 1]


@pytest.mark.parametrize(
    ("reading", "why"),
    [
        (Reading(memory=86.0), Hold.MEMORY),
        (Reading(gpu_memory=91.0), Hold.GPU_MEMORY),
        (Reading(cpu=81.0), Hold.CPU),
    ],
)
def test_each_threshold_is_named(reading: Reading, why: Hold) -> None:
    governor = Governor(ResourceSettings(), most=1)
    assert governor.decide(reading, 0.0) == 0
    assert governor.waiting_for == why


def test_a_game_over_its_budget_has_the_machine_to_itself() -> None:
    governor = Governor(ResourceSettings(step_budget=0.04), most=1)
    assert governor.decide(CALM, 0.0, step_seconds=0.03) == 1
    assert governor.decide(CALM, 1.0, step_seconds=0.05) == 0
    assert governor.waiting_for == Hold.GAME
    assert Governor(ResourceSettings(step_budget=0.0), most=1).decide(CALM, 0.0, step_seconds=9.0) == 1


def test_what_cannot_be_measured_stops_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resources, "psutil", None)
    assert Sensor().read([]) == Reading()
    assert memory_of(os.getpid()) is None
    assert Governor(ResourceSettings(), most=2).decide(Reading(), 0.0) == 2


def test_the_machine_is_measured() -> None:
    pytest.importorskip("psutil")
    sensor = Sensor()
    first = sensor.read([])
    assert first.cpu is None or 0 <= first.cpu <= 100
    assert first.memory is not None
    assert 0 < first.memory < 100
    assert (memory_of(os.getpid()) or 0) > 1_000_000
    assert memory_of(2**22 + 1) is None


def test_our_own_work_is_not_the_load_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("psutil")
    moments = iter([(100.0, 1000.0), (180.0, 1100.0), (240.0, 1200.0)])
    ours = iter([10.0, 70.0, 70.0])
    monkeypatch.setattr(resources, "_cpu_used_and_available", lambda: next(moments))
    monkeypatch.setattr(resources, "_cpu_seconds", lambda pid: next(ours))
    sensor = Sensor()
    assert [sensor.read([]).cpu for _ in range(2)] == [20.0, 60.0]


def test_a_container_is_measured_by_its_own_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("psutil")
    monkeypatch.setattr(cgroup, "_ROOT", tmp_path)
    (tmp_path / "memory.max").write_text("1000000\n")
    (tmp_path / "memory.current").write_text("900000\n")
    (tmp_path / "memory.stat").write_text("anon 1\ninactive_file 200000\n")
    (tmp_path / "cpu.max").write_text("50000 100000\n")
    (tmp_path / "cpu.stat").write_text("usage_usec 3000000\nuser_usec 1\n")
    assert resources._memory_percent() == 70.0
    assert resources._cpu_used_and_available()[0] == 3.0


def test_an_older_container_is_measured_by_its_own_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("psutil")
    monkeypatch.setattr(cgroup, "_ROOT", tmp_path)
    for name, text in {
        "memory/memory.limit_in_bytes": "1000000",
        "memory/memory.usage_in_bytes": "900000",
        "memory/memory.stat": "cache 5\ntotal_inactive_file 200000",
        "cpu/cpu.cfs_quota_us": "50000",
        "cpu/cpu.cfs_period_us": "100000",
        "cpuacct/cpuacct.usage": "3000000000",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"{text}\n")
    assert resources._memory_percent() == 70.0
    assert resources._cpu_used_and_available()[0] == 3.0
    (tmp_path / "cpu/cpu.cfs_quota_us").write_text("-1\n")
    assert cgroup.cpu_seconds() is None


def test_the_step_time_of_a_game_is_believed_while_it_is_fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "step_time.json"
    assert read_step_time(path) is None
    write_step_time(path, 0.02)
    assert read_step_time(path) == 0.02
    monkeypatch.setattr(resources, "_STEP_TIME_SECONDS", 0.0)
    assert read_step_time(path) is None
    path.write_text("[]")
    assert read_step_time(path) is None
