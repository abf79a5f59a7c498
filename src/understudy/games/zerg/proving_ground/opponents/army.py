"""The army of a built-in opponent: gathers, defends, attacks, retreats."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.games.zerg.proving_ground import state as names
from understudy.games.zerg.proving_ground.map_parts import Point
from understudy.games.zerg.proving_ground.opponents.plans import OpponentPlan
from understudy.games.zerg.proving_ground.opponents.skill import Skill
from understudy.games.zerg.proving_ground.rules import rules
from understudy.games.zerg.proving_ground.simulation import Simulation
from understudy.games.zerg.starcraft import LOOPS_PER_SECOND

HOME_RANGE = 14.0
LOOPS_PER_MINUTE = 60 * LOOPS_PER_SECOND
LATEST, REGROUP = 1.25, 4032  # times the first attack's earliest time; loops between two attacks, if the army is small
LEAST, SMALL_SHARE = 4.0, 0.5  # supply; the share of the wanted army that sets out when it is time
WEAK_SHARE, HUNT_AFTER = 0.125, 900  # visible enemy supply per own supply; loops without more than that
SEARCH_PATIENCE = 1800  # longest time in loops on the way to one place


@cache
def _armed() -> NDArray[np.bool_]:
    """Which kinds have a weapon."""
    armed: NDArray[np.bool_] = rules()["damage"][0].max(axis=1) > 0
    return armed


def _median(values: NDArray[np.float64]) -> float:
    """The median; much faster than NumPy's general one."""
    ordered, half = np.sort(values), len(values) // 2
    return float(ordered[half]) if len(values) % 2 else float(ordered[half - 1] + ordered[half]) / 2


class OpponentArmy:
    """All units of a player that fight and do not work."""

    def __init__(self, game: Simulation, player: int, plan: OpponentPlan, skill: Skill) -> None:
        self._game, self._player, self._plan = game, player, plan
        self._earliest = round(skill.first_attack * LOOPS_PER_MINUTE * plan.patience)
        self._due = self.latest_start
        self._attacking = False
        self._search_until = self._unopposed_from = self._hunted = 0
        self._waves, self._began_with = 0, 0.0
        self._search = 0
        start, enemy = np.array(game.map.starts[player]), np.array(game.map.starts[1 - player])
        bases = sorted(game.map.bases, key=lambda base: float(np.hypot(*(np.array(base.center) - start))))
        natural = np.array(bases[1].center)
        forward = (enemy - natural) / np.hypot(*(enemy - natural))
        self._camp: Point = tuple(natural + forward * 6)

    @property
    def latest_start(self) -> int:
        """The loop at which the first attack sets out, whatever the army's size."""
        return round(self._earliest * LATEST)

    def _sets_out(self, strength: float) -> bool:
        """Whether the army is large enough to attack: the longer it has waited, the smaller it may be."""
        loop = self._game.loop
        if loop < self._earliest:
            return False
        needed = min(self._plan.attack_at * (1 + 0.35 * self._waves), 110)
        if loop >= self._due + REGROUP:
            needed = LEAST
        elif loop >= self._due:
            needed = LEAST if self._waves == 0 else max(LEAST, needed * SMALL_SHARE)
        return strength >= needed or self._game.supply(self._player)[0] > 185

    def command(self, mine: Any, kinds: Any, intruders: Any) -> None:
        """Give the army its orders for this turn; `intruders` are the armed enemies at home, the nearest first."""
        tables, state = self._game.tables, self._game.state
        fighters = mine[(tables["army"][kinds] == 1) & (tables["speed"][kinds] > 0) & (state["alive"][mine] == 1)]
        if not len(fighters):
            self._attacking = False
            return
        strength = float(tables["supply"][state["kind"][fighters]].sum())
        if self._attacking and strength < min(self._plan.attack_at, self._began_with) * self._plan.retreat_at:
            self._attacking, self._due = False, self._game.loop + REGROUP
        elif not self._attacking and self._sets_out(strength):
            self._unopposed_from = self._game.loop + 2 * HUNT_AFTER
            self._attacking, self._waves, self._began_with = True, self._waves + 1, strength
        if len(intruders) and not self._attacking:
            self._send(fighters, (float(state["x"][intruders[0]]), float(state["y"][intruders[0]])))
        elif self._attacking:
            hunters = self._hunters(fighters, strength)
            self._send(fighters[~hunters], self._target(fighters))
            self._hunt(fighters[hunters])
        else:
            self._send(fighters, self._camp)

    def _send(self, fighters: Any, goal: Point) -> None:
        """Attack-move to a point, only for units that are not on their way."""
        state = self._game.state
        first = state["order"][fighters, 0]
        off = np.abs(state["order_x"][fighters, 0] - goal[0]) + np.abs(state["order_y"][fighters, 0] - goal[1]) > 4
        near = np.hypot(state["x"][fighters] - goal[0], state["y"][fighters] - goal[1]) < 5
        idle = state["orders"][fighters] == 0
        for slot in fighters[
            (idle & ~near) | ((first == names.ATTACK) & off & ~idle) | ((first == names.MOVE) & ~idle)
        ]:
            self._game.order(self._player, int(slot), names.ATTACK, x=goal[0], y=goal[1])

    def _hunters(self, fighters: Any, strength: float) -> Any:
        """The fighters that search for hidden structures when there is little resistance: a third, flyers first."""
        state, tables = self._game.state, self._game.tables
        top = int(state["top"])
        enemies = ((state["seen"][self._player, :top] & state["alive"][:top]) == 1) & (
            state["owner"][:top] == 1 - self._player
        )
        kinds = state["kind"][:top][enemies]
        resistance = float(tables["supply"][kinds[tables["army"][kinds] == 1]].sum())
        chosen = np.zeros(len(fighters), bool)
        if self._game.loop >= self._unopposed_from and resistance <= strength * WEAK_SHARE:
            chosen[np.argsort(tables["flying"][state["kind"][fighters]] == 0, kind="stable")[: len(fighters) // 3]] = (
                True
            )
        elif resistance > strength * WEAK_SHARE:
            self._unopposed_from = self._game.loop + HUNT_AFTER
        return chosen

    def _hunt(self, hunters: Any) -> None:
        """Each hunter without orders goes to the next place in turn."""
        places = self._places()
        for slot in hunters[self._game.state["orders"][hunters] == 0]:
            self._hunted += 1
            x, y = places[self._hunted % len(places)]
            self._game.order(self._player, int(slot), names.ATTACK, x=x, y=y)

    def intruders(self, mine: Any, kinds: Any) -> tuple[Any, Any]:
        """Slots of the armed enemies in sight and at home, and their distances from a structure, the nearest first."""
        state, tables = self._game.state, self._game.tables
        top = int(state["top"])
        in_sight = (state["seen"][self._player, :top] & state["alive"][:top]).nonzero()[0]
        enemies = in_sight[state["owner"][in_sight] == 1 - self._player]
        if len(enemies):
            enemies = enemies[_armed()[state["kind"][enemies]]]
        halls = mine[tables["structure"][kinds] == 1]
        if not len(enemies) or not len(halls):
            return enemies[:0], np.zeros(0)
        dx = state["x"][enemies][:, None] - state["x"][halls][None]
        dy = state["y"][enemies][:, None] - state["y"][halls][None]
        distance = np.hypot(dx, dy).min(axis=1)
        order = distance.argsort(kind="stable")
        order = order[distance[order] <= HOME_RANGE]
        return enemies[order], distance[order]

    def _target(self, fighters: Any) -> Point:
        """The known enemy structure closest to the army, or the next place to look for one."""
        state, p = self._game.state, self._player
        top = int(state["top"])
        known = ((state["known"][p, :top] | state["seen"][p, :top]) & state["alive"][:top]).nonzero()[0]
        known = known[state["owner"][known] == 1 - p]
        known = known[self._game.tables["structure"][state["kind"][known]] == 1]
        x, y = _median(state["x"][fighters]), _median(state["y"][fighters])
        if len(known):
            nearest = known[int(np.argmin(np.hypot(state["x"][known] - x, state["y"][known] - y)))]
            return float(state["x"][nearest]), float(state["y"][nearest])
        places = self._places()
        goal = places[self._search % len(places)]
        arrived = np.hypot(goal[0] - x, goal[1] - y) < 8
        if arrived or self._game.loop >= self._search_until > 0:
            self._search += 1
        if arrived or self._game.loop >= self._search_until:
            self._search_until = self._game.loop + SEARCH_PATIENCE
        return goal

    def _places(self) -> list[Point]:
        """Where to look for structures: the enemy's start, all bases, and the map's corners and edges."""
        x0, y0, x1, y1 = self._game.map.playable
        xs, ys = (x0 + 4.0, (x0 + x1) / 2, x1 - 4.0), (y0 + 4.0, (y0 + y1) / 2, y1 - 4.0)
        bases = [base.center for base in self._game.map.bases]
        return [self._game.map.starts[1 - self._player], *bases, *((x, y) for x in xs for y in ys)]
