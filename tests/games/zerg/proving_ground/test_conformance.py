"""The conformance command, its groups, and how it counts the parts of python-sc2's own test files."""

from __future__ import annotations

from pathlib import Path

import pytest

from understudy.errors import SettingsError
from understudy.games.zerg.proving_ground.__main__ import main
from understudy.games.zerg.proving_ground.conformance import damage, orders, python_sc2
from understudy.games.zerg.proving_ground.conformance.checking_bot import run_on_stage

AUTOTEST = """
class TestBot:
    async def on_step(self): ...
    async def test_botai_properties(self): ...
    async def test_botai_actions1(self): ...
    async def test_botai_actions2(self): ...
"""
DONE = "2026-01-01 10:00:00.000 | WARNING  | __main__:test:1 - Action test 0{} successful.\n"


@pytest.mark.slow
def test_pending_counts_placement_and_abilities_are_the_games(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["conformance", "pending", "placement", "abilities"]) == 0
    out = capfd.readouterr().out
    assert "pending                         8 of 8" in out
    assert "40 of 40 checks passed." in out


@pytest.mark.slow
def test_every_upgrade_can_be_researched_where_burnysc2_says() -> None:
    checks = run_on_stage(orders.upgrade_checks)
    assert len(checks) >= 70
    assert [check.name for check in checks if not check.passed] == []


@pytest.mark.slow
def test_damage_is_what_burnysc2_calculates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(damage, "DEFENDERS", ("ROACH", "STALKER", "COLOSSUS", "VOIDRAY"))
    checks = run_on_stage(damage.damage_checks)
    assert len(checks) > 150
    assert [f"{check.name}: {check.detail}" for check in checks if not check.passed] == []


def test_parts_of_a_file_are_counted_from_its_source_and_output() -> None:
    assert python_sc2._automatic(AUTOTEST, DONE.format(1) + DONE.format(2)) == (3, 3)
    assert python_sc2._automatic(AUTOTEST, DONE.format(1)) == (2, 3)
    assert python_sc2._automatic(AUTOTEST, "Traceback") == (0, 3)
    lists = "attacker_units = [1, 2, 3]\ndefender_units = [1, 2]\nupgrade_levels = {0, 1}\n"
    assert python_sc2._damage(lists, DONE.format(1).replace("01", "1001")) == (12, 12)
    assert python_sc2._damage(lists, "AssertionError") == (0, 12)
    queries = "test_cases = [[1, 2], [3, 4]]\nasync def test_rally(self): ...\n"
    line = "2026-01-01 10:00:00.000 | INFO     | __main__:test:1 - Test case successful: {}\n"
    assert python_sc2._queries(queries, line.format(0) * 2 + line.format(1)) == (2, 3)


def test_a_file_that_fails_is_shown_with_its_last_lines(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "test").mkdir()
    (tmp_path / "test" / "autotest_bot.py").write_text(AUTOTEST + "raise SystemExit('no game')\n", encoding="utf-8")
    (report,) = python_sc2.run_test_files(tmp_path)
    assert (report.passed, report.total, report.holds) == (0, 3, False)
    assert "no game" in report.failures[0].detail


def test_what_is_no_checkout_or_no_group_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SettingsError, match="autotest_bot"):
        list(python_sc2.run_test_files(tmp_path))
    with pytest.raises(SystemExit):
        main(["conformance", "everything"])
    assert "no group everything" in capsys.readouterr().err
