from __future__ import annotations

import numpy as np
import pytest

from games.zerg.proving_ground.scenes import new_game, rich, slots
from understudy.games.zerg.proving_ground import state as names
from understudy.games.zerg.proving_ground.map_parts import SIZE
from understudy.games.zerg.proving_ground.unit_data import kind
from understudy.games.zerg.starcraft import PROTOSS, TERRAN, ZERG

MIDDLE = SIZE / 2


def test_twelve_workers_mine_about_what_they_do_in_the_game() -> None:
    game = new_game()
    game.step(round(60 * 22.4))
    mined = game.state["score"][:, names.COLLECTED_MINERALS]
    assert all(600 <= amount <= 760 for amount in mined)  # in the game, 12 workers mine 660 to 700 per minute


def test_more_workers_than_a_base_can_use_add_little() -> None:
    def income(extra: int) -> float:
        game = new_game()
        x, y = game.map.starts[0]
        field = int(game.state["order_target"][slots(game, "Drone")[0], 0])
        for _ in range(extra):
            game.order(0, game.spawn(kind("Drone"), 0, x + 4, y), names.GATHER, target=field)
        game.step(1344)
        before = float(game.state["score"][0, names.COLLECTED_MINERALS])
        game.step(1344)
        return float(game.state["score"][0, names.COLLECTED_MINERALS]) - before

    twelve, sixteen, twenty_eight, forty = income(0), income(4), income(16), income(28)
    assert twelve < sixteen < twenty_eight
    assert forty < twenty_eight * 1.1


def test_a_larva_becomes_a_drone_after_its_build_time_and_costs_its_price() -> None:
    game = new_game()
    larva = slots(game, "Larva")[0]
    assert game.order(0, larva, names.MAKE, kind("Drone")) == names.SUCCESS
    assert game.state["minerals"][0] == 0
    assert game.supply(0) == (13.0, 14.0)
    game.step(270)
    assert game.state["kind"][larva] == kind("Egg")
    game.step(4)
    assert game.state["kind"][larva] == kind("Drone")


def test_zerglings_hatch_in_pairs_and_need_a_pool() -> None:
    game = rich(new_game())
    larva = slots(game, "Larva")[0]
    assert game.order(0, larva, names.MAKE, kind("Zergling")) == names.TECH_NOT_MET
    game.spawn(kind("SpawningPool"), 0, 50.5, 50.5)
    assert game.order(0, larva, names.MAKE, kind("Zergling")) == names.SUCCESS
    game.step(390)
    assert len(slots(game, "Zergling")) == 2


def test_nothing_is_trained_beyond_the_supply() -> None:
    game = rich(new_game())
    larvae = slots(game, "Larva")
    assert game.order(0, larvae[0], names.MAKE, kind("Drone")) == names.SUCCESS
    assert game.order(0, larvae[1], names.MAKE, kind("Drone")) == names.SUCCESS
    assert game.order(0, larvae[2], names.MAKE, kind("Drone")) == names.NOT_ENOUGH_FOOD


def test_an_empty_bank_buys_nothing() -> None:
    game = new_game()
    game.state["minerals"][0] = 49
    assert game.order(0, slots(game, "Larva")[0], names.MAKE, kind("Drone")) == names.NOT_ENOUGH_MINERALS


def test_a_drone_is_used_up_by_what_it_builds() -> None:
    game = rich(new_game())
    x, y = game.map.starts[0]
    drone = slots(game, "Drone")[0]
    assert game.order(0, drone, names.BUILD_AT, kind("SpawningPool"), x=x + 6, y=y + 3) == names.SUCCESS
    game.step(150)
    assert len(slots(game, "Drone")) == 11
    assert len(slots(game, "SpawningPool")) == 1
    assert game.state["minerals"][0] < 5000 - 200 + 400


def test_zerg_build_on_creep_only_and_protoss_at_pylons() -> None:
    game = new_game(ZERG, PROTOSS)
    far = game.map.bases[4].center
    assert game.can_place(0, kind("SpawningPool"), *far) == names.NO_CREEP
    assert game.can_place(0, kind("Hatchery"), *far) == names.SUCCESS
    x, y = game.map.starts[1]
    assert game.can_place(1, kind("Gateway"), x - 9, y - 9) == names.NO_POWER
    game.spawn(kind("Pylon"), 1, round(x - 12), round(y - 9))
    assert game.can_place(1, kind("Gateway"), x - 9, y - 9) == names.SUCCESS


def test_a_townhall_keeps_its_distance_from_minerals() -> None:
    game = new_game()
    x, y = game.map.bases[4].minerals[0]
    cx, cy = game.map.bases[4].center
    nearer = (cx + (x - cx) * 0.4, cy + (y - cy) * 0.4)
    assert game.can_place(0, kind("Hatchery"), *nearer) == names.TOO_CLOSE_TO_RESOURCES


def test_an_inject_brings_three_larva() -> None:
    game = new_game()
    hall = slots(game, "Hatchery")[0]
    x, y = game.map.starts[0]
    queen = game.spawn(kind("Queen"), 0, x + 5, y + 5)
    assert game.order(0, queen, names.INJECT, target=hall) == names.SUCCESS
    game.step(60)
    assert game.state["energy"][queen] < 5
    before = len(slots(game, "Larva"))
    game.step(680)
    assert len(slots(game, "Larva")) == before + 3


def test_terran_buildings_grow_only_while_their_scv_works() -> None:
    game = rich(new_game(TERRAN, ZERG))
    x, y = game.map.starts[0]
    scv = slots(game, "SCV")[0]
    assert game.order(0, scv, names.BUILD_AT, kind("SupplyDepot"), x=x + 8, y=y + 2) == names.SUCCESS
    game.step(200)
    depot = slots(game, "SupplyDepot")[0]
    progress = float(game.state["progress"][depot])
    assert 0 < progress < 1
    game.order(0, scv, names.MOVE, x=x, y=y + 6)
    game.step(100)
    assert game.state["progress"][depot] == pytest.approx(progress, abs=0.01)


def test_marauders_need_a_tech_lab() -> None:
    game = rich(new_game(TERRAN, ZERG))
    x, y = game.map.starts[0]
    barracks = game.spawn(kind("Barracks"), 0, x + 10, y + 2)
    assert game.order(0, barracks, names.MAKE, kind("Marauder")) == names.TECH_NOT_MET
    assert game.order(0, barracks, names.MAKE, kind("BarracksTechLab")) == names.SUCCESS
    game.step(410)
    assert game.order(0, barracks, names.MAKE, kind("Marauder")) == names.SUCCESS


def test_a_weapon_hits_for_its_damage_less_armour_and_cools_down() -> None:
    game = new_game(ZERG, TERRAN)
    roach = game.spawn(kind("Roach"), 0, MIDDLE, MIDDLE)
    marine = game.spawn(kind("Marine"), 1, MIDDLE + 3, MIDDLE)
    game.step(16)
    game.order(0, roach, names.ATTACK, target=marine)
    game.step(2)
    assert game.state["health"][marine] == 45 - 16
    assert game.state["cooldown"][roach] == pytest.approx(32, abs=2)
    game.step(1)
    assert game.state["health"][roach] >= 145 - 2 * 5  # 6 less 1 armour a shot


def test_bonus_damage_counts_against_its_attribute() -> None:
    game = new_game(TERRAN, ZERG)
    marauder = game.spawn(kind("Marauder"), 0, MIDDLE, MIDDLE)
    roach = game.spawn(kind("Roach"), 1, MIDDLE + 4, MIDDLE)
    game.step(16)
    game.order(0, marauder, names.ATTACK, target=roach)
    game.step(2)
    assert game.state["health"][roach] == pytest.approx(145 - (20 - 1), abs=0.5)


def test_units_without_a_weapon_against_air_leave_flyers_alone() -> None:
    game = new_game(ZERG, TERRAN)
    game.spawn(kind("Roach"), 0, MIDDLE, MIDDLE)
    banshee = game.spawn(kind("Banshee"), 1, MIDDLE + 2, MIDDLE)
    game.step(100)
    assert game.state["health"][banshee] == 140


def test_upgrades_take_effect() -> None:
    game = new_game()
    zergling = game.spawn(kind("Zergling"), 0, MIDDLE, MIDDLE)
    game.order(0, zergling, names.MOVE, x=MIDDLE, y=MIDDLE + 20)
    game.step(20)
    slow = float(game.state["y"][zergling]) - MIDDLE
    game.finish_upgrade(0, 66)
    game.step(20)
    fast = float(game.state["y"][zergling]) - MIDDLE - slow
    assert fast == pytest.approx(slow * 1.59, rel=0.05)


def test_ground_units_walk_around_cliffs_and_flyers_do_not() -> None:
    game = new_game()
    start, goal = game.map.starts[0], game.map.bases[2].center
    drone = game.spawn(kind("Drone"), 0, *start)
    overlord = game.spawn(kind("Mutalisk"), 0, *start)
    for unit in (drone, overlord):
        game.order(0, unit, names.MOVE, x=goal[0], y=goal[1])
    pathable = game.terrain["pathable"][0]
    for _ in range(60):
        game.step(16)
        assert pathable[int(game.state["y"][drone]), int(game.state["x"][drone])]
    assert np.hypot(game.state["x"][drone] - goal[0], game.state["y"][drone] - goal[1]) < 1.5


def test_structures_seen_once_are_remembered_until_their_place_is_seen_empty() -> None:
    game = new_game(ZERG, TERRAN)
    x, y = game.map.starts[1]
    hall = slots(game, "CommandCenter", 1)[0]
    assert game.state["known"][0, hall] == 0
    scout = game.spawn(kind("Overlord"), 0, x + 4, y)
    game.step(16)
    assert game.state["seen"][0, hall] == 1
    game.destroy(scout)
    game.step(16)
    assert (game.state["seen"][0, hall], game.state["known"][0, hall]) == (0, 1)
    game.spawn(kind("Barracks"), 1, 80.5, 80.5)
    game.destroy(hall)
    assert game.state["ghosts"][0] == 1
    game.spawn(kind("Overlord"), 0, x + 4, y)
    game.step(16)
    assert game.state["ghosts"][0] == 0


def test_high_ground_is_not_seen_from_below() -> None:
    game = new_game()
    x, y = game.map.starts[1]
    low = game.map.bases[3].center
    assert game.state["visibility"][0][int(y), int(x)] == 0
    game.spawn(kind("Zergling"), 0, *low)
    game.step(1)
    assert game.state["visibility"][0][int(low[1]), int(low[0])] == 2
    assert game.state["visibility"][0][int(y), int(x)] == 0


def test_the_last_structure_decides() -> None:
    game = new_game()
    game.destroy(slots(game, "CommandCenter", 1)[0])
    game.step(16)
    assert game.over
    assert game.state["result"].tolist() == [1, 2]


def test_cancelled_production_is_paid_back() -> None:
    game = new_game(TERRAN, ZERG)
    hall = slots(game, "CommandCenter")[0]
    assert game.order(0, hall, names.MAKE, kind("SCV")) == names.SUCCESS
    assert game.state["minerals"][0] == 0
    assert game.order(0, hall, names.CANCEL_LAST) == names.SUCCESS
    assert game.state["minerals"][0] == 50


def test_nobody_commands_the_others_units() -> None:
    game = new_game()
    assert game.order(1, slots(game, "Drone")[0], names.STOP) == names.NOT_YOURS


def test_same_seed_and_orders_give_the_same_bytes_step_by_step() -> None:
    def run() -> list[str]:
        game = rich(new_game(seed=5))
        digests = []
        for n in range(20):
            for larva in slots(game, "Larva"):
                game.order(0, larva, names.MAKE, kind("Overlord" if n % 3 else "Drone"))
            for scv in slots(game, "SCV", 1)[: n % 3]:
                game.order(1, scv, names.ATTACK, x=MIDDLE, y=MIDDLE)
            game.step(40)
            digests.append(game.digest())
        return digests

    first = run()
    assert first == run()
    assert len(set(first)) == len(first)


def test_a_full_game_refuses_more_units() -> None:
    game = new_game()
    made = [game.spawn(kind("Zergling"), 0, MIDDLE, MIDDLE) for _ in range(names.SLOTS)]
    assert made[-1] == -1
    game.step(2)
