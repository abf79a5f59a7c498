"""Does a stronger difficulty win? Built-in opponents play against each other, every pairing from both sides."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from understudy.games.zerg.proving_ground.maps import make_map
from understudy.games.zerg.proving_ground.match import Match, Seat
from understudy.games.zerg.proving_ground.opponents import make_opponent
from understudy.games.zerg.starcraft import MACRO, PROTOSS, RUSH, TERRAN, TIE, TIMING, VICTORY, ZERG

LONGEST = 22_400  # loops; undecided games count half
_BUILDS = (TIMING, MACRO, RUSH)
_RACES = (ZERG, TERRAN, PROTOSS)


@dataclass(frozen=True)
class Rung:
    """Points of the stronger of two neighbouring difficulties."""

    weaker: int
    stronger: int
    points: float
    games: int

    @property
    def share(self) -> float:
        """The share of points of the stronger one."""
        return self.points / self.games


def play_computers(
    race: int, difficulties: tuple[int, int], build: int, seed: int, longest: int = LONGEST
) -> tuple[int, int]:
    """One mirrored game between two computers; the API's result of each."""
    match = Match(make_map(seed), [Seat(race, race, computer=True), Seat(race, race, computer=True)], seed, longest)
    for player, difficulty in enumerate(difficulties):
        match.opponents.append(make_opponent(match.simulation, player, difficulty, build, seed))
    match.advance_to(longest)
    first, second = match.simulation.state["result"]
    return int(first), int(second)


def climb(games: int, first_seed: int = 0, lowest: int = 1, highest: int = 10) -> Iterator[Rung]:
    """Play neighbouring difficulties against each other, about this many games a pair, from both sides.

    Every pair of games has its own map and seed, starting at `first_seed`.
    """
    for weaker in range(lowest, highest):
        stronger = weaker + 1
        points, played = 0.0, 0
        for number in range((games + 1) // 2):
            race, build, seed = _RACES[number % 3], _BUILDS[number // 3 % 3], first_seed + number
            for sides in ((stronger, weaker), (weaker, stronger)):
                results = play_computers(race, sides, build, seed)
                mine = results[sides.index(stronger)]
                points += 1.0 if mine == VICTORY else 0.5 if mine in (TIE, 0) else 0.0
                played += 1
        yield Rung(weaker, stronger, points, played)
