from __future__ import annotations

import pytest

pytest.importorskip("numba")

from understudy.games.zerg import catalogue
from understudy.games.zerg.proving_ground.rules import rules
from understudy.games.zerg.proving_ground.unit_data import kinds_by_id, unit_types, upgrades


def test_the_catalogue_is_what_the_proving_ground_plays_by() -> None:
    block = rules()[0]
    for unit in catalogue.UNIT_TYPES:
        kind = kinds_by_id()[unit.id]
        row = unit_types()[kind]
        assert (unit.name, unit.race, unit.minerals, unit.vespene) == (row.name, row.race, row.minerals, row.vespene)
        assert unit.supply == row.food_required
        for flag, column in (("a", "army"), ("s", "structure"), ("w", "worker"), ("h", "townhall"), ("f", "flying")):
            assert (flag in unit.flags) == bool(block[column][kind]), (unit.name, column)


def test_upgrades_cost_what_the_game_says() -> None:
    known = {upgrade.upgrade_id: upgrade for upgrade in upgrades()}
    for upgrade in catalogue.UPGRADES:
        assert (upgrade.minerals, upgrade.vespene) == (known[upgrade.id].minerals, known[upgrade.id].vespene)
