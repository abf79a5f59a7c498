from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("numba")

from understudy.games.zerg.defaults import evaluated, zerg_agent
from understudy.games.zerg.direct.evaluation import evaluate, evaluate_as_played
from understudy.rundir import RunDir


@pytest.mark.slow
def test_a_model_plays_the_same_evaluation_games_every_time(tmp_path: Path) -> None:
    zerg_agent(tmp_path, seed=0).close()
    model = str(RunDir.at(tmp_path).model)
    one = evaluate(model, 0, 1)
    assert one == evaluate(model, 0, 1)
    assert set(one["results"]) <= set("WLT")
    assert len(one["results"]) == 1


def test_a_run_is_told_who_evaluates() -> None:
    module, _, name = evaluated().evaluation.function.partition(":")
    assert (module, name) == (evaluate_as_played.__module__, evaluate_as_played.__name__)
