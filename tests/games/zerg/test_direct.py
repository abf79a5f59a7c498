from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

pytest.importorskip("numba")
pytest.importorskip("gymnasium")

import gymnasium
from gymnasium.utils.env_checker import check_env

from understudy.experience.episode import read_episode
from understudy.games.zerg.defaults import zerg_agent
from understudy.games.zerg.direct.batch import GameBatch
from understudy.games.zerg.direct.bulk import PERIOD, games, mixed_opponent, shuffled
from understudy.games.zerg.direct.game import Opponent, StrategyGame
from understudy.games.zerg.direct.registration import ID, register
from understudy.games.zerg.learned_openings import Openings
from understudy.games.zerg.macro import Opening
from understudy.games.zerg.opponent_memory import zerg_memory
from understudy.games.zerg.state import NAMES
from understudy.rundir import RunDir
from understudy.settings import StorageSettings


def test_gymnasium_makes_it_and_its_checker_is_content() -> None:
    register()
    env = gymnasium.make(ID, time_limit=60.0)
    check_env(env.unwrapped, skip_render_check=True)
    env.close()


def test_an_episode_ends_with_the_result_of_the_game() -> None:
    env = gymnasium.make(ID, opponent=Opponent(1, 1, 5), time_limit=30.0)
    env.reset(seed=0)
    for _ in range(20):
        _, _, terminated, truncated, info = env.step(0)
        if terminated:
            break
    assert (terminated, truncated, info["result"]) == (True, False, "Tie")
    env.close()


def test_the_same_seed_is_the_same_game() -> None:
    def played(seed: int) -> str:
        game = StrategyGame(Opponent(4, 5, 1), seed=seed)
        for strategy in (0, 1, 2, 3, 4, 5) * 3:
            game.play(strategy)
        return game.digest

    assert played(5) == played(5) != played(6)


def test_a_batch_plays_what_single_games_play_and_goes_on_after_an_end() -> None:
    def opponents(number: int) -> Opponent:
        return Opponent(1, 1, 5)

    batch = GameBatch(3, first=20, opponents=opponents)
    alone = [StrategyGame(opponents(n), map_seed=n % 10, seed=n) for n in (20, 21, 22)]
    np.testing.assert_array_equal(batch.states(), [game.state() for game in alone])
    for strategies in ([0, 1, 4], [2, 2, 2], [5, 0, 3]):
        turn = batch.step(strategies)
        single = [game.play(strategy) for game, strategy in zip(alone, strategies, strict=True)]
        np.testing.assert_array_equal(turn.states, [s.state for s in single])
        np.testing.assert_array_equal(turn.rewards, np.array([s.reward for s in single], np.float32))
    batch._games[1]._match.simulation.finish((1, 2))
    turn = batch.step([0, 0, 0])
    assert turn.results == ("", "Victory", "")
    assert turn.done.tolist() == [False, True, False]
    np.testing.assert_array_equal(turn.states[1], StrategyGame(opponents(23), map_seed=3, seed=23).state())
    assert not np.array_equal(turn.states[1], turn.last_states[1])


def test_recorded_games_wait_for_the_learner(tmp_path: pytest.TempPathFactory) -> None:
    with zerg_agent(str(tmp_path), online_training=False, seed=0) as agent:
        (result,) = games(agent, 0, 1)
    assert result.opponent == mixed_opponent(shuffled(0))
    assert result.result in ("Victory", "Defeat", "Tie")
    assert len(list(RunDir.at(str(tmp_path)).buffer.glob("*.npz"))) == 1


def test_the_mix_has_every_opponent_equally_often() -> None:
    opponents = [mixed_opponent(shuffled(number)) for number in range(2 * PERIOD)]
    assert all(opponents.count(opponent) == 2 for opponent in opponents)
    assert len({opponent.race for opponent in opponents[:3]}) == 3


def test_an_opponent_has_the_same_name_in_both_kinds_of_games() -> None:
    assert Opponent(3, 10, 6).name == "Protoss-CheatInsane-Air"


def test_what_is_remembered_of_an_opponent_is_part_of_the_state() -> None:
    opponents = zerg_memory(None)
    opponents.record(Opponent(1, 9, 2).name, 1, "Victory", rushed=True, start="DEFEND")
    known = StrategyGame(Opponent(1, 9, 2), opponents=opponents).state()
    unknown = StrategyGame(Opponent(1, 9, 2)).state()
    differing = {NAMES[i] for i in np.flatnonzero(known != unknown)}
    assert differing == {"won_defending", "best_defend", "opponent_rushes"}


def test_the_opening_is_the_one_that_won_against_this_opponent() -> None:
    opponent, opponents = Opponent(1, 9, 2), zerg_memory(None)
    for _ in range(5):
        opponents.record(opponent.name, 1, "Victory", rushed=False, opening="12 pool")
    assert StrategyGame(opponent, opponents=opponents, openings=Openings()).opening.name == "12 pool"
    assert StrategyGame(opponent, opponents=opponents).opening == Opening()
    tried = {
        StrategyGame(opponent, seed=seed, opponents=opponents, openings=Openings(), explore=True).opening.name
        for seed in range(30)
    }
    assert len(tried) > 1


@pytest.mark.slow
def test_recorded_games_say_and_remember_how_they_began(tmp_path: pytest.TempPathFactory) -> None:
    opponents = zerg_memory(None)
    with zerg_agent(str(tmp_path), online_training=False, seed=0) as agent:
        list(games(agent, 0, 2, opponents=opponents, openings=Openings()))
    metas = [read_episode(path, StorageSettings()).meta for path in RunDir.at(str(tmp_path)).buffer.glob("*.npz")]
    played = Counter(meta.extra["opening"] for meta in metas)
    assert played.total() == 2
    remembered = opponents._records["all"]
    assert {name: round(count) for name, (count, _) in remembered.openings.items()} == played
    assert sum(round(count) for count, _ in remembered.starts.values()) == 2


def test_a_game_that_is_stopped_is_cut_and_kept(tmp_path: pytest.TempPathFactory) -> None:
    answers = iter([False] * 3 + [True] * 9)
    with zerg_agent(str(tmp_path), online_training=False, seed=0) as agent:
        (result,) = games(agent, 0, 5, stopped=lambda: next(answers))
    assert (result.result, result.decisions) == ("Interrupted", 3)
    (path,) = RunDir.at(str(tmp_path)).buffer.glob("*.npz")
    assert read_episode(path, StorageSettings()).final_state is not None
