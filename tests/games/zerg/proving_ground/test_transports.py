from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from s2clientprotocol import raw_pb2

from games.zerg.proving_ground.scenes import new_game, rich, slots
from understudy.games.zerg.proving_ground import state as names
from understudy.games.zerg.proving_ground.simulation import Simulation
from understudy.games.zerg.proving_ground.unit_data import kind
from understudy.games.zerg.proving_ground.wire import UnitWriter
from understudy.games.zerg.starcraft import TERRAN, ZERG


def terran_game() -> tuple[Simulation, float, float]:
    game = rich(new_game(TERRAN, ZERG))
    x, y = game.map.bases[2].center  # a natural: flat ground, nobody near
    return game, x, y


def shown(game: Simulation, slot: int) -> Any:
    raw = raw_pb2.ObservationRaw.FromString(UnitWriter(game, 0).write())
    at = (game.state["x"][slot], game.state["y"][slot])
    return next(u for u in raw.units if abs(u.pos.x - at[0]) < 1e-3 and abs(u.pos.y - at[1]) < 1e-3)


def test_a_medivac_takes_marines_along_and_sets_them_down_elsewhere() -> None:
    game, x, y = terran_game()
    medivac = game.spawn(kind("Medivac"), 0, x, y)
    marines = [game.spawn(kind("Marine"), 0, x + 2 + n, y) for n in range(2)]
    for marine in marines:
        assert game.order(0, medivac, names.LOAD, target=marine, queued=True) == names.SUCCESS
    game.step(120)
    assert game.state["loaded"][medivac] == 2
    unit = shown(game, medivac)
    assert (unit.cargo_space_taken, unit.cargo_space_max, len(unit.passengers)) == (2, 8, 2)
    assert game.order(0, marines[0], names.MOVE, x=x, y=y) == names.NOT_SUPPORTED
    goal = game.map.bases[4].center
    assert game.order(0, medivac, names.UNLOAD, x=goal[0], y=goal[1]) == names.SUCCESS
    game.step(1200)
    assert game.state["loaded"][medivac] == 0
    assert all(np.hypot(game.state["x"][m] - goal[0], game.state["y"][m] - goal[1]) < 6 for m in marines)
    assert game.order(0, medivac, names.UNLOAD) == names.NO_CARGO


@pytest.mark.parametrize(("ship", "survive"), [("Bunker", True), ("Medivac", False)])
def test_who_sits_in_a_transport_that_is_lost(ship: str, survive: bool) -> None:
    game, x, y = terran_game()
    carrier = game.spawn(kind(ship), 0, x, y)
    marine = game.spawn(kind("Marine"), 0, x + 2.5, y)
    assert game.order(0, marine, names.SMART, target=carrier) == names.SUCCESS
    game.step(60)
    assert game.state["carrier"][marine] == carrier + 1
    game.destroy(carrier)
    assert bool(game.state["alive"][marine]) is survive
    if survive:
        assert game.order(0, marine, names.MOVE, x=x, y=y) == names.SUCCESS


def test_a_transport_refuses_what_it_cannot_take() -> None:
    game, x, y = terran_game()
    bunker, tank = game.spawn(kind("Bunker"), 0, x, y), game.spawn(kind("SiegeTank"), 0, x + 3, y)
    stranger = game.spawn(kind("Marine"), 1, x + 4, y)
    assert game.order(0, bunker, names.LOAD, target=tank) == names.CANT_LOAD
    assert game.order(0, bunker, names.LOAD, target=stranger) == names.CANT_LOAD_OTHERS
    for n in range(4):
        assert game.order(0, bunker, names.LOAD, target=game.spawn(kind("Marine"), 0, x + 2.3, y + n / 2)) == 1
    game.step(80)
    late = game.spawn(kind("Marine"), 0, x + 3, y)
    assert game.order(0, bunker, names.LOAD, target=late) == names.NO_ROOM


def test_nobody_shoots_at_passengers() -> None:
    game, x, y = terran_game()
    bunker = game.spawn(kind("Bunker"), 0, x, y)
    marine = game.spawn(kind("Marine"), 0, x + 2.3, y)
    game.order(0, bunker, names.LOAD, target=marine)
    game.step(60)
    for n in range(4):
        game.spawn(kind("Zergling"), 1, x + 3, y + n / 2)
    game.step(100)
    assert game.state["health"][marine] == 45.0
    assert game.state["seen"][1, marine] == 0


def test_a_barracks_lifts_leaves_its_addon_and_takes_it_back_when_it_lands() -> None:
    game, x, y = terran_game()
    x, y = np.floor(x) + 0.5, np.floor(y) + 0.5
    game.spawn(kind("SupplyDepot"), 0, *game.map.bases[3].center)
    barracks = game.spawn(kind("Barracks"), 0, x, y)
    assert game.order(0, barracks, names.MAKE, kind("BarracksTechLab")) == names.SUCCESS
    game.step(600)
    lab = slots(game, "BarracksTechLab")[0]
    assert game.order(0, barracks, names.MORPH_INTO, kind("BarracksFlying")) == names.SUCCESS
    game.step(40)
    assert game.state["kind"][barracks] == kind("BarracksFlying")
    assert (game.state["host"][barracks], game.state["host"][lab]) == (-1, -1)
    assert game.can_place(0, kind("Bunker"), x, y) == names.SUCCESS
    assert game.order(0, barracks, names.LAND, kind("Barracks"), x=2.0, y=2.0) == names.CANT_LAND
    game.order(0, barracks, names.MOVE, x=x + 3, y=y)
    game.step(60)
    assert game.order(0, barracks, names.LAND, kind("Barracks"), x=x, y=y) == names.SUCCESS
    game.step(200)
    assert game.state["kind"][barracks] == kind("Barracks")
    assert (game.state["host"][barracks], game.state["host"][lab]) == (lab, barracks)
    assert game.order(0, barracks, names.MAKE, kind("Marauder")) == names.SUCCESS
