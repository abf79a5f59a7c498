from __future__ import annotations

import numpy as np
import pytest

from understudy.games.zerg.proving_ground import state as names
from understudy.games.zerg.proving_ground.difficulty_ladder import play_computers
from understudy.games.zerg.proving_ground.maps import make_map
from understudy.games.zerg.proving_ground.match import Match, Seat
from understudy.games.zerg.proving_ground.opponents import make_opponent
from understudy.games.zerg.proving_ground.opponents.plans import PLANS, OpponentPlan
from understudy.games.zerg.proving_ground.opponents.player import ScriptedPlayer
from understudy.games.zerg.proving_ground.opponents.skill import SKILLS
from understudy.games.zerg.proving_ground.unit_data import kind, upgrades
from understudy.games.zerg.starcraft import (
    BUILD_NAMES,
    LOOPS_PER_SECOND,
    MACRO,
    PROTOSS,
    RUSH,
    TERRAN,
    VICTORY,
    ZERG,
)

ALONE = [(race, build) for race, plans in PLANS.items() for build in plans]


def develop(race: int, build: int, minutes: float, difficulty: int = 7) -> Match:
    """Let an opponent develop against one that does nothing."""
    match = Match(make_map(4), [Seat(race, race, computer=True), Seat(TERRAN, TERRAN)], 1)
    match.opponents.append(make_opponent(match.simulation, 0, difficulty, build, 1))
    match.advance_to(round(minutes * 1344))
    return match


@pytest.mark.parametrize(("race", "build"), ALONE)
def test_every_plan_names_things_that_exist(race: int, build: int) -> None:
    plan = PLANS[race][build]
    known = {upgrade.upgrade_id for upgrade in upgrades()}
    for name, _ in plan.goals:
        assert name in known if isinstance(name, int) else kind(name)
    assert sum(share for _, share in plan.army) == pytest.approx(1)


@pytest.mark.parametrize(("race", "build"), ALONE)
def test_every_plan_raises_an_army_or_a_defence(race: int, build: int) -> None:
    game = develop(race, build, 6).simulation
    spent = float(game.state["score"][0, names.SPENT_MINERALS])
    kinds = game.state["kind"][(game.state["alive"] == 1) & (game.state["owner"] == 0)]
    assert spent > 1800
    armed = (game.rules["damage"][0][kinds].max(axis=1) > 0) & (game.rules["worker"][0][kinds] == 0)
    assert game.over or armed.sum() >= 6


def test_a_difficulty_is_never_weaker_than_the_one_below_in_any_number() -> None:
    for lower, higher in zip(range(1, 10), range(2, 11), strict=True):
        weak, strong = SKILLS[lower], SKILLS[higher]
        assert strong.pace <= weak.pace
        assert strong.income > weak.income
        assert strong.workers >= weak.workers


@pytest.mark.slow
@pytest.mark.parametrize("race", [ZERG, TERRAN, PROTOSS])
def test_much_stronger_beats_much_weaker_from_either_side(race: int) -> None:
    assert play_computers(race, (7, 2), MACRO, 3) == (1, 2)
    assert play_computers(race, (2, 7), MACRO, 3) == (2, 1)


def test_opponents_repeat_their_game_with_the_same_seed() -> None:
    assert develop(PROTOSS, MACRO, 4).simulation.digest() == develop(PROTOSS, MACRO, 4).simulation.digest()


def loops_to_beat_nobody(race: int, difficulty: int, build: int) -> int:
    match = Match(make_map(1), [Seat(race, race, computer=True), Seat(TERRAN, TERRAN)], 1)
    match.opponents.append(make_opponent(match.simulation, 0, difficulty, build, 1))
    match.advance_to(match.max_loops)
    assert match.simulation.state["result"][0] == VICTORY
    return match.simulation.loop


@pytest.mark.slow
@pytest.mark.parametrize("race", [ZERG, TERRAN, PROTOSS])
def test_an_idle_bot_always_loses_and_sooner_against_stronger_opponents(race: int) -> None:
    for build in (RUSH, MACRO):
        times = [loops_to_beat_nobody(race, difficulty, build) for difficulty in (1, 3, 5, 7, 10)]
        assert times == sorted(times, reverse=True)
    easy = loops_to_beat_nobody(race, 2, RUSH) / LOOPS_PER_SECOND
    assert 330 < easy < 480


class GrowsOnly(ScriptedPlayer):
    """A player that builds bases and workers, never an army, and flies away with its buildings when attacked."""

    def _pull_workers(self, intruders: np.ndarray) -> None:
        x0, _, _, y1 = self._game.map.playable
        for building in ("CommandCenter", "Barracks"):
            for slot in self._of(kind(building)) if len(intruders) else []:
                self._game.order(self._player, slot, names.MORPH_INTO, kind(f"{building}Flying"))
            for slot in self._of(kind(f"{building}Flying"), idle=True):
                self._game.order(self._player, slot, names.MOVE, x=x0 + 1.0, y=y1 - 1.0)

    def _raise_army(self) -> None:
        pass


@pytest.mark.slow
@pytest.mark.parametrize(("race", "other"), [(ZERG, TERRAN), (TERRAN, PROTOSS), (PROTOSS, TERRAN)])
@pytest.mark.parametrize("difficulty", [2, 5])
def test_a_bot_without_an_army_loses_wherever_it_hides(race: int, other: int, difficulty: int) -> None:
    match = Match(make_map(2), [Seat(race, race, computer=True), Seat(other, other, computer=True)], 2)
    match.opponents.append(make_opponent(match.simulation, 0, difficulty, RUSH, 1))
    growth = [
        "SCV",
        "Probe",
        "CommandCenter",
        "Nexus",
        "SupplyDepot",
        "Pylon",
        "Refinery",
        "Assimilator",
        "Barracks",
        "Gateway",
    ]
    goals = tuple(goal for goal in PLANS[other][MACRO].goals if goal[0] in growth)
    plan = OpponentPlan(goals, (), attack_at=999)
    match.opponents.append(GrowsOnly(match.simulation, 1, SKILLS[7], plan))
    match.advance_to(40 * 1344)
    assert match.simulation.state["result"][0] == VICTORY


def test_opponents_keep_most_workers_at_minerals() -> None:
    game = develop(ZERG, BUILD_NAMES.index("Air") + 2, 8, difficulty=1).simulation
    top = int(game.state["top"])
    drones = (game.state["alive"][:top] == 1) & (game.state["kind"][:top] == kind("Drone"))
    jobs = game.state["kind"][game.state["order_target"][:top, 0][drones]]
    assert drones.sum() > 8
    assert (game.rules["gas"][0][jobs] == 1).sum() <= 0.4 * drones.sum() + 1
