"""What a unit or structure can be told while it changes, waits for an addon or has no power; how games end in a tie."""

from __future__ import annotations

import pytest

from games.zerg.proving_ground.scenes import new_game, rich, slots
from understudy.games.zerg.proving_ground import state as names
from understudy.games.zerg.proving_ground.offers import available
from understudy.games.zerg.proving_ground.rules import WARP_GATE_TECH
from understudy.games.zerg.proving_ground.simulation import Simulation
from understudy.games.zerg.proving_ground.unit_data import kind
from understudy.games.zerg.starcraft import PROTOSS, TERRAN, TIE, ZERG

HERE = 84.0
HALT, MORPH_TO_WARP_GATE = 3660, 1518


def barracks_with_addon_under_way() -> tuple[Simulation, int, int]:
    game = rich(new_game(TERRAN, ZERG))
    x, y = game.map.starts[0]
    barracks = game.spawn(kind("Barracks"), 0, x + 10, y + 2)
    assert game.order(0, barracks, names.MAKE, kind("BarracksTechLab")) == names.SUCCESS
    game.step(20)
    return game, barracks, slots(game, "BarracksTechLab")[0]


def test_a_building_waits_for_its_addon() -> None:
    game, barracks, lab = barracks_with_addon_under_way()
    assert game.order(0, barracks, names.MAKE, kind("Marine")) == names.NOT_SUPPORTED
    assert game.order(0, barracks, names.MORPH_INTO, kind("BarracksFlying")) == names.NOT_SUPPORTED
    assert available(game, 0, barracks, False) == []
    assert game.state["order_progress"][barracks, 0] == pytest.approx(game.state["progress"][lab], abs=0.01)
    game.step(600)
    assert game.state["orders"][barracks] == 0
    assert game.order(0, barracks, names.MAKE, kind("Marine")) == names.SUCCESS


@pytest.mark.parametrize("by_addon", [False, True])
def test_an_addon_is_cancelled_for_three_quarters_of_its_price(by_addon: bool) -> None:
    game, barracks, lab = barracks_with_addon_under_way()
    for worker in slots(game, "SCV"):
        game.order(0, worker, names.STOP)
    before = float(game.state["minerals"][0])
    assert game.order(0, lab if by_addon else barracks, names.CANCEL_LAST) == names.SUCCESS
    assert game.state["minerals"][0] - before == pytest.approx(37.5)
    game.step(2)
    assert (game.state["host"][barracks], game.state["orders"][barracks]) == (-1, 0)
    assert not slots(game, "BarracksTechLab")


def test_an_unfinished_addon_is_lost_with_its_building() -> None:
    game, barracks, _ = barracks_with_addon_under_way()
    game.destroy(barracks)
    assert not slots(game, "BarracksTechLab")


def test_a_command_center_that_becomes_an_orbital_command_trains_nobody() -> None:
    game = rich(new_game(TERRAN, ZERG))
    hall = slots(game, "CommandCenter")[0]
    game.spawn(kind("Barracks"), 0, HERE, HERE)
    assert game.order(0, hall, names.MORPH_INTO, kind("OrbitalCommand")) == names.SUCCESS
    game.step(4)
    assert game.order(0, hall, names.MAKE, kind("SCV")) == names.NOT_SUPPORTED
    assert available(game, 0, hall, False) == []
    assert game.order(0, hall, names.CANCEL) == names.SUCCESS
    assert game.order(0, hall, names.MAKE, kind("SCV")) == names.SUCCESS


def test_a_unit_that_changes_is_not_interrupted() -> None:
    game = new_game(TERRAN, ZERG)
    tank = game.spawn(kind("SiegeTank"), 0, HERE, HERE)
    for _ in range(5):
        assert game.order(0, tank, names.MORPH_INTO, kind("SiegeTankSieged")) == names.SUCCESS
        game.step(2)
        assert game.order(0, tank, names.MOVE, x=HERE + 10, y=HERE) == names.SUCCESS
    game.order(0, tank, names.STOP)
    game.step(60)
    assert slots(game, "SiegeTankSieged") == [tank]
    assert game.state["orders"][tank] == 0
    assert game.state["x"][tank] == HERE


def test_a_barracks_that_lifts_off_trains_nobody() -> None:
    game = rich(new_game(TERRAN, ZERG))
    barracks = game.spawn(kind("Barracks"), 0, HERE + 0.5, HERE + 0.5)
    assert game.order(0, barracks, names.MORPH_INTO, kind("BarracksFlying")) == names.SUCCESS
    game.step(4)
    assert game.order(0, barracks, names.MAKE, kind("Marine")) == names.NOT_SUPPORTED
    game.step(40)
    assert slots(game, "BarracksFlying") == [barracks]
    assert game.state["orders"][barracks] == 0


def test_without_power_nothing_is_made() -> None:
    game = rich(new_game(PROTOSS, ZERG))
    x, y = (round(v) + 8.0 for v in game.map.starts[0])
    pylon = game.spawn(kind("Pylon"), 0, x, y)
    game.spawn(kind("Pylon"), 0, HERE, HERE)
    gate, forge = game.spawn(kind("WarpGate"), 0, x + 3.5, y + 0.5), game.spawn(kind("Forge"), 0, x, y + 3)
    game.destroy(pylon)
    game.step(16)
    assert game.order(0, gate, names.MAKE, kind("Zealot"), x=HERE, y=HERE + 3) == names.TECH_NOT_MET
    assert game.order(0, forge, names.RESEARCH, 39) == names.TECH_NOT_MET
    assert available(game, 0, gate, False) == []
    game.spawn(kind("Pylon"), 0, x, y)
    game.step(16)
    assert game.order(0, gate, names.MAKE, kind("Zealot"), x=HERE, y=HERE + 3) == names.SUCCESS
    assert game.order(0, forge, names.RESEARCH, 39) == names.SUCCESS


@pytest.mark.parametrize(("near", "loops"), [("", 256), ("WarpGate", 80), ("WarpPrismPhasing", 80)])
def test_units_warp_in_fast_near_a_nexus_a_warp_gate_or_a_prism(near: str, loops: int) -> None:
    game = rich(new_game(PROTOSS, ZERG))
    x, y = (round(v) + 8.0 for v in game.map.starts[0])
    game.spawn(kind("Pylon"), 0, x, y)
    gate = game.spawn(kind("WarpGate"), 0, x + 3.5, y + 0.5)
    game.spawn(kind("Pylon"), 0, HERE, HERE)
    if near:
        game.spawn(kind(near), 0, HERE + 2.5, HERE + 0.5)
    game.step(16)
    assert game.order(0, gate, names.MAKE, kind("Zealot"), x=HERE, y=HERE + 2) == names.SUCCESS
    zealot = slots(game, "Zealot")[0]
    game.step(loops - 2)
    assert game.state["progress"][zealot] < 1
    game.step(2)
    assert game.state["progress"][zealot] == 1


def test_an_scv_that_halts_leaves_its_building() -> None:
    from understudy.games.zerg.proving_ground.abilities import SimulationOrder, command_for  # noqa: PLC0415

    assert command_for(kind("SCV"), HALT) == SimulationOrder(names.STOP)


def test_three_minutes_in_which_nothing_is_gathered_made_or_destroyed_end_in_a_tie() -> None:
    game = new_game(TERRAN, PROTOSS)
    for player, name in enumerate(("SCV", "Probe")):
        for worker in slots(game, name, player):
            game.order(player, worker, names.STOP)
    hall = slots(game, "CommandCenter")[0]
    game.step(3000)
    game.order(0, hall, names.MAKE, kind("SCV"))
    game.step(4000)
    assert not game.over
    game.step(600)
    assert game.over
    assert game.state["result"].tolist() == [TIE, TIE]


def test_a_gateway_becomes_a_warp_gate_after_the_research_and_back() -> None:
    game = new_game(PROTOSS, ZERG)
    game.spawn(kind("Pylon"), 0, HERE, HERE)
    gate = game.spawn(kind("Gateway"), 0, HERE + 3.5, HERE + 0.5)
    assert MORPH_TO_WARP_GATE not in available(game, 0, gate, False)
    assert game.order(0, gate, names.MORPH_INTO, kind("WarpGate")) == names.TECH_NOT_MET
    game.finish_upgrade(0, WARP_GATE_TECH)
    assert MORPH_TO_WARP_GATE in available(game, 0, gate, False)
    for there in ("WarpGate", "Gateway"):
        assert game.order(0, gate, names.MORPH_INTO, kind(there)) == names.SUCCESS
        game.step(158)
        assert game.state["kind"][gate] != kind(there)
        game.step(4)
        assert game.state["kind"][gate] == kind(there)


@pytest.mark.parametrize(
    ("name", "back", "ability"), [("RoachBurrowed", "Roach", 1388), ("SiegeTankSieged", "SiegeTank", 390)]
)
def test_units_change_back_when_the_building_that_they_came_from_is_lost(name: str, back: str, ability: int) -> None:
    game = new_game(ZERG if name == "RoachBurrowed" else TERRAN, PROTOSS)
    unit = game.spawn(kind(name), 0, HERE, HERE)
    assert ability in available(game, 0, unit, False)
    assert game.order(0, unit, names.MORPH_INTO, kind(back)) == names.SUCCESS
    game.step(70)
    assert game.state["kind"][unit] == kind(back)
