"""Self-play on the direct environment, and duels of what it trains."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

pytest.importorskip("numba")

from understudy.cli import main
from understudy.errors import MatchesDamaged
from understudy.games.game import Game, open_game
from understudy.games.zerg import defaults as policy
from understudy.games.zerg.direct import duel
from understudy.games.zerg.direct.duel import DuelScore, play
from understudy.games.zerg.direct.mirror import MirrorGame
from understudy.games.zerg.state import NAMES as FEATURES
from understudy.games.zerg.strategies import NAMES
from understudy.ledger.connection import Ledger
from understudy.rundir import RunDir

ECONOMY, EXPAND, ATTACK = (NAMES.index(name) for name in ("ECONOMY", "EXPAND", "ATTACK"))


def test_matches_are_games_of_the_mix_and_the_seed_says_which() -> None:
    def played(seed: int) -> list[float]:
        game = open_game("zerg", 4)  # two against the mix, two against each other
        game.reset(np.random.SeedSequence(seed))
        states = np.empty((4, game.state_dim), np.float32)
        steps = [game.step(np.array([0, 4, 0, 4])) for _ in range(2)]
        game.observe(states)
        return [*np.concatenate([step.rewards for step in steps]).tolist(), *states.ravel().tolist()]

    assert played(1) == played(1) != played(2)


def test_saved_matches_go_on_as_they_were_and_both_seats_of_a_game_begin_anew_together() -> None:
    def play(game: Game) -> list[float]:
        states = np.empty((4, game.state_dim), np.float32)
        rewards = [game.step(np.array([0, 4, 0, 4])).rewards for _ in range(2)]
        game.observe(states)
        return [*np.concatenate(rewards).tolist(), *states.ravel().tolist()]

    game, other = open_game("zerg", 4), open_game("zerg", 4)
    game.reset(np.random.SeedSequence(1))
    play(game)
    assert game.begin_anew(np.array([True, False, False, True])).tolist() == [True, False, True, True]
    play(game)
    saved = game.snapshot()
    assert saved is not None
    assert other.restore(saved).all()
    assert play(game) == play(other)
    with pytest.raises(MatchesDamaged):
        open_game("zerg", 8).restore(saved)


@pytest.mark.slow
def test_the_command_publishes_what_the_live_bot_loads(tmp_path: Path) -> None:
    sizes = ["--parallel.games-per-worker", "2", "--parallel.batch-size", "8", "--parallel.num-workers", "1"]
    assert main(["selfplay", "zerg", "--run-dir", str(tmp_path), "--updates", "2", *sizes]) == 0
    run = RunDir.at(tmp_path)
    with Ledger(run.ledger, read_only=True) as ledger:
        assert [version.publisher for version in ledger.versions(newest=5)] == ["new", "selfplay"]
    with policy.zerg_agent(tmp_path, record=False) as agent:
        assert agent._model.version == 2
        assert agent._model.trainer.updates == 2
        assert agent._model.base.training.gamma == policy.SETTINGS.training.gamma  # the bot's own settings


def test_both_seats_of_a_game_against_oneself_learn_of_its_end() -> None:
    game = MirrorGame(time_limit=10.0)
    before = game.states()
    while not (turns := game.play([0, 4]))[0].result:
        assert all(abs(turn.reward) < 0.5 for turn in turns)
    assert [turn.result for turn in turns] == ["Tie", "Tie"]
    assert all(turn.reward < -0.5 for turn in turns)  # the tie, and the potential given back
    assert not np.array_equal(turns[0].state, turns[1].state)
    np.testing.assert_allclose(before[0], before[1], atol=0.05)  # the same start, seen from two corners


@pytest.mark.parametrize("seats", [0, 1])
def test_the_better_plan_wins_from_either_seat(seats: int) -> None:
    def grow_and_attack(state: NDArray[np.float32]) -> int:
        return EXPAND if state[FEATURES.index("seconds")] * 900 < 240 else ATTACK

    def sleep(state: object) -> int:
        return ECONOMY

    result = play((sleep, grow_and_attack) if seats else (grow_and_attack, sleep), map_seed=0, seed=0)
    assert result == ("Defeat" if seats else "Victory")


def test_seats_change_and_results_are_those_of_the_new_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with policy.zerg_agent(tmp_path, seed=0, record=False):
        model = RunDir.at(tmp_path).model
    duel._load(model, model)
    monkeypatch.setattr(duel, "play", lambda policies, **more: "Victory")  # the first seat wins
    assert duel._play_chunk([4, 5, 6]) == ["Victory", "Defeat", "Victory"]
    assert DuelScore(won=1, tied=1, lost=2).share == 0.25
