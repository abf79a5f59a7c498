"""However a game ends, what was decided in it is kept."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("sc2")
pytest.importorskip("numba")

from loguru import logger
from sc2.data import AIBuild, Difficulty, Race
from sc2.player import Bot, Computer

from understudy.experience.episode import read_episode
from understudy.games.zerg.bot import WickedZergBotProImpl
from understudy.games.zerg.defaults import zerg_agent
from understudy.games.zerg.learned_openings import Openings
from understudy.games.zerg.opponent_memory import NOTHING_KNOWN, zerg_memory
from understudy.games.zerg.proving_ground import play
from understudy.games.zerg.state import STATE_DIM
from understudy.rundir import RunDir
from understudy.settings import StorageSettings

pytestmark = pytest.mark.slow

EASY = Computer(Race.Terran, Difficulty.VeryEasy, AIBuild.Macro)


@pytest.fixture(autouse=True)
def quiet() -> None:
    logger.remove()


def finish(bot: WickedZergBotProImpl, limit: float = 60.0) -> Any:
    return play(Bot(Race.Zerg, bot), EASY, game_time_limit=limit).result


def saved(run: Path) -> list[Any]:
    return [read_episode(path, StorageSettings()) for path in sorted(RunDir.at(run).buffer.glob("*.npz"))]


def test_a_game_leaves_its_decisions_for_the_learner(tmp_path: Path) -> None:
    memory = zerg_memory(tmp_path / "opponents.json")
    bot = WickedZergBotProImpl(zerg_agent(tmp_path, online_training=False), opponents=memory, about={"map": "here"})
    bot.opponent_id = "somebody"
    assert finish(bot).name == "Tie"
    (episode,) = saved(tmp_path)
    assert episode.states.shape == (len(episode), STATE_DIM)
    assert len(episode) == bot.outcome["steps"] == 14  # every 96 loops of the 1344 of a minute
    assert (episode.meta.result, episode.meta.map, episode.meta.opponent_id) == ("Tie", "here", "somebody")
    assert episode.meta.opponent_race == "Terran"
    assert episode.rewards.sum() == pytest.approx(bot.outcome["total_reward"], abs=1e-5)
    assert zerg_memory(tmp_path / "opponents.json").expect("somebody", 1) != NOTHING_KNOWN


def test_a_step_that_raises_ends_the_episode_and_the_error_is_seen(tmp_path: Path) -> None:
    class Broken(WickedZergBotProImpl):
        def _think(self) -> None:
            super()._think()
            if self.state.game_loop > 500:
                raise RuntimeError("a defect")

    bot = Broken(zerg_agent(tmp_path, online_training=False))
    with pytest.raises(RuntimeError, match="a defect"):
        finish(bot)
    assert bot.close_game()["result"] == "Crash"
    (episode,) = saved(tmp_path)
    assert len(episode) == 6
    assert episode.final_state is not None


def test_a_failed_start_is_no_defeat_and_leaves_no_game(tmp_path: Path) -> None:
    class Broken(WickedZergBotProImpl):
        async def on_start(self) -> None:
            raise RuntimeError("a defect")

    bot = Broken(zerg_agent(tmp_path, online_training=False))
    finish(bot)
    assert bot.outcome["result"] == "Crash"
    assert saved(tmp_path) == []


def test_ctrl_c_keeps_the_game(tmp_path: Path) -> None:
    class Interrupted(WickedZergBotProImpl):
        def _think(self) -> None:
            super()._think()
            if self.state.game_loop > 500:
                raise KeyboardInterrupt

    bot = Interrupted(zerg_agent(tmp_path, online_training=False))
    with pytest.raises((KeyboardInterrupt, asyncio.CancelledError)):
        finish(bot)
    assert len(saved(tmp_path)) == 1


def test_a_game_cut_off_by_a_lost_connection_is_closed_by_whoever_played_it(tmp_path: Path) -> None:
    bot = WickedZergBotProImpl(zerg_agent(tmp_path, online_training=False))

    class LosesConnection(WickedZergBotProImpl):
        async def on_end(self, game_result: Any) -> None:
            """burnysc2 does not call this when the connection is lost."""

    bot = LosesConnection(zerg_agent(tmp_path, online_training=False))
    finish(bot)
    assert saved(tmp_path) == []
    bot.close_game("Crash")
    bot.close_game("Victory")  # the first call counts
    (episode,) = saved(tmp_path)
    assert episode.meta.result == "Crash"


def test_decisions_are_in_the_journal_while_the_game_runs(tmp_path: Path) -> None:
    sizes = []

    class Watched(WickedZergBotProImpl):
        def _think(self) -> None:
            super()._think()
            if self.state.game_loop in (0, 400):
                sizes.append([path.stat().st_size for path in RunDir.at(tmp_path).live.glob("*.journal")])

    finish(Watched(zerg_agent(tmp_path, online_training=False)), 30.0)
    (first,), (later,) = sizes
    assert later > first > 0


def test_the_transformer_plays_too(tmp_path: Path) -> None:
    bot = WickedZergBotProImpl(zerg_agent(tmp_path, policy="transformer", online_training=False))
    assert finish(bot, 30.0).name == "Tie"
    assert len(saved(tmp_path)) == 1


def test_the_time_of_steps_is_said_about_once_a_second(tmp_path: Path) -> None:
    said: list[float] = []
    bot = WickedZergBotProImpl(zerg_agent(tmp_path, online_training=False), on_step_time=said.append)
    began = time.monotonic()
    finish(bot, 30.0)
    assert 1 <= len(said) <= 2 + time.monotonic() - began
    assert 0 < max(said) <= bot.clock.slowest


def test_the_opening_is_the_one_that_won_against_this_opponent_and_is_remembered(tmp_path: Path) -> None:
    memory = zerg_memory(tmp_path / "opponents.json")
    for _ in range(3):
        memory.record("somebody", 1, "Victory", rushed=True, opening="12 pool")
    agent = zerg_agent(tmp_path, online_training=False)
    bot = WickedZergBotProImpl(agent, explore=False, opponents=memory, openings=Openings())
    bot.opponent_id = "somebody"
    finish(bot, 30.0)
    assert saved(tmp_path)[0].meta.extra["opening"] == "12 pool"
    again = zerg_memory(tmp_path / "opponents.json")
    assert again._records["id somebody"].openings["12 pool"][0] > 3
    assert len(again._records["id somebody"].starts) == 1
