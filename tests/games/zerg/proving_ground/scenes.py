"""Games in a state that tests need."""

from __future__ import annotations

import numpy as np

from understudy.games.zerg.proving_ground.maps import make_map
from understudy.games.zerg.proving_ground.simulation import Simulation
from understudy.games.zerg.proving_ground.unit_data import kind
from understudy.games.zerg.starcraft import TERRAN, ZERG

MAP = 4  # the first player starts at the lower left; the middle is open ground


def new_game(first: int = ZERG, second: int = TERRAN, seed: int = 0) -> Simulation:
    return Simulation(make_map(MAP), (first, second), seed)


def slots(game: Simulation, name: str, player: int = 0) -> list[int]:
    state = game.state
    return [
        int(i)
        for i in np.flatnonzero((state["alive"] == 1) & (state["owner"] == player) & (state["kind"] == kind(name)))
    ]


def rich(game: Simulation) -> Simulation:
    game.state["minerals"][:] = 5000
    game.state["vespene"][:] = 5000
    return game
