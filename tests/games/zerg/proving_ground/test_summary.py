from __future__ import annotations

from games.zerg.proving_ground.scenes import new_game
from understudy.games.zerg.proving_ground import state as names
from understudy.games.zerg.proving_ground.summary import Census
from understudy.games.zerg.proving_ground.unit_data import kind
from understudy.games.zerg.starcraft import TERRAN, ZERG


def test_a_unit_that_changes_its_shape_to_and_fro_is_made_once() -> None:
    game, census = new_game(TERRAN, ZERG), Census()
    census(game)
    depots = [game.spawn(kind("SupplyDepot"), 0, 80.0 + 4 * n, 84.0) for n in range(2)]
    for _ in range(3):
        for shape in ("SupplyDepotLowered", "SupplyDepot"):
            assert game.order(0, depots[0], names.MORPH_INTO, kind(shape)) == names.SUCCESS
            game.step(20)
            census(game)
    assert census.made == {kind("SupplyDepot"): 2, kind("SupplyDepotLowered"): 1}
