"""Openings to choose from: those learned from replays, or a few standard ones."""

from __future__ import annotations

import logging
import random
from collections.abc import Mapping
from pathlib import Path

from understudy.games.zerg import catalogue as units
from understudy.games.zerg.macro import Opening
from understudy.games.zerg.starcraft import PROTOSS, TERRAN, ZERG
from understudy.sc2.build_orders import OVERALL, BuildOrders, OpeningStep, read_build_orders
from understudy.sc2.errors import ReplayError
from understudy.sc2.opponents import OpponentMemory

logger = logging.getLogger(__name__)

# Without replays: standard, early speed, early pool and greedy, each with its prior win rate.
USUAL: Mapping[Opening, float] = {
    Opening(): 0.5,
    Opening("17 pool, 16 gas", pool=17, hatchery=18, gas=16): 0.45,
    Opening("12 pool", pool=12, hatchery=19, gas=18): 0.45,
    Opening("16 hatch, 18 pool", pool=18, hatchery=16, gas=18, third_base=30): 0.45,
}
_MATCHUPS = {TERRAN: "ZvT", ZERG: "ZvZ", PROTOSS: "ZvP"}
_TECH = {
    "roach_warren": units.ROACH_WARREN,
    "evolution_chamber": units.EVOLUTION_CHAMBER,
    "lair": units.LAIR,
    "hydralisk_den": units.HYDRALISK_DEN,
}
_LEAST, _MOST = 10, 200  # a supply outside this range is not a timing


class Openings:
    """The openings in `learned_build_orders.json`; the standard ones if the file is missing or unusable."""

    def __init__(self, path: Path | None = None) -> None:
        self._learned: BuildOrders | None = None
        if path is None or not path.exists():
            return
        try:
            learned = read_build_orders(path)
            for race in (0, *_MATCHUPS):
                _read(learned, race)
        except (ReplayError, KeyError, TypeError, ValueError, AttributeError) as error:
            logger.warning("The build orders in %s cannot be used (%s); standard openings are played.", path, error)
        else:
            self._learned = learned

    def against(self, race: int) -> Mapping[Opening, float]:
        """Openings against a race (0: unknown), each with its win rate."""
        return (_read(self._learned, race) if self._learned is not None else {}) or USUAL

    def choose(self, memory: OpponentMemory, opponent_id: str, race: int, chance: random.Random | None) -> Opening:
        """The opening for a game, by past results against the opponent; `chance` also tries others."""
        known = {opening.name: (opening, share) for opening, share in self.against(race).items()}
        expected = {name: share for name, (_, share) in known.items()}
        return known[memory.choose_opening(opponent_id, race, expected, chance)][0]


def _read(learned: BuildOrders, race: int) -> dict[Opening, float]:
    """Every cluster of openings, completed with the averages of all games against this race."""
    matchup = _MATCHUPS.get(race, OVERALL)
    return {
        _opening(learned, matchup, name, learned.opening(matchup, name)): float(share)
        for name, share in learned.openings(matchup).items()
    }


def _opening(learned: BuildOrders, matchup: str, name: str, steps: list[OpeningStep]) -> Opening:
    supplies: dict[str, int] = {}
    for milestone, build in (("hatchery_3", "third_base"), *((kind, kind) for kind in _TECH)):
        target = learned.target(matchup, milestone)
        if target is not None:
            supplies[build] = round(target[1])
    supplies |= {step.build: step.supply for step in reversed(steps)}  # the first of each kind counts
    known = {build: supply for build, supply in supplies.items() if _LEAST <= supply <= _MOST}
    timings = {build: known[build] for build in ("pool", "hatchery", "gas", "third_base") if build in known}
    tech = tuple((kind, known[build]) for build, kind in _TECH.items() if build in known)
    return Opening(name, **timings, tech=tech)
