"""A run's fixed opponents: the same games for every version, and their results in the ledger and the progress line."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from understudy.games.shogi import fixed_opponents
from understudy.games.shogi.arena_players import known
from understudy.games.shogi.checkpoint import Checkpoint, new_network, save_checkpoint
from understudy.games.shogi.spec import SPEC
from understudy.games.shogi.usi_process import find_engines
from understudy.games.spec import resolve
from understudy.parallel.evaluation import summary
from understudy.settings import NetworkSettings

TINY = NetworkSettings(policy="resnet", blocks=1, channels=8, attention_width=4, value_width=4)


@pytest.fixture
def model(tmp_path: Path) -> str:
    save_checkpoint(tmp_path / "model.npz", Checkpoint(new_network(TINY)))
    return str(tmp_path / "model.npz")


def test_every_fixed_opponent_can_be_met_in_the_arena_too() -> None:
    named = fixed_opponents.fixed_opponents()
    assert list(named)[:2] == ["random", "greedy"]
    assert all(known(name) for name in named.values())
    assert len(named) == (6 if fixed_opponents.ENGINE in find_engines() else 2)


def test_a_game_is_the_same_whoever_asks_for_it_and_when(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fixed_opponents, "find_engines", dict)
    evaluate = resolve(SPEC.evaluator or "")
    whole, last = evaluate(model=model, first=0, games=4), evaluate(model=model, first=2, games=2)
    assert whole["results"][2:] == last["results"]
    assert whole["axes"][2:] == last["axes"]
    met = Counter((axes["opponent"], axes["colour"]) for axes in whole["axes"])
    assert set(met) == {(name, colour) for name in ("random", "greedy") for colour in ("Black", "White")}
    assert set(met.values()) == {1}


def test_results_are_those_of_the_policy(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fixed_opponents, "find_engines", dict)
    monkeypatch.setattr(fixed_opponents, "fixed_opponents", lambda: {"greedy": "greedy"})
    assert fixed_opponents.evaluate(model, 0, 2)["results"] == "LL"  # an untrained one, either colour


@pytest.mark.skipif(fixed_opponents.ENGINE not in find_engines(), reason="fairy-stockfish is not installed")
def test_an_installed_engine_is_an_opponent_at_several_levels(model: str) -> None:
    played = fixed_opponents.evaluate(model, 2, 4)
    assert [axes["opponent"] for axes in played["axes"]] == [f"fairy-stockfish {level}" for level in (-20, -10, -5, 0)]
    assert played["results"][1:] == "LLL"


def test_the_progress_line_names_each_opponent_when_all_games_are_known() -> None:
    line = summary(3, "WLWT", {"random": "WW", "greedy": "LT"})
    assert line == (
        "Version 3 won 2 of 4 evaluation games (50%; 95 % interval 15% to 85%): random 2 of 2, greedy 0 of 2."
    )
    assert summary(3, "WLWT", {"random": "W", "greedy": "L"}).endswith("to 85%).")
