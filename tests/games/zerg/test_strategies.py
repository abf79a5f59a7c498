from __future__ import annotations

from collections import Counter

import pytest

pytest.importorskip("numba")

from games.zerg.small_games import Scene
from understudy.games.zerg import catalogue as units
from understudy.games.zerg.brain import Brain
from understudy.games.zerg.proving_ground.unit_data import kind
from understudy.games.zerg.snapshot import ATTACK, MAKE, MOVE, UnitCommand, distance
from understudy.games.zerg.strategies import NAMES, STRATEGIES, Posture

OUTSIDE = (80.0, 80.0)  # in the middle of the map


def orders(scene: Scene, strategy: str) -> list[UnitCommand]:
    brain = Brain(scene.field)
    brain.observe(scene.snapshot())
    brain.decide(NAMES.index(strategy))
    return brain.commands()


def made(scene: Scene, strategy: str) -> Counter[int]:
    return Counter(command.product for command in orders(scene, strategy) if command.verb == MAKE)


@pytest.fixture
def rich() -> Scene:
    """A finished pool and money for everything, with enough overlords."""
    scene = Scene(minerals=1000, vespene=300)
    scene.add({"SpawningPool": 1, "Overlord": 4, "Drone": 6, "Queen": 1})
    return scene


def test_all_six_are_there() -> None:
    assert NAMES == ("ECONOMY", "EXPAND", "TECH", "DEFEND", "ATTACK", "ALL_IN")


def test_economy_makes_drones_where_attack_would_make_fighters() -> None:
    few = Scene(minerals=200)
    few.add({"Hatchery": 1, "SpawningPool": 1, "Queen": 2, "Overlord": 4, "Drone": 10})
    assert made(few, "ECONOMY")[units.DRONE] == 3
    assert made(few, "ATTACK")[units.DRONE] == 0
    assert made(few, "ATTACK")[units.ZERGLING] == 3


def test_expand_founds_a_base(rich: Scene) -> None:
    assert made(rich, "EXPAND")[units.HATCHERY] == 1
    rich.bank(400)
    assert made(rich, "EXPAND")[units.HATCHERY] == 1
    assert made(rich, "ECONOMY")[units.HATCHERY] == 0


def test_expand_saves_for_the_base() -> None:
    scene = Scene(minerals=200)
    scene.add({"SpawningPool": 1, "Queen": 1, "Overlord": 2, "Drone": 5})
    assert made(scene, "EXPAND")[units.DRONE] == 0
    assert made(scene, "ECONOMY")[units.DRONE] > 0


def test_tech_builds_the_roach_warren_and_researches(rich: Scene) -> None:
    assert made(rich, "TECH")[units.ROACH_WARREN] == 1
    assert made(rich, "ECONOMY")[units.ROACH_WARREN] == 0
    rich.add({"RoachWarren": 1})
    assert made(rich, "TECH")[units.EVOLUTION_CHAMBER] == 1
    rich.add({"EvolutionChamber": 1})
    assert made(rich, "TECH")[units.LAIR] == 1


def test_tech_hurries_to_hydralisks_when_the_enemy_flies(rich: Scene) -> None:
    rich.add({"Banshee": 2}, player=1, near=rich.field.start)
    assert made(rich, "TECH")[units.LAIR] == 1
    assert made(rich, "TECH")[units.ROACH_WARREN] == 0


def test_defend_puts_up_spine_crawlers(rich: Scene) -> None:
    assert made(rich, "DEFEND")[units.SPINE_CRAWLER] == 1
    assert made(rich, "ATTACK")[units.SPINE_CRAWLER] == 0


def test_who_grows_makes_fighters_while_a_base_is_threatened() -> None:
    scene = Scene(minerals=200)
    scene.add({"SpawningPool": 1, "Queen": 1, "Overlord": 4})
    assert made(scene, "ECONOMY")[units.DRONE] > 0
    scene.add({"Marine": 4}, player=1, near=scene.field.start)
    assert made(scene, "ECONOMY")[units.DRONE] == 0
    assert made(scene, "ECONOMY")[units.ZERGLING] > 0


def test_money_that_no_larva_can_spend_becomes_a_hatchery() -> None:
    scene = Scene(minerals=400)
    scene.add({"SpawningPool": 1, "Queen": 1, "Overlord": 4, "Drone": 5})
    assert made(scene, "ATTACK")[units.HATCHERY] == 0
    state = scene.game.state
    state["alive"][: int(state["top"])][state["kind"][: int(state["top"])] == kind("Larva")] = 0
    assert made(scene, "ATTACK")[units.HATCHERY] == 1


def test_after_a_raid_drones_come_before_the_pool_that_was_lost() -> None:
    scene = Scene(minerals=80)
    state = scene.game.state
    top = int(state["top"])
    workers = (state["kind"][:top] == kind("Drone")) & (state["owner"][:top] == 0)
    state["alive"][:top][workers] = 0
    assert made(scene, "ATTACK")[units.DRONE] == 1


def test_the_overlord_that_looks_out_comes_home_when_it_is_shot_at() -> None:
    scene = Scene()
    brain = Brain(scene.field)

    def goals() -> list[tuple[float, float]]:
        brain.observe(scene.snapshot())
        return [c.at for c in brain.commands() if c.verb == MOVE and c.at is not None]

    (out,) = goals()
    assert distance(out, scene.field.enemy_start) < distance(out, scene.field.start)
    assert goals() == []
    state = scene.game.state
    state["health"][: int(state["top"])][state["kind"][: int(state["top"])] == kind("Overlord")] = 50
    assert goals() == [scene.field.start]
    assert goals() == []


def attack_point(scene: Scene, strategy: str) -> tuple[float, float]:
    brain = Brain(scene.field)
    for _ in range(2):  # the first turn may send a scout
        brain.observe(scene.snapshot())
        brain.decide(NAMES.index(strategy))
        points = [command.at for command in brain.commands() if command.verb == ATTACK and command.at is not None]
    assert points
    return points[-1]


@pytest.mark.parametrize("strategy", NAMES)
def test_the_army_goes_where_the_strategy_sends_it(strategy: str) -> None:
    scene = Scene()
    scene.add({"Roach": 12}, near=OUTSIDE)
    at = attack_point(scene, strategy)
    leaves = STRATEGIES[NAMES.index(strategy)].posture in (Posture.ATTACK, Posture.ALL_IN)
    assert (distance(at, scene.field.enemy_start) < distance(at, scene.field.start)) is leaves


def test_attack_waits_when_the_enemy_is_stronger_and_all_in_does_not() -> None:
    scene = Scene()
    scene.add({"Roach": 6}, near=OUTSIDE)
    scene.add({"Marauder": 20}, player=1, near=OUTSIDE)
    home = attack_point(scene, "ATTACK")
    assert distance(home, scene.field.start) < distance(home, scene.field.enemy_start)
    out = attack_point(scene, "ALL_IN")
    assert distance(out, scene.field.enemy_start) < distance(out, scene.field.start)


def test_a_game_began_with_what_was_in_force_for_most_of_its_first_decisions() -> None:
    scene = Scene()
    brain = Brain(scene.field)
    brain.observe(scene.snapshot())
    assert brain.start == ""
    for name, times in (("DEFEND", 18), ("ATTACK", 80)):
        for _ in range(times):
            brain.decide(NAMES.index(name))
    assert brain.start == "DEFEND"


def test_a_strategy_is_in_force_when_it_is_chosen_twice_in_a_row_and_the_first_of_a_game_at_once() -> None:
    scene = Scene()
    brain = Brain(scene.field)
    in_force = []
    for strategy in ("DEFEND", "ATTACK", "ALL_IN", "ATTACK", "ATTACK", "ECONOMY", "ATTACK", "ECONOMY", "ECONOMY"):
        brain.observe(scene.snapshot())
        brain.decide(NAMES.index(strategy))
        in_force.append(NAMES[brain.strategy])
    assert in_force == [*["DEFEND"] * 4, *["ATTACK"] * 4, "ECONOMY"]


def test_a_wave_that_is_outnumbered_turns_back() -> None:
    scene = Scene()
    scene.add({"Roach": 8}, near=OUTSIDE)
    brain = Brain(scene.field)
    brain.observe(scene.snapshot())
    brain.decide(NAMES.index("ATTACK"))
    away = [c.at for c in brain.commands() if c.verb == ATTACK and c.at is not None][-1]
    assert distance(away, scene.field.enemy_start) < 10
    scene.add({"Marauder": 20}, player=1, near=OUTSIDE)
    brain.observe(scene.snapshot())
    back = [c.at for c in brain.commands() if c.verb == ATTACK and c.at is not None][-1]
    assert distance(back, scene.field.start) < distance(back, scene.field.enemy_start)


@pytest.mark.parametrize("strategy", ["ECONOMY", "EXPAND", "TECH", "DEFEND"])
@pytest.mark.parametrize("threatened", [False, True])
def test_a_wave_that_is_out_goes_on_unless_a_threatened_base_is_to_be_defended(strategy: str, threatened: bool) -> None:
    scene = Scene()
    scene.add({"Roach": 8}, near=OUTSIDE)
    brain = Brain(scene.field)
    brain.observe(scene.snapshot())
    brain.decide(NAMES.index("ATTACK"))
    brain.commands()
    scene.add({"Roach": 1}, near=OUTSIDE)  # the new unit waits at home
    if threatened:
        scene.add({"Marine": 3}, player=1, near=scene.field.start)
    brain.observe(scene.snapshot())
    brain.decide(NAMES.index(strategy))
    brain.decide(NAMES.index(strategy))
    goals = {tag: c.at for c in brain.commands() if c.verb == ATTACK and c.at is not None for tag in c.tags}
    home = [tag for tag, at in goals.items() if distance(at, scene.field.start) < distance(at, scene.field.enemy_start)]
    assert len(home) == (9 if strategy == "DEFEND" and threatened else 1)


def test_the_army_at_home_goes_to_the_base_that_is_attacked() -> None:
    scene = Scene()
    scene.add({"Roach": 8})
    natural = tuple(scene.field.bases[1])
    scene.add({"Hatchery": 1}, near=(natural[0] - 8, natural[1] - 4))
    scene.add({"Marine": 3}, player=1, near=natural)
    at = attack_point(scene, "ECONOMY")
    assert distance(at, natural) < 16
