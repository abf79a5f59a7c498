"""`understudy evaluate`: a policy's score with its interval."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from understudy.check.evaluation import evaluate, game_of
from understudy.cli import main
from understudy.errors import GameFailed, ModelMissing, SettingsError
from understudy.games.game import open_game
from understudy.games.spec import find_game, resolve
from understudy.models.live import Interface, new_model
from understudy.models.state import ModelState
from understudy.models.store import ModelStore
from understudy.rundir import RunDir
from understudy.settings import NetworkSettings, TrainingSettings


def put_model(run: RunDir, game: str, network: NetworkSettings | None = None) -> ModelState:
    opened = open_game(game, 1)
    interface = Interface(opened.state_dim, opened.actions, opened.features_hash, opened.features)
    opened.close()
    model = new_model(interface, network or NetworkSettings(hidden=(8,)), TrainingSettings(), 0)
    return ModelStore(run.model, run.ledger).create(model)


@pytest.mark.parametrize("policy", ["mlp", "transformer"])
def test_a_game_of_one_player_gives_a_mean_return_with_its_interval(run: RunDir, policy: str) -> None:
    put_model(run, "drift", NetworkSettings(policy=policy, hidden=(8,), width=8, heads=2, layers=1, context=4))
    score = evaluate(run, 70, "drift")
    assert score.low < score.score < score.high
    assert score.games == 70
    assert score == evaluate(run, 70, "drift"), "the same games for every look"
    assert score != evaluate(run, 70, "drift", seed=1)


def test_the_interval_of_more_games_is_shorter_and_holds_the_mean_of_many(run: RunDir) -> None:
    put_model(run, "drift")
    few, many = evaluate(run, 20, "drift", sample=True), evaluate(run, 500, "drift", sample=True)
    assert few.high - few.low > many.high - many.low
    assert few.low < many.score < few.high


def test_a_game_of_two_players_is_played_against_a_random_player_on_both_sides(run: RunDir) -> None:
    put_model(run, "tictactoe")
    score = evaluate(run, 101, "tictactoe")
    assert score.against == "a random player"
    assert score.won is not None
    assert score.lost is not None
    assert score.won + score.lost <= 101
    assert score.score == score.won / 101


def test_a_random_policy_against_a_random_player_wins_as_often_as_it_loses_over_both_sides(run: RunDir) -> None:
    model = put_model(run, "tictactoe")
    flat = {name: np.zeros_like(array) if name == "parameters" else array for name, array in model.arrays.items()}
    assert "parameters" in flat
    ModelStore(run.model, run.ledger).publish(dataclasses.replace(model, arrays=flat), model, publisher="test")
    score = evaluate(run, 1000, "tictactoe", sample=True)
    assert score.won is not None
    assert score.lost is not None
    assert abs(score.won - score.lost) < 4 * np.sqrt(score.won + score.lost)
    assert 0.35 < score.score < 0.52, "a random player wins 43.7 % of tic-tac-toe over both sides"


def test_the_evaluator_of_a_game_plays_if_it_has_one(run: RunDir, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def evaluator(model: str, first: int, games: int) -> dict[str, str]:
        asked.append((Path(model), first, games))
        return {"results": "WWLT"}

    model = put_model(run, "drift")
    monkeypatch.setitem(find_game.__globals__["registered_games"](), "drift", _with(evaluator))
    score = evaluate(run, 4, "drift")
    assert asked == [(run.model, 0, 4)]
    assert (score.won, score.lost, score.score) == (2, 1, 0.5)
    assert score.version == model.version


@pytest.mark.parametrize("returned", [{"results": "WW"}, {"results": "WLX?"}, "WLWL", None])
def test_results_that_do_not_fit_are_refused(run: RunDir, monkeypatch: pytest.MonkeyPatch, returned: object) -> None:
    put_model(run, "drift")
    broken = _with(lambda **_: returned)
    monkeypatch.setitem(find_game.__globals__["registered_games"](), "drift", broken)
    with pytest.raises(GameFailed, match=r"The evaluator returned .* a text of 4 letters"):
        evaluate(run, 4, "drift")


def _with(evaluator: Any) -> Any:
    return dataclasses.replace(find_game("drift"), evaluator=evaluator)


def test_the_game_is_the_one_that_self_play_trained(run: RunDir, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--run-dir", str(run.root), "--updates", "1", "--parallel.games-per-worker", "4"]
    assert main(["selfplay", "drift", *arguments]) == 0
    capsys.readouterr()
    assert main(["evaluate", str(run.root), "--games", "8", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["game"], found["games"]) == ("drift", 8)


def test_the_game_of_a_bot_is_the_one_whose_features_the_model_has(run: RunDir) -> None:
    spec = find_game("zerg")
    assert isinstance(spec.features, str)
    names = resolve(spec.features)
    names = tuple(names() if callable(names) else names)
    model = new_model(Interface(len(names), ("A", "B"), None, names), NetworkSettings(), TrainingSettings(), 0)
    assert game_of(run, ModelStore(run.model, run.ledger).create(model)) == "zerg"


def test_what_cannot_be_evaluated_ends_with_one_clear_line(run: RunDir, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ModelMissing):
        evaluate(run, 10, "drift")
    put_model(run, "drift")
    with pytest.raises(SettingsError, match="--game NAME"):
        evaluate(run, 10)
    with pytest.raises(SettingsError, match="at least 1"):
        evaluate(run, 0, "drift")
    assert main(["evaluate", str(run.root), "--game", "tictactoe"]) == 1
    assert "The model has 50 features" in capsys.readouterr().err
    assert main(["evaluate", str(run.root), "--game", "drift", "--version", "9"]) == 1


def test_a_gymnasium_environment(run: RunDir, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("gymnasium")
    put_model(run, "gym:CartPole-v1")
    assert main(["evaluate", str(run.root), "--env", "CartPole-v1", "--games", "10"]) == 0
    assert "Version 1 in gym:CartPole-v1: mean return" in capsys.readouterr().out
