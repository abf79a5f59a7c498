"""How many game loops a second the simulation alone does on one core while 200 units fight.

    python benchmarks/proving_ground_simulation.py [--seconds 5] [--map Empty128]

100 roaches and zerglings meet 100 marines and marauders in the open. The dead are replaced, so that 200 units fight
all the time. The middle of most maps has pillars, lanes or a ring; Empty128 is open ground.
"""

from __future__ import annotations

import argparse
import time

from understudy.games.zerg.proving_ground.map_parts import SIZE
from understudy.games.zerg.proving_ground.maps import make_map, seed_of
from understudy.games.zerg.proving_ground.simulation import Simulation
from understudy.games.zerg.proving_ground.state import ATTACK
from understudy.games.zerg.proving_ground.unit_data import kind
from understudy.games.zerg.starcraft import TERRAN, ZERG

ARMIES = ((("Roach", 40), ("Zergling", 60)), (("Marine", 70), ("Marauder", 30)))
CHUNK = 112  # loops between two musters


def muster(game: Simulation) -> int:
    """Bring both armies to full strength around the middle and let them fight; returns the number of fighters."""
    total = 0
    for player, army in enumerate(ARMIES):
        side = -1 if player == 0 else 1
        for name, wanted in army:
            unit = kind(name)
            alive = game.state["alive"].astype(bool) & (game.state["kind"] == unit) & (game.state["owner"] == player)
            for number in range(wanted - int(alive.sum())):
                x, y = SIZE / 2 + side * (6 + number % 7), SIZE / 2 - 8 + number // 7
                slot = game.spawn(unit, player, x, y)
                game.order(player, slot, ATTACK, x=SIZE / 2 - side * 8, y=SIZE / 2)
            total += wanted
    idle = game.state["alive"].astype(bool) & (game.state["orders"] == 0) & (game.state["owner"] < 2)
    for slot in idle.nonzero()[0]:
        game.order(int(game.state["owner"][slot]), int(slot), ATTACK, x=SIZE / 2, y=SIZE / 2)
    return total


def measure(seconds: float, place: str = "ProvingGround-4") -> tuple[float, float, int, int]:
    """Loops a second by the clock and by the processor's time, loops run, units killed; musters are not timed."""
    game = Simulation(make_map(seed_of(place)), (ZERG, TERRAN))
    game.state["endless"] = 1  # the bases run dry in time
    muster(game)
    game.step(CHUNK)
    before = int(game.state["deaths"])
    wall, cpu, loops = 0.0, 0.0, 0
    while cpu < seconds:
        muster(game)
        began, began_cpu = time.perf_counter(), time.process_time()
        game.step(CHUNK)
        wall += time.perf_counter() - began
        cpu += time.process_time() - began_cpu
        loops += CHUNK
    return loops / wall, loops / cpu, loops, int(game.state["deaths"]) - before


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--map", default="ProvingGround-4", metavar="NAME")
    asked = parser.parse_args()
    by_clock, by_processor, loops, deaths = measure(asked.seconds, asked.map)
    print(f"200 units fighting: {by_clock:,.0f} game loops/s, {by_processor:,.0f} a second of CPU; asked for: 40,000")
    print(f"({loops:,} loops, {deaths} units killed)")
