"""A scripted player: it follows a plan as well as its skill allows.

It gives the same orders as a bot and pays for everything. Of the enemy it knows the start location and what its own
units have seen. The difficulty sets how often it thinks, how far it grows and how much its workers earn.
"""

from __future__ import annotations

import random
from functools import cache

import numpy as np

from understudy.games.zerg.proving_ground import state as names
from understudy.games.zerg.proving_ground.map_parts import Point
from understudy.games.zerg.proving_ground.opponents.army import OpponentArmy
from understudy.games.zerg.proving_ground.opponents.places import find_place
from understudy.games.zerg.proving_ground.opponents.plans import LATE_ARMY, LATE_GOALS, PLANS, OpponentPlan
from understudy.games.zerg.proving_ground.opponents.skill import SKILLS, Skill
from understudy.games.zerg.proving_ground.opponents.workers import OpponentWorkers
from understudy.games.zerg.proving_ground.rules import ADDON, BUILD, HATCH, KINDS, MORPH, TRAIN, rules
from understudy.games.zerg.proving_ground.simulation import TOWNHALL, WORKER, Simulation
from understudy.games.zerg.proving_ground.state import SUCCESS
from understudy.games.zerg.proving_ground.unit_data import kind
from understudy.games.zerg.starcraft import PROTOSS, RANDOM_BUILD, TERRAN, ZERG

SUPPLY = {ZERG: "Overlord", TERRAN: "SupplyDepot", PROTOSS: "Pylon"}
WORKERS_MIND = 9.0  # distance of intruders at which workers fight
ALARM, ALARM_PACE = 16, 32  # loops since a hit; loops between two turns during an attack
FIELD_WITHIN, GROUND_UP_TO = 10.0, 150.0
SAVE_UP_TO = 500.0  # minerals; with more, the army does not wait for a goal
LATE = 2688  # loops after the latest time of the first attack
DONE, SKIP, WAIT = "done", "skip", "wait"
TOO_DEAR = (names.NOT_ENOUGH_MINERALS, names.NOT_ENOUGH_VESPENE, names.NOT_ENOUGH_FOOD)  # for every producer


def make_opponent(game: Simulation, player: int, difficulty: int, build: int, seed: int) -> ScriptedPlayer:
    """The built-in opponent of this difficulty; without a build, the seed chooses one."""
    plans = PLANS[int(game.state["race"][player])]
    if build == RANDOM_BUILD or build not in plans:
        build = random.Random(seed * 31 + player).choice(sorted(plans))
    return ScriptedPlayer(game, player, SKILLS[min(max(difficulty, 1), 10)], plans[build])


@cache
def producers(product: int) -> tuple[tuple[int, int], ...]:
    """Kinds that make this one, and how."""
    how = rules()["how"][0][:, product]
    return tuple((int(k), int(how[k])) for k in np.flatnonzero(how))


class ScriptedPlayer:
    """One built-in opponent in one game."""

    def __init__(self, game: Simulation, player: int, skill: Skill, plan: OpponentPlan) -> None:
        self._game, self._player, self._skill, self._plan = game, player, skill, plan
        self._race = int(game.state["race"][player])
        self._worker, self._hall, self._supply = (
            kind(WORKER[self._race]),
            kind(TOWNHALL[self._race]),
            kind(SUPPLY[self._race]),
        )
        self._workers = OpponentWorkers(game, player, self._worker)
        self._army = OpponentArmy(game, player, plan, skill)
        self._late_at = self._army.latest_start + LATE
        self._next = self._next_alarm = 0
        game.state["income_factor"][player] = skill.income
        start = np.array(game.map.starts[player])
        self._bases = sorted(game.map.bases, key=lambda base: float(np.hypot(*(np.array(base.center) - start))))

    def act(self) -> None:
        """Act if it is time to; during an attack, turns come sooner."""
        loop = self._game.loop
        in_time = loop >= self._next
        if not in_time and not (loop >= self._next_alarm and self._attacked()):
            return
        self._look()
        if not len(self._mine):
            return
        self._next_alarm = loop + ALARM_PACE
        if not in_time:
            intruders, away = self._army.intruders(self._mine, self._kinds)
            self._workers.resist(self._mine, self._kinds, intruders[away <= WORKERS_MIND])
            return
        self._next = loop + self._skill.pace
        self._workers.employ(self._mine, self._kinds)
        intruders, away = self._army.intruders(self._mine, self._kinds)
        self._workers.resist(self._mine, self._kinds, intruders[away <= WORKERS_MIND])
        self._spend()
        self._inject()
        self._army.command(self._mine, self._kinds, intruders)

    def _attacked(self) -> bool:
        """Whether one of the player's units was just hit."""
        state = self._game.state
        top = int(state["top"])
        hit = (state["hit_at"][:top] >= self._game.loop - ALARM) & (state["owner"][:top] == self._player)
        return bool((hit & (state["hit_at"][:top] > 0)).any())

    def _look(self) -> None:
        """Count what exists and what is coming."""
        state = self._game.state
        top = int(state["top"])
        self._mine = ((state["owner"][:top] == self._player) & (state["alive"][:top] == 1)).nonzero()[0]
        self._kinds = state["kind"][self._mine]
        self._count = np.bincount(self._kinds, minlength=KINDS)
        self._ready = np.bincount(self._kinds[state["progress"][self._mine] >= 1], minlength=KINDS)
        for alias in ("Lair", "Hive", "OrbitalCommand", "PlanetaryFortress"):
            self._count[self._hall] += self._count[kind(alias)]
        becoming = state["becomes"][self._mine]
        self._count += np.bincount(becoming[becoming > 0], minlength=KINDS)
        for q in range(names.QUEUE):
            ordered = state["order"][self._mine, q]
            making = (
                (ordered == names.MAKE)
                | (ordered == names.BUILD_AT)
                | ((ordered == names.MORPH_INTO) & (becoming == 0))
            )
            if not making.any():
                break
            founded = (ordered == names.BUILD_AT) & (state["phase"][self._mine] == 1)
            founded |= (ordered == names.MAKE) & (state["order_target"][self._mine, q] >= 0)  # an addon
            self._count += np.bincount(state["argument"][self._mine, q][making & ~founded], minlength=KINDS)

    def _of(self, unit: int, idle: bool = False) -> list[int]:
        state = self._game.state
        slots = self._mine[self._kinds == unit]
        if not len(slots):
            return []
        fits = (state["alive"][slots] == 1) & (state["progress"][slots] >= 1)
        fits &= (state["owner"][slots] == self._player) & (state["kind"][slots] == unit)
        if idle:
            fits &= state["orders"][slots] == 0
        chosen: list[int] = slots[fits].tolist()
        return chosen

    def _spend(self) -> None:
        """Supply first, then the plan's goals in order, then the army."""
        used, cap = self._game.supply(self._player)
        coming = (self._count[self._supply] - self._ready[self._supply]) * 8
        if cap + coming < 200 and cap + coming - used < 3 + used / 9:
            self._have(self._supply)
        late = LATE_GOALS[self._race] if self._game.loop >= self._late_at else ()
        for name, wanted in (*self._plan.goals, *late):
            outcome = self._reach(name, wanted)
            if outcome == WAIT and self._game.state["minerals"][self._player] < SAVE_UP_TO:
                return
        rich = self._game.state["minerals"][self._player] > 450
        if rich and self._count[self._hall] < self._skill.bases + self._dry_bases():
            self._have(self._hall)
        self._raise_army()

    def _reach(self, name: str | int, wanted: int) -> str:
        """Work on one goal: DONE, SKIP (not possible yet) or WAIT (save money for it)."""
        if isinstance(name, int):
            return self._upgrade(name)
        unit = kind(name)
        if unit == self._worker:
            wanted = min(wanted, self._skill.workers)
        elif unit == self._hall:
            wanted = min(wanted, self._skill.bases) + self._dry_bases()
        have = self._count[unit] + (self._count[kind("Hive")] if name == "Lair" else 0)
        if have >= wanted:
            return DONE
        if not self._game.tech_met(self._player, unit):
            return SKIP
        for _ in range(min(self._skill.orders, wanted - int(have))):
            if not self._have(unit):
                return WAIT if self._short_of(unit) and unit != self._worker else SKIP
        return DONE if have + 1 >= wanted else SKIP

    def _dry_bases(self) -> int:
        """The number of townhalls without minerals left."""
        state, tables = self._game.state, self._game.tables
        top = int(state["top"])
        halls = self._mine[tables["townhall"][self._kinds] == 1]
        fields = np.flatnonzero((state["alive"][:top] == 1) & (tables["minerals_here"][state["kind"][:top]] == 1))
        if not len(fields):
            return 0
        dx = state["x"][halls][:, None] - state["x"][fields][None]
        dy = state["y"][halls][:, None] - state["y"][fields][None]
        return int((np.hypot(dx, dy).min(axis=1) > FIELD_WITHIN).sum())

    def _short_of(self, unit: int) -> bool:
        """Whether the player cannot afford it."""
        return any(not self._can_pay(maker, unit) for maker, _ in producers(unit) if self._count[maker])

    def _can_pay(self, maker: int, unit: int) -> bool:
        state, block = self._game.state, self._game.tables
        return bool(
            state["minerals"][self._player] >= block["minerals"][maker, unit]
            and state["vespene"][self._player] >= block["vespene"][maker, unit]
        )

    def _upgrade(self, upgrade: int) -> str:
        state = self._game.state
        if (
            not self._skill.upgrades
            or state["upgrade"][self._player, upgrade]
            or state["pending"][self._player, upgrade]
        ):
            return DONE
        for maker in np.flatnonzero(self._game.tables["researches"][:, upgrade]):
            for slot in self._of(int(maker), idle=True):
                if self._game.order(self._player, slot, names.RESEARCH, upgrade) == SUCCESS:
                    return DONE
        return SKIP

    def _have(self, unit: int) -> bool:
        """Order one more unit of this kind from any unit that can make it."""
        for maker, how in producers(unit):
            if not self._count[maker]:
                continue
            if how == BUILD and self._build(maker, unit):
                return True
            if how in (TRAIN, HATCH, ADDON, MORPH):
                order = names.MORPH_INTO if how == MORPH else names.MAKE
                for slot in self._of(maker, idle=True):
                    answer = self._game.order(self._player, slot, order, unit)
                    if answer == SUCCESS:
                        self._count[unit] += 1
                        return True
                    if answer in TOO_DEAR:
                        break
        return False

    def _build(self, maker: int, unit: int) -> bool:
        if maker != self._worker or not self._can_pay(maker, unit):  # checked first, since finding a place takes longer
            return False
        place = self._place_for(unit)
        if place is None:
            return False
        worker = self._workers.nearest(self._mine, self._kinds, *place)
        if worker < 0:
            return False
        done = self._game.order(self._player, worker, names.BUILD_AT, unit, x=place[0], y=place[1])
        if done == SUCCESS:
            self._count[unit] += 1
            if self._race != ZERG:
                field = int(self._game.state["resource"][worker])
                if field >= 0 and self._game.state["alive"][field]:
                    self._game.order(self._player, worker, names.GATHER, target=field, queued=True)
        return done == SUCCESS

    def _place_for(self, unit: int) -> Point | None:
        game, state, block = self._game, self._game.state, self._game.tables
        halls = [i for i in self._mine[block["townhall"][self._kinds] == 1] if state["alive"][i]]
        centers = [(float(state["x"][i]), float(state["y"][i])) for i in halls]
        owned = [
            base
            for base in self._bases
            if any(abs(base.center[0] - x) + abs(base.center[1] - y) < 6 for x, y in centers)
        ]
        if block["townhall"][unit]:
            return next(
                (base.center for base in self._bases if game.can_place(self._player, unit, *base.center) == SUCCESS),
                None,
            )
        if not owned:
            return None
        if block["gas"][unit]:
            wells = (well for base in owned for well in base.geysers)
            return next((well for well in wells if game.can_place(self._player, unit, *well) == SUCCESS), None)
        home = owned[0]
        if block["needs_power"][unit]:
            pylons = self._of(names.PYLON)
            return find_place(
                game, self._player, unit, home, [(float(state["x"][i]), float(state["y"][i])) for i in pylons], 0
            )
        forward = unit in (kind("SpineCrawler"), kind("Bunker"))
        return find_place(
            game, self._player, unit, owned[-1] if forward else home, [(owned[-1] if forward else home).center], 8
        )

    def _raise_army(self) -> None:
        """Train units by the shares of the plan."""
        block = self._game.tables
        late = LATE_ARMY[self._race] if self._game.loop >= self._late_at else ()
        army = [(kind(name), share) for name, share in dict((*late, *self._plan.army)).items()]
        army = [(unit, share) for unit, share in army if self._game.tech_met(self._player, unit)]
        if self._game.supply(self._player)[0] > GROUND_UP_TO:  # reserve supply for units that can hit flyers
            army = [(unit, share) for unit, share in army if block["damage"][unit, 1] > 0]
        for _ in range(self._skill.orders):
            shares = [(self._count[unit] * block["supply"][unit] / share, unit) for unit, share in army]
            if not any(self._have(unit) for _, unit in sorted(shares)):
                return

    def _inject(self) -> None:
        """Queens inject larvae, the only spell that built-in opponents use."""
        state = self._game.state
        if self._race != ZERG:
            return
        halls = [i for i in self._mine[self._game.tables["townhall"][self._kinds] == 1] if state["progress"][i] >= 1]
        for queen in self._of(names.QUEEN):
            if state["energy"][queen] >= 25 and halls and state["order"][queen, 0] != names.INJECT:
                hall = min(
                    halls,
                    key=lambda i: (
                        abs(state["x"][i] - state["x"][queen])
                        + abs(state["y"][i] - state["y"][queen])
                        + 50 * int(state["injects"][i])
                    ),
                )
                self._game.order(self._player, queen, names.INJECT, target=int(hall))
