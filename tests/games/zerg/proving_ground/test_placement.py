"""What answers to placement questions tell a player: what it can know, and nothing else."""

from __future__ import annotations

import pytest

from games.zerg.proving_ground.scenes import new_game, slots
from understudy.games.zerg.proving_ground import state as names
from understudy.games.zerg.proving_ground.abilities import abilities_of
from understudy.games.zerg.proving_ground.map_parts import SIZE
from understudy.games.zerg.proving_ground.simulation import Simulation
from understudy.games.zerg.proving_ground.unit_data import kind
from understudy.games.zerg.starcraft import PROTOSS, TERRAN, ZERG

HERE = SIZE / 2 + 0.5


def center(own: str | None, enemy: str | None, wait: int = 20) -> bool:
    """Whether a Terran player may put a command center in the middle, with these units there."""
    game = new_game(TERRAN, ZERG)
    for player, name in ((1, enemy), (0, own)):
        if name is not None:
            away = 5.0 if name == "CreepTumorBurrowed" else 0.0
            game.spawn(kind(name), player, HERE + away, HERE + away)
    game.step(wait)
    return game.can_place(0, kind("CommandCenter"), HERE, HERE) == names.SUCCESS


@pytest.mark.parametrize(
    ("own", "enemy"),
    [
        (None, None),
        ("Zealot", None),
        (None, "Zealot"),
        (None, "SupplyDepot"),
        (None, "RoachBurrowed"),
        ("Overlord", "DarkTemplar"),
        ("Overlord", "ZerglingBurrowed"),
        ("BarracksFlying", "WidowMineBurrowed"),
    ],
)
def test_what_a_player_cannot_see_and_what_makes_room_is_not_in_the_way(own: str | None, enemy: str | None) -> None:
    assert center(own, enemy)


@pytest.mark.parametrize(
    ("own", "enemy"),
    [
        ("CommandCenter", None),
        ("SiegeTankSieged", None),
        ("Overlord", "SupplyDepot"),
        ("Overlord", "SupplyDepotLowered"),
        ("Overlord", "Zealot"),
        ("Overlord", "SiegeTankSieged"),
        ("Overlord", "Changeling"),
        ("Observer", "DarkTemplar"),
        ("Observer", "RoachBurrowed"),
        ("Observer", "WidowMineBurrowed"),
    ],
)
def test_what_a_player_sees_is_in_the_way(own: str | None, enemy: str | None) -> None:
    assert not center(own, enemy)


def test_creep_is_in_the_way_where_it_was_seen() -> None:
    assert not center("Overlord", "CreepTumorBurrowed", wait=1000)
    assert center(None, "CreepTumorBurrowed", wait=1000)


def test_a_structure_destroyed_out_of_sight_is_in_the_way_until_its_place_is_seen() -> None:
    game = new_game(TERRAN, ZERG)
    scout, depot = game.spawn(kind("Overlord"), 0, HERE, HERE), game.spawn(kind("SupplyDepot"), 1, HERE, HERE)
    game.step(20)
    game.destroy(scout)
    game.step(20)
    game.destroy(depot)
    game.step(20)
    assert game.can_place(0, kind("CommandCenter"), HERE, HERE) != names.SUCCESS
    game.spawn(kind("Overlord"), 0, HERE, HERE)
    game.step(20)
    assert game.can_place(0, kind("CommandCenter"), HERE, HERE) == names.SUCCESS


def test_a_builder_finds_out_what_the_query_did_not_tell() -> None:
    game = new_game(TERRAN, ZERG)
    game.state["minerals"][0] = 1000
    worker = slots(game, "SCV")[0]
    game.state["x"][worker], game.state["y"][worker] = HERE, HERE - 16
    game.spawn(kind("ZerglingBurrowed"), 1, HERE, HERE)
    game.step(20)
    assert game.order(0, worker, names.BUILD_AT, kind("CommandCenter"), x=HERE, y=HERE) == names.SUCCESS
    assert game.state["minerals"][0] < 700
    game.step(400)
    assert len(slots(game, "CommandCenter")) == 1
    assert int(game.state["failures"]) == 1


def warp_gate() -> tuple[Simulation, int]:
    game = new_game(PROTOSS, ZERG)
    game.state["minerals"][0] = game.state["vespene"][0] = 2000
    x, y = game.map.starts[0]
    for name, dx in (("Pylon", 8), ("CyberneticsCore", 12)):
        game.spawn(kind(name), 0, round(x) + dx, round(y) + 6)
    gate = game.spawn(kind("WarpGate"), 0, round(x) + 8.5, round(y) + 9.5)
    game.step(32)
    return game, gate


def test_units_are_warped_in_where_there_is_power_and_room_and_not_during_the_cooldown() -> None:
    game, gate = warp_gate()
    x, y = round(game.map.starts[0][0]) + 6.5, round(game.map.starts[0][1]) + 4.5
    stalker = kind("Stalker")
    assert game.can_place(0, stalker, x, y) == names.SUCCESS
    assert game.can_place(0, stalker, HERE, HERE) == names.NO_POWER
    assert game.order(0, gate, names.MAKE, stalker, x=x, y=y) == names.SUCCESS
    assert game.can_place(0, stalker, x, y) == names.CANT_BUILD_HERE  # a unit stands there
    assert game.order(0, gate, names.MAKE, stalker, x=x + 2, y=y) == names.COOLING_DOWN
    game.step(600)
    assert game.order(0, gate, names.MAKE, stalker, x=x + 2, y=y) == names.SUCCESS
    game.step(120)
    assert len(slots(game, "Stalker")) == 2


def test_a_warp_gate_offers_its_units_only_when_it_is_ready() -> None:
    from understudy.games.zerg.proving_ground.offers import available  # noqa: PLC0415 - what the API answers with

    game, gate = warp_gate()
    warp_ins = {ability for ability, meant in abilities_of(kind("WarpGate")) if meant.order == names.MAKE}
    x, y = round(game.map.starts[0][0]) + 6.5, round(game.map.starts[0][1]) + 4.5
    assert warp_ins & set(available(game, 0, gate, False))
    game.order(0, gate, names.MAKE, kind("Stalker"), x=x, y=y)
    assert not warp_ins & set(available(game, 0, gate, False))
    game.step(600)
    assert warp_ins & set(available(game, 0, gate, False))
