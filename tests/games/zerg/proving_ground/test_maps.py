from __future__ import annotations

import numpy as np
import pytest

from understudy.errors import SettingsError
from understudy.games.zerg.proving_ground.conformance.report import GroupReport
from understudy.games.zerg.proving_ground.conformance.walls import MAPS, map_checks, wall_checks
from understudy.games.zerg.proving_ground.map_parts import SIZE, name_of
from understudy.games.zerg.proving_ground.maps import make_map, seed_of
from understudy.games.zerg.proving_ground.simulation import Simulation
from understudy.games.zerg.proving_ground.state import MOVE, SUCCESS
from understudy.games.zerg.proving_ground.unit_data import kind
from understudy.games.zerg.starcraft import TERRAN, ZERG

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
    assert len(small.bases) == 10


def test_a_maps_name_tells_its_seed() -> None:
    assert seed_of("ProvingGround-7.SC2Map") == 7
    assert seed_of("C:\\SC2\\Maps\\ProvingGround-12.SC2Map") == 12
    assert name_of(seed_of("ProvingGround-Four-3.SC2Map")) == "ProvingGround-Four-3"
    assert make_map(seed_of("ProvingGround-Small-3")).name == "ProvingGround-Small-3"
    assert seed_of("AcropolisLE.SC2Map") == seed_of("Ladder/AcropolisLE")


def test_walls_and_distances_are_those_of_ladder_maps_on_fifty_maps() -> None:
    assert len(MAPS) == 50
    walls, distances = GroupReport.of("walls", wall_checks()), GroupReport.of("maps", map_checks())
    assert not walls.failures
    assert walls.total == 50 * 2 * 8
    assert not distances.failures


def test_standard_maps_have_watch_towers_and_rocks() -> None:
    for number in range(12):
        game_map = make_map(number)
        assert len(game_map.towers) == 2
        assert len(game_map.rocks) in (0, 2)
    assert sum(bool(make_map(number).rocks) for number in range(12)) >= 9


def test_a_watch_tower_shows_its_surroundings_to_who_stands_beside_it() -> None:
    game = Simulation(make_map(4), (TERRAN, ZERG))
    x, y = game.map.towers[0]
    game.step(1)
    there = (int(y) + 15, int(x))
    assert game.state["visibility"][0][there] == 0
    marine = game.spawn(kind("Marine"), 0, x + 1.5, y)
    game.step(1)
    assert game.state["visibility"][0][there] == 2
    assert game.state["visibility"][1][there] != 2
    game.destroy(marine)
    game.step(1)
    assert game.state["visibility"][0][there] == 1


def test_an_army_gets_up_the_ramp() -> None:
    game = Simulation(make_map(4), (TERRAN, ZERG))
    x, y = game.map.starts[0]
    middle = SIZE / 2
    army = [game.spawn(kind("Roach"), 1, middle + n % 8, middle + n // 8) for n in range(40)]
    for slot in army:
        game.order(1, slot, MOVE, x=x + 5, y=y)
    game.step(22 * 90)
    near = np.hypot(game.state["x"][army] - x, game.state["y"][army] - y) < 14
    assert near.sum() >= 36


def test_a_negative_seed_is_refused() -> None:
    with pytest.raises(SettingsError, match="-1"):
        make_map(-1)
