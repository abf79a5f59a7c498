from __future__ import annotations

import pytest

from understudy.games.zerg.proving_ground import state as names
from understudy.games.zerg.proving_ground.difficulty_ladder import play_computers
from understudy.games.zerg.proving_ground.maps import make_map
from understudy.games.zerg.proving_ground.match import Match, Seat
from understudy.games.zerg.proving_ground.opponents import make_opponent
from understudy.games.zerg.proving_ground.opponents.plans import PLANS
from understudy.games.zerg.proving_ground.opponents.skill import SKILLS
from understudy.games.zerg.proving_ground.unit_data import kind, upgrades
from understudy.games.zerg.starcraft import MACRO, PROTOSS, TERRAN, ZERG

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
