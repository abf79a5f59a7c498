from __future__ import annotations

import subprocess
import sys
import time
import weakref
from pathlib import Path
from typing import Any

import pytest
from loguru import logger
from sc2.bot_ai import BotAI
from sc2.data import AIBuild, Difficulty, Race, Result
from sc2.ids.unit_typeid import UnitTypeId
from sc2.player import Bot, Computer

from understudy.errors import SettingsError
from understudy.games.zerg.proving_ground import play
from understudy.games.zerg.proving_ground.bot_files import load_bot
from understudy.games.zerg.proving_ground.maps import make_map, seed_of

pytestmark = pytest.mark.slow

BOTS = Path(__file__).parent / "bots"
ALL_BOTS = sorted(path.stem for path in BOTS.glob("*.py"))


@pytest.fixture(autouse=True)
def errors() -> Any:
    """burnysc2 swallows what on_start raises; its log does not."""
    found: list[str] = []
    logger.remove()
    number = logger.add(lambda message: found.append(str(message)), level="ERROR")
    yield found
    logger.remove(number)
    assert found == []


class Surveyor(BotAI):
    """Asks for everything that bots build their first steps on."""

    async def on_start(self) -> None:
        self.client.game_step = 22

    async def on_step(self, iteration: int) -> None:
        if iteration == 0:
            places: list[Any] = list(self.expansion_locations_list)
            self.bases = sorted((place.x, place.y) for place in places)
            self.ramp = self.main_base_ramp
            self.next_base = await self.get_next_expansion()
            assert self.next_base is not None
            self.placed = await self.find_placement(
                UnitTypeId.EVOLUTIONCHAMBER, self.start_location.towards(self.game_info.map_center, 7)
            )
            self.can = await self.can_place(UnitTypeId.HATCHERY, [self.next_base, self.start_location])
        await self.distribute_workers()
        if self.can_afford(UnitTypeId.HATCHERY) and self.townhalls.amount < 2:
            await self.expand_now()


OTHER_MAPS = [seed_of(f"ProvingGround-{name}") for name in ("Small-0", "Four-0", "Four-1")]


@pytest.mark.parametrize("seed", [*range(4), *OTHER_MAPS])
def test_burnysc2_finds_its_way_on_our_maps(seed: int) -> None:
    bot = Surveyor()
    report = play(
        Bot(Race.Zerg, bot),
        Computer(Race.Terran, Difficulty.VeryEasy, AIBuild.Macro),
        map_seed=seed,
        game_time_limit=150,
    )
    assert bot.bases == sorted(base.center for base in make_map(seed).bases)
    assert len(bot.ramp.upper) == 2
    assert bot.ramp.depot_in_middle is not None
    assert len(bot.ramp.corner_depots) == 2
    assert bot.placed is not None
    assert bot.can == [True, False]
    assert bot.townhalls.amount == 2
    assert bot.idle_worker_count == 0
    assert report.result == Result.Tie
    assert report.loops == 3360


@pytest.mark.parametrize("name", ALL_BOTS)
def test_bots_written_elsewhere_play(name: str) -> None:
    report = play(
        load_bot(BOTS / f"{name}.py"), Computer(Race.Zerg, Difficulty.Easy, AIBuild.Macro), seed=2, game_time_limit=240
    )
    assert report.result in (Result.Victory, Result.Defeat, Result.Tie)


def test_a_rush_beats_a_very_easy_opponent() -> None:
    report = play(
        load_bot(BOTS / "zerg_rush.py"),
        Computer(Race.Terran, Difficulty.VeryEasy, AIBuild.Macro),
        map_seed=1,
        seed=1,
        game_time_limit=600,
    )
    assert report.result == Result.Victory


def test_a_bot_without_dice_repeats_its_game_with_the_same_seed() -> None:
    def run() -> Any:
        rival = Computer(Race.Protoss, Difficulty.VeryEasy, AIBuild.Macro)
        return play(load_bot(BOTS / "worker_rush.py"), rival, map_seed=2, seed=4, game_time_limit=120)

    assert run() == run()


def test_two_bots_play_each_other() -> None:
    report = play(load_bot(BOTS / "worker_rush.py"), load_bot(BOTS / "zerg_macro.py"), map_seed=1, game_time_limit=300)
    assert report.result in (Result.Victory, Result.Defeat, Result.Tie)


class Watcher(BotAI):
    """Does nothing."""

    async def on_step(self, iteration: int) -> None:
        pass


def test_real_time_is_paced_by_the_clock() -> None:
    began = time.monotonic()
    report = play(Bot(Race.Zerg, Watcher()), Computer(Race.Terran, Difficulty.Easy), game_time_limit=1.0, realtime=True)
    assert report.loops == 22
    assert time.monotonic() - began >= 20 / 22.4


class TimeTraveller(BotAI):
    """Saves, plays on, loads, and notes what it sees."""

    async def on_step(self, iteration: int) -> None:
        if iteration == 10:
            self.then = (self.state.game_loop, self.minerals, sorted(unit.position for unit in self.workers))
            await self.client.quick_save()
        if iteration == 60:
            await self.client.quick_load()
            seen = await self.client.observation()
            assert seen.observation.observation.game_loop == self.then[0]
            assert seen.observation.observation.player_common.minerals == self.then[1]
            await self.client.leave()


def test_a_quick_save_brings_a_game_back() -> None:
    bot = TimeTraveller()
    assert play(Bot(Race.Zerg, bot), Computer(Race.Terran, Difficulty.Easy)).result == Result.Defeat
    assert bot.then[0] > 0


def test_the_simulation_does_without_burnysc2() -> None:
    code = "import sys, understudy.games.zerg.direct.game; sys.exit('sc2' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


class Quitter(BotAI):
    """Surrenders."""

    async def on_step(self, iteration: int) -> None:
        if iteration == 3:
            await self.client.leave()


def test_who_surrenders_has_lost() -> None:
    report = play(Bot(Race.Zerg, Quitter()), Computer(Race.Terran, Difficulty.Easy))
    assert report.result == Result.Defeat


def test_a_files_own_race_is_used() -> None:
    assert load_bot(BOTS / "terran_expand.py").race == Race.Terran
    assert load_bot(BOTS / "terran_expand.py", "Zerg").race == Race.Zerg
    with pytest.raises(SettingsError, match="not a file"):
        load_bot(BOTS / "nobody.py")


def test_what_a_game_leaves_in_memory_is_gone_when_the_next_one_begins() -> None:
    """Otherwise every game would cost ten megabytes for as long as the process lives."""
    bots = weakref.WeakSet[Surveyor]()
    for _ in range(3):
        bot = Surveyor()
        bots.add(bot)
        play(Bot(Race.Zerg, bot), game_time_limit=2.0)
        del bot
    assert len(bots) <= 1
