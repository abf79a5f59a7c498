"""Walls and distances of generated maps, as burnysc2's own code finds them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from s2clientprotocol import sc2api_pb2
from sc2.game_info import GameInfo, Ramp
from sc2.position import Point2

from understudy.games.zerg.proving_ground.conformance.report import Check
from understudy.games.zerg.proving_ground.map_parts import Map, Point
from understudy.games.zerg.proving_ground.maps import make_map, seed_of
from understudy.games.zerg.proving_ground.simulation import Simulation
from understudy.games.zerg.proving_ground.state import SUCCESS
from understudy.games.zerg.proving_ground.static_responses import describe_map, fill_image, packed
from understudy.games.zerg.proving_ground.unit_data import kind
from understudy.games.zerg.starcraft import PROTOSS, TERRAN

MAPS = [
    *(str(number) for number in range(30)),
    *(f"Small-{number}" for number in range(10)),
    *(f"Four-{number}" for number in range(10)),
]
MAIN_RAMP_POINTS = {2, 5}  # the numbers of points by which burnysc2 recognises a main's ramp
NATURAL_WITHIN = (23.0, 29.0)
WAY_BETWEEN, WAY_ON_SMALL_MAPS = (158.0, 192.0), (140.0, 165.0)


def main_ramp(game_map: Map, start: Point) -> Ramp | None:
    """burnysc2's ramp of the main at this start; None if it finds none."""
    response = sc2api_pb2.ResponseGameInfo()
    describe_map(response, game_map, start)
    fill_image(response.start_raw.pathing_grid, 1, packed(game_map.pathable))
    info = GameInfo(response)
    home = Point2(start)
    info.player_start_location = home
    info.map_ramps, info.vision_blockers = info._find_ramps_and_vision_blockers()
    ramps = [ramp for ramp in info.map_ramps if len(ramp.upper) in MAIN_RAMP_POINTS]
    return min(ramps, key=lambda ramp: home.distance_to(ramp.top_center), default=None)


def wall_positions(ramp: Ramp) -> Iterator[tuple[str, str, Point2 | None]]:
    """Every standard wall position: its name, the building, and the place."""
    for number, place in enumerate(sorted(ramp.corner_depots)):
        yield f"corner depot {number + 1}", "SupplyDepot", place
    yield "depot in the middle", "SupplyDepot", ramp.depot_in_middle
    yield "barracks in the middle", "Barracks", ramp.barracks_in_middle
    yield "barracks with room for an addon", "Barracks", ramp.barracks_correct_placement
    for number, place in enumerate(sorted(ramp.protoss_wall_buildings)):
        yield f"Protoss wall building {number + 1}", "Gateway", place
    yield "Protoss wall pylon", "Pylon", ramp.protoss_wall_pylon


def wall_checks(names: list[str] = MAPS) -> Iterator[Check]:
    """All wall positions of both players on these maps."""
    for name in names:
        game_map = make_map(seed_of(f"ProvingGround-{name}"))
        for player in range(2):
            ramp = main_ramp(game_map, game_map.starts[player])
            if ramp is None:
                yield Check(f"{name} player {player + 1}: a main ramp", False, "burnysc2 finds none")
                continue
            yield from _placeable(game_map, player, ramp, f"{name} player {player + 1}")


def _placeable(game_map: Map, player: int, ramp: Ramp, where: str) -> Iterator[Check]:
    race = {"SupplyDepot": TERRAN, "Barracks": TERRAN, "Gateway": PROTOSS, "Pylon": PROTOSS}
    for what, building, place in wall_positions(ramp):
        if place is None:
            yield Check(f"{where}: {what}", False, "burnysc2 finds no place")
            continue
        races = (race[building], TERRAN) if player == 0 else (TERRAN, race[building])
        game = Simulation(game_map, races)
        pylon = ramp.protoss_wall_pylon
        if building == "Gateway" and pylon is not None:
            game.spawn(kind("Pylon"), player, pylon.x, pylon.y)
        answer = game.can_place(player, kind(building), place.x, place.y)
        yield Check(f"{where}: {what}", answer == SUCCESS, f"{building} at {place}: answer {answer}")


def map_checks(names: list[str] = MAPS) -> Iterator[Check]:
    """Distances on these maps: main to natural, and the way between the mains."""
    for name in names:
        game_map = make_map(seed_of(f"ProvingGround-{name}"))
        home = np.array(game_map.starts[0])
        nearest = min(float(np.hypot(*(np.array(base.center) - home))) for base in game_map.bases[1:])
        low, high = NATURAL_WITHIN
        yield Check(f"{name}: natural at {low:.0f} to {high:.0f}", low <= nearest <= high, f"{nearest:.1f}")
        ramp = main_ramp(game_map, game_map.starts[0])
        far = float(np.hypot(*(np.array(ramp.top_center) - home))) if ramp is not None else np.inf
        yield Check(f"{name}: ramp within 30 of the start", far < 30, f"{far:.1f}")
        if not name.startswith("Four"):
            way = Simulation(game_map, (TERRAN, TERRAN)).way_length(game_map.starts[0], game_map.starts[1])
            low, high = WAY_ON_SMALL_MAPS if name.startswith("Small") else WAY_BETWEEN
            yield Check(f"{name}: {low:.0f} to {high:.0f} between the mains", low <= way <= high, f"{way:.0f}")
