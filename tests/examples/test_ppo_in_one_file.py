"""The example that shows PPO in one file."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "ppo_in_one_file.py"


@pytest.mark.slow
def test_it_learns_and_stops_when_its_steps_are_used_up(capsys: pytest.CaptureFixture[str]) -> None:
    train = runpy.run_path(str(EXAMPLE))["train"]
    assert train("CartPole-v1", goal=475.0, most_steps=24_000, seed=0) > 120  # a random policy has 22
    assert "24576 decisions" in capsys.readouterr().out


def test_it_stops_at_the_goal(capsys: pytest.CaptureFixture[str]) -> None:
    train = runpy.run_path(str(EXAMPLE))["train"]
    assert 50 <= train("CartPole-v1", goal=50.0, most_steps=100_000, seed=1) < 100
    assert len(capsys.readouterr().out.splitlines()) < 15
