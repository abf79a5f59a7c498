"""`understudy proving-ground conformance`: all groups of checks, and python-sc2's own test files."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from understudy.games.zerg.proving_ground.conformance.checking_bot import run_on_stage
from understudy.games.zerg.proving_ground.conformance.damage import damage_checks
from understudy.games.zerg.proving_ground.conformance.orders import (
    ability_checks,
    pending_checks,
    placement_checks,
    upgrade_checks,
)
from understudy.games.zerg.proving_ground.conformance.python_sc2 import run_test_files
from understudy.games.zerg.proving_ground.conformance.replays import replay_group
from understudy.games.zerg.proving_ground.conformance.report import Check, GroupReport
from understudy.games.zerg.proving_ground.conformance.walls import map_checks, wall_checks

FAILURES_SHOWN = 10
GROUPS: dict[str, Callable[[], Iterable[Check]]] = {
    "pending": lambda: run_on_stage(pending_checks),
    "placement": lambda: run_on_stage(placement_checks),
    "abilities": lambda: run_on_stage(ability_checks),
    "upgrades": lambda: run_on_stage(upgrade_checks),
    "damage": lambda: run_on_stage(damage_checks),
    "walls": wall_checks,
    "maps": map_checks,
}


def conform(groups: list[str], python_sc2: Path | None = None, replays: Path | None = None) -> int:
    """Run these groups, or all, and print passed and total checks of each; exit code 1 if a check failed."""
    reports = [_shown(GroupReport.of(name, GROUPS[name]())) for name in groups or GROUPS]
    if replays is not None:
        reports.append(_shown(replay_group(replays)))
    if python_sc2 is not None:
        reports += [_shown(report) for report in run_test_files(python_sc2)]
    passed, total = sum(report.passed for report in reports), sum(report.total for report in reports)
    print(f"{passed} of {total} checks passed.")
    return int(not all(report.holds for report in reports))


def _shown(report: GroupReport) -> GroupReport:
    print(report, flush=True)
    if report.remark:
        print(f"    {report.remark}")
    for failure in report.failures[:FAILURES_SHOWN]:
        print(f"    failed: {failure.name} {failure.detail}".rstrip())
    if len(report.failures) > FAILURES_SHOWN:
        print(f"    and {len(report.failures) - FAILURES_SHOWN} more")
    return report
