"""LearningBot: what a bot gets from it, and what is left behind when its own code fails."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest

pytest.importorskip("sc2")
pytest.importorskip("numba")

from loguru import logger
from sc2.data import AIBuild, Difficulty, Race
from sc2.player import Bot, Computer

from understudy.experience.episode import read_episode
from understudy.games.zerg.proving_ground import play
from understudy.rundir import RunDir
from understudy.sc2.bot import LearningBot
from understudy.sc2.opponents import OPPONENTS, OpponentMemory
from understudy.settings import StorageSettings

pytestmark = pytest.mark.slow

IDLE = Computer(Race.Zerg, Difficulty.VeryEasy, AIBuild.Macro)


class Watcher(LearningBot):
    """Plays no unit, and notes what it is asked."""

    RACE = Race.Terran
    FEATURES: ClassVar[Sequence[str]] = ("minerals", "time")
    STRATEGIES = ("WAIT", "LOOK")
    OPENINGS: ClassVar[Mapping[str, float]] = {"wall": 0.5, "expand": 0.5}

    def __init__(self, run_dir: Path, fails_after: float = 1e9, **options: Any) -> None:
        super().__init__(run_dir, online_training=False, **options)
        self.fails_after = fails_after
        self.played: list[str] = []

    def features(self) -> tuple[float, float]:
        return self.minerals / 1000, self.time / 600

    async def play(self, strategy: str) -> None:
        self.played.append(strategy)
        if self.time > self.fails_after:
            raise RuntimeError("a defect")


@pytest.fixture(autouse=True)
def quiet() -> None:
    logger.remove()


def finish(bot: LearningBot, seconds: float = 30.0) -> None:
    bot.opponent_id = "somebody"
    play(Bot(bot.RACE, bot), IDLE, game_time_limit=seconds)


def saved(run: Path) -> Any:
    (path,) = RunDir.at(run).buffer.glob("*.npz")
    return read_episode(path, StorageSettings())


def test_a_game_is_recorded_with_its_opponent_opening_and_result(tmp_path: Path) -> None:
    memory = OpponentMemory(tmp_path / OPPONENTS)
    for _ in range(3):
        memory.record("somebody", 2, "Victory", rushed=True, opening="expand")
        memory.record("somebody", 2, "Defeat", rushed=False, opening="wall")
    bot = Watcher(tmp_path, explore=False)
    finish(bot)
    assert (bot.opening, bot.close_game()["result"]) == ("expand", "Tie")
    assert bot.expected.rushes > 0.3
    episode = saved(tmp_path)
    assert len(episode) == 8  # at 0, 4 … 28 seconds
    assert set(bot.played) <= set(Watcher.STRATEGIES)
    meta = episode.meta
    assert (meta.game, meta.opponent_id, meta.opponent_race) == ("Watcher", "somebody", "Zerg")
    assert meta.extra["opening"] == "expand"
    assert bot.clock.steps > 50


def test_a_step_that_raises_is_recorded_as_a_crash_and_the_error_is_seen(tmp_path: Path) -> None:
    bot = Watcher(tmp_path, fails_after=10.0)
    with pytest.raises(RuntimeError, match="a defect"):
        finish(bot)
    assert bot.close_game("Victory")["result"] == "Crash"
    episode = saved(tmp_path)
    assert len(episode) == 3
    assert episode.final_state is not None
    assert not (tmp_path / OPPONENTS).exists()


def test_a_bot_with_another_feature_goes_on_from_what_was_learned(tmp_path: Path) -> None:
    class Wiser(Watcher):
        FEATURES = ("time", "army", "minerals")

        def features(self) -> Any:
            return self.time / 600, self.supply_army / 100, self.minerals / 1000

    finish(Watcher(tmp_path), 10.0)
    bot = Wiser(tmp_path)
    assert bot.session.agent.features == ("time", "army", "minerals")
    finish(bot, 10.0)
    assert len(list(RunDir.at(tmp_path).buffer.glob("*.npz"))) == 2
