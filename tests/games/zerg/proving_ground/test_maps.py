from __future__ import annotations

import numpy as np
import pytest

from understudy.errors import SettingsError
from understudy.games.zerg.proving_ground.maps import SIZE, make_map, name_of, seed_of
from understudy.games.zerg.proving_ground.simulation import Simulation
from understudy.games.zerg.proving_ground.state import SUCCESS
from understudy.games.zerg.proving_ground.unit_data import TERRAN, ZERG, kind

SEEDS = [*range(12), *(seed_of(f"ProvingGround-{sort}-{n}") for sort in ("Small", "Four") for n in range(4))]


@pytest.mark.parametrize("seed", SEEDS)
def test_terrain_is_the_same_for_both_players(seed: int) -> None:
    game_map = make_map(seed)
    for grid in (game_map.pathable, game_map.placeable, game_map.height):
        assert np.array_equal(grid, grid[::-1, ::-1])


@pytest.mark.parametrize("seed", SEEDS)
def test_every_base_has_its_resources_and_room_for_a_townhall(seed: int) -> None:
    game_map = make_map(seed)
    assert len(game_map.bases) >= 8
    game = Simulation(game_map, (TERRAN, ZERG))
    for base in game_map.bases:
        assert (len(base.minerals), len(base.geysers)) == (8, 2)
    for base in game_map.bases[2:]:
        assert game.can_place(0, kind("CommandCenter"), *base.center) == SUCCESS


@pytest.mark.parametrize("seed", SEEDS)
def test_every_base_can_be_walked_to(seed: int) -> None:
    game = Simulation(make_map(seed), (TERRAN, ZERG))
    start = game.map.starts[0]
    for base in game.map.bases[1:]:
        straight = np.hypot(base.center[0] - start[0], base.center[1] - start[1])
        assert game.way_length(start, base.center) >= straight * 0.99


def test_the_main_is_left_by_the_ramp_only() -> None:
    game_map = make_map(1)
    walkable = game_map.pathable.copy()
    ramp = (game_map.pathable == 1) & (game_map.placeable == 0)
    assert ramp.any()
    walkable[ramp] = 0
    seen = np.zeros_like(walkable)
    frontier = [(int(game_map.starts[0][1]), int(game_map.starts[0][0]))]
    while frontier:
        y, x = frontier.pop()
        if 0 <= y < SIZE and 0 <= x < SIZE and walkable[y, x] and not seen[y, x]:
            seen[y, x] = 1
            frontier += [(y + 1, x), (y - 1, x), (y, x + 1), (y, x - 1)]
    assert seen[int(game_map.starts[1][1]), int(game_map.starts[1][0])] == 0
    assert 500 < seen.sum() < 2500


def test_a_seed_gives_one_map_and_another_seed_another() -> None:
    assert np.array_equal(make_map(3).pathable, make_map.__wrapped__(3).pathable)
    assert not np.array_equal(make_map(3).height, make_map(4).height)


def test_a_map_with_four_starts_is_played_from_two_of_them() -> None:
    played = set()
    for number in range(6):
        game_map = make_map(seed_of(f"ProvingGround-Four-{number}"))
        assert len(set(game_map.start_places)) == 4
        assert set(game_map.starts) < set(game_map.start_places)
        played.add(tuple(game_map.start_places.index(start) for start in game_map.starts))
    assert len(played) > 2


def test_a_small_map_has_less_ground_and_fewer_bases() -> None:
    small, usual = make_map(seed_of("ProvingGround-Small-1")), make_map(1)
    assert small.pathable.sum() < 0.8 * usual.pathable.sum()
    assert len(small.bases) == 8


def test_a_maps_name_tells_its_seed() -> None:
    assert seed_of("ProvingGround-7.SC2Map") == 7
    assert seed_of("C:\\SC2\\Maps\\ProvingGround-12.SC2Map") == 12
    assert name_of(seed_of("ProvingGround-Four-3.SC2Map")) == "ProvingGround-Four-3"
    assert make_map(seed_of("ProvingGround-Small-3")).name == "ProvingGround-Small-3"
    assert seed_of("AcropolisLE.SC2Map") == seed_of("Ladder/AcropolisLE")


def test_a_negative_seed_is_refused() -> None:
    with pytest.raises(SettingsError, match="-1"):
        make_map(-1)
