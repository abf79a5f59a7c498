"""Spending: overlords, buildings, queens, drones, fighters and upgrades, as the current strategy wants them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from understudy.games.zerg import catalogue as units
from understudy.games.zerg.enemy_memory import EnemySummary
from understudy.games.zerg.placement import building_place, free_geyser, next_base
from understudy.games.zerg.snapshot import IDLE, MAKE, RESEARCH, GameSnapshot, MapInfo, Point, UnitCommand
from understudy.games.zerg.starcraft import LOOPS_PER_SECOND
from understudy.games.zerg.strategies import Posture, Strategy

MOST_BASES = 6
MUCH_STRONGER = 2.0  # fighters before drones while the enemy is this many times as strong as our army
FEW_DRONES = 6  # with fewer, drones come before everything else
_RETRY_LOOPS = 20 * LOOPS_PER_SECOND  # before a place where building failed is tried again
_PRICE_OF_DRONE = 50.0
_FIGHTER_SUPPLY = np.where(units.IS_ARMY, units.SUPPLY, 0.0)
_TECH_ORDER = (units.ROACH_WARREN, units.EVOLUTION_CHAMBER, units.LAIR, units.HYDRALISK_DEN)
_TECH_AGAINST_AIR = (units.LAIR, units.HYDRALISK_DEN, units.EVOLUTION_CHAMBER, units.ROACH_WARREN)


@dataclass(frozen=True)
class Opening:
    """When the first buildings go up, in supply; replays may give other numbers.

    `tech` are tech buildings and the supply at which they are due under any strategy that does not attack.
    """

    name: str = "17 pool"
    pool: int = 17
    hatchery: int = 16
    gas: int = 20
    third_base: int = 0
    tech: tuple[tuple[int, int], ...] = ()


@dataclass
class TurnBudget:
    """What is left to spend in this turn, and the free larvae."""

    minerals: float
    vespene: float
    supply: float
    larvae: list[int]
    commands: list[UnitCommand] = field(default_factory=list)

    def can_pay(self, minerals: float, vespene: float = 0.0, supply: float = 0.0) -> bool:
        """Whether this can be paid."""
        return self.minerals >= minerals and self.vespene >= vespene and (supply <= 0 or self.supply >= supply)

    def pay(self, minerals: float, vespene: float = 0.0, supply: float = 0.0) -> None:
        """Pay, or reserve, an amount. A budget below zero buys nothing."""
        self.minerals -= minerals
        self.vespene -= vespene
        self.supply -= supply

    def hatch(self, kind: int) -> bool:
        """Make one unit (or a pair of zerglings) from a larva; False if that is not possible."""
        unit = units.BY_ID[kind]
        pair = 2 if kind == units.ZERGLING else 1
        price = (unit.minerals * pair, unit.vespene * pair, unit.supply * pair)
        if not self.larvae or not self.can_pay(*price):
            return False
        self.pay(*price)
        self.commands.append(UnitCommand(MAKE, (self.larvae.pop(),), kind))
        return True


class Macro:
    """The bot's economy and production."""

    def __init__(self, ground: MapInfo, opening: Opening | None = None) -> None:
        self._field = ground
        self._opening = opening or Opening()
        self._tried: dict[Point, int] = {}
        self._builders: set[int] = set()

    def spend(
        self, snapshot: GameSnapshot, strategy: Strategy, known: EnemySummary, threat: float
    ) -> list[UnitCommand]:
        """Orders for this turn, the urgent ones first. `threat` is the enemy fighting supply near our bases."""
        self._builders = set()
        budget = self._budget(snapshot)
        self._first_drones(snapshot, budget)
        self._overlords(snapshot, budget)
        self._pool(snapshot, strategy, budget)
        self._queens(snapshot, strategy, known, budget)
        self._bases(snapshot, strategy, budget)
        self._tech(snapshot, strategy, known, budget)
        self._gas(snapshot, strategy, budget)
        self._defences(snapshot, strategy, known, budget)
        self._upgrades(snapshot, strategy, budget)
        self._larvae(snapshot, strategy, known, threat, budget)
        return budget.commands

    def _budget(self, snapshot: GameSnapshot) -> TurnBudget:
        own = snapshot.own
        larvae = own.tag[own.kind == units.LARVA].tolist()
        return TurnBudget(snapshot.minerals, snapshot.vespene, snapshot.supply_cap - snapshot.supply_used, larvae)

    def _first_drones(self, snapshot: GameSnapshot, budget: TurnBudget) -> None:
        """Rebuild a minimum of drones first, since saving for anything else would take too long without them."""
        missing = FEW_DRONES - snapshot.drones
        while missing > 0 and budget.hatch(units.DRONE):
            missing -= 1

    def _overlords(self, snapshot: GameSnapshot, budget: TurnBudget) -> None:
        cap = snapshot.supply_cap + 8 * int(snapshot.coming[units.OVERLORD])
        margin = 1 + 3 * len(snapshot.bases) + snapshot.supply_used / 12
        while cap < 200 and cap - snapshot.supply_used < margin:
            if not budget.hatch(units.OVERLORD):
                if budget.larvae and cap - snapshot.supply_used < margin / 3:
                    budget.pay(100)  # nearly supply-blocked: reserve the money, or cheaper things would use it
                return
            cap += 8

    def _pool(self, snapshot: GameSnapshot, strategy: Strategy, budget: TurnBudget) -> None:
        if snapshot.total(units.SPAWNING_POOL):
            return
        early = strategy.posture is Posture.ALL_IN or strategy.defences > 0
        due = 12 if early else min(self._opening.pool, strategy.drones)  # supply stops there without a pool
        if snapshot.supply_used >= due or snapshot.seconds > 120:
            self._build(snapshot, units.SPAWNING_POOL, budget)

    def _queens(self, snapshot: GameSnapshot, strategy: Strategy, known: EnemySummary, budget: TurnBudget) -> None:
        if not snapshot.ready[units.SPAWNING_POOL] or strategy.posture is Posture.ALL_IN:
            return
        against_air = 2 if known.air_supply > 2 else 0  # before hydralisks, only queens shoot up
        wanted = min(len(snapshot.townhalls), 4) + strategy.queens + against_air - snapshot.total(units.QUEEN)
        for hall in snapshot.bases:
            if wanted > 0 and snapshot.own.verb[hall] == IDLE and budget.can_pay(150, 0, 2):
                budget.pay(150, 0, 2)
                budget.commands.append(UnitCommand(MAKE, (int(snapshot.own.tag[hall]),), units.QUEEN))
                wanted -= 1
            elif wanted > 0 and snapshot.own.verb[hall] == IDLE and budget.supply >= 2:
                budget.pay(150)  # reserve the money, or larvae would use it
                return

    def _bases(self, snapshot: GameSnapshot, strategy: Strategy, budget: TurnBudget) -> None:
        coming = int(snapshot.coming[units.HATCHERY])
        there = len(snapshot.bases) + coming
        # More money than larvae can spend: a hatchery brings more larvae.
        busy = not budget.larvae or not snapshot.ready[units.SPAWNING_POOL]
        rich = budget.minerals > 350 and busy and snapshot.total(units.SPAWNING_POOL) > 0
        due = self._opening.hatchery if there < 2 else self._opening.third_base
        full = there < 2 or snapshot.drones > snapshot.wanted_drones - 6
        asked = strategy.more_bases > 0 and snapshot.supply_used >= due and full
        if coming >= 1 + (snapshot.minerals > 800) or there >= MOST_BASES or not (asked or rich):
            return
        place = next_base(snapshot, self._field, self._recently_tried(snapshot))
        if place is None:
            return
        if budget.can_pay(300):
            self._send_builder(snapshot, units.HATCHERY, place, budget)
        else:
            budget.pay(300)  # reserve the money

    def _tech(self, snapshot: GameSnapshot, strategy: Strategy, known: EnemySummary, budget: TurnBudget) -> None:
        """Build the next missing tech building of the strategy or the opening, one at a time."""
        if not snapshot.ready[units.SPAWNING_POOL]:
            return
        attacking = strategy.posture in (Posture.ATTACK, Posture.ALL_IN)
        due = () if attacking else [kind for kind, supply in self._opening.tech if snapshot.supply_used >= supply]
        order = _TECH_AGAINST_AIR if known.air_supply > 2 else _TECH_ORDER
        for kind in order if strategy.tech else due:
            if snapshot.total(kind) or (kind == units.LAIR and snapshot.total(units.HIVE)):
                continue
            if kind == units.HYDRALISK_DEN and not snapshot.ready[units.LAIR]:
                return
            unit = units.BY_ID[kind]
            if kind == units.LAIR:
                price = (150.0, 100.0)
                halls = [i for i in snapshot.of(units.HATCHERY) if snapshot.own.verb[i] == IDLE]
                if halls and budget.can_pay(*price):
                    budget.commands.append(UnitCommand(MAKE, (int(snapshot.own.tag[halls[0]]),), units.LAIR))
                if budget.vespene > 50:  # the rest of the gas comes soon
                    budget.pay(*price)
            elif budget.can_pay(unit.minerals - _PRICE_OF_DRONE, unit.vespene):
                self._build(snapshot, kind, budget)
            else:
                budget.pay(unit.minerals - _PRICE_OF_DRONE, unit.vespene)
            return

    def _gas(self, snapshot: GameSnapshot, strategy: Strategy, budget: TurnBudget) -> None:
        if not snapshot.total(units.SPAWNING_POOL) or snapshot.supply_used < self._opening.gas:
            return
        # Roaches cost 3 minerals per vespene; zerglings need vespene for their speed upgrade only.
        spenders = strategy.tech or snapshot.total(units.ROACH_WARREN)
        wanted = min(max(1, snapshot.drones // 10), 2 * len(snapshot.bases)) if spenders else 1
        if snapshot.total(units.EXTRACTOR) >= wanted or not budget.can_pay(25):
            return
        found = free_geyser(snapshot, self._recently_tried(snapshot))
        if found is not None:
            self._send_builder(snapshot, units.EXTRACTOR, found[1], budget, target=found[0])

    def _defences(self, snapshot: GameSnapshot, strategy: Strategy, known: EnemySummary, budget: TurnBudget) -> None:
        if not strategy.defences or not snapshot.ready[units.SPAWNING_POOL]:
            return
        wanted = strategy.defences * len(snapshot.bases)
        if known.air_supply > 2 and snapshot.total(units.SPORE_CRAWLER) < wanted and budget.can_pay(75):
            self._build(snapshot, units.SPORE_CRAWLER, budget, forward=True)
        elif snapshot.total(units.SPINE_CRAWLER) < wanted and budget.can_pay(100):
            self._build(snapshot, units.SPINE_CRAWLER, budget, forward=True)

    def _upgrades(self, snapshot: GameSnapshot, strategy: Strategy, budget: TurnBudget) -> None:
        """All upgrades under TECH; otherwise zergling speed, and others when there is spare vespene."""
        own = snapshot.own
        under_way = set(own.product[own.verb == RESEARCH].tolist())
        for upgrade in units.UPGRADES:
            if not (strategy.tech or upgrade is units.LING_SPEED or snapshot.vespene > 250):
                continue
            known = upgrade.id in snapshot.upgrades or upgrade.id in under_way
            if known or (upgrade.after_upgrade and upgrade.after_upgrade not in snapshot.upgrades):
                continue
            if upgrade.after_building and not snapshot.ready[upgrade.after_building]:
                continue
            idle = [i for i in snapshot.of(upgrade.at) if own.verb[i] == IDLE]
            if idle and budget.can_pay(upgrade.minerals, upgrade.vespene):
                budget.pay(upgrade.minerals, upgrade.vespene)
                budget.commands.append(UnitCommand(RESEARCH, (int(own.tag[idle[0]]),), upgrade.id))
                return
            if idle and strategy.tech and budget.vespene >= upgrade.vespene:
                budget.pay(upgrade.minerals)  # reserve the money, or larvae would use it
                return

    def _larvae(
        self, snapshot: GameSnapshot, strategy: Strategy, known: EnemySummary, threat: float, budget: TurnBudget
    ) -> None:
        """Drones up to the strategy's limit and what the bases can employ; then fighters.

        Fighters come first while the enemies near our bases are stronger than the army, or the known enemy army is
        much stronger.
        """
        room = snapshot.wanted_drones + 16 * int(snapshot.coming[units.HATCHERY]) + 2
        missing = min(strategy.drones, room) - snapshot.drones
        army = snapshot.army_supply + float((_FIGHTER_SUPPLY * snapshot.coming).sum())
        if max(threat, known.army_supply / MUCH_STRONGER) > army and snapshot.ready[units.SPAWNING_POOL]:
            missing = 0
        while missing > 0 and budget.hatch(units.DRONE):
            missing -= 1
        if missing > 0:
            return
        wanted = fighters_wanted(snapshot, known) if budget.larvae else []
        while budget.larvae and wanted:
            if not budget.hatch(wanted[0]):
                short = units.BY_ID[wanted[0]]
                if budget.vespene >= short.vespene and threat <= army:
                    return  # wait for the minerals, or cheaper fighters would always use them
                wanted = wanted[1:]

    def _build(self, snapshot: GameSnapshot, kind: int, budget: TurnBudget, forward: bool = False) -> None:
        """Order a building: at the newest base if `forward`, for its defence, otherwise at the oldest."""
        if not snapshot.bases or snapshot.coming[kind]:
            return
        price = units.BY_ID[kind].minerals - _PRICE_OF_DRONE
        if not budget.can_pay(price, units.BY_ID[kind].vespene):
            budget.pay(price)  # reserve the money
            return
        hall = snapshot.bases[-1 if forward else 0]
        near = (float(snapshot.own.x[hall]), float(snapshot.own.y[hall]))
        towards = self._field.enemy_start if forward else (near[0] * 2 - self._field.enemy_start[0], near[1])
        place = building_place(snapshot, self._field, kind, near, towards, self._recently_tried(snapshot))
        if place is not None:
            self._send_builder(snapshot, kind, place, budget)

    def _send_builder(
        self, snapshot: GameSnapshot, kind: int, place: Point, budget: TurnBudget, target: int = 0
    ) -> None:
        own = snapshot.own
        free = ((own.kind == units.DRONE) & (own.verb != MAKE)).nonzero()[0]
        free = free[[tag not in self._builders for tag in own.tag[free].tolist()]]
        if not len(free):
            return
        nearest = int(free[int(np.hypot(own.x[free] - place[0], own.y[free] - place[1]).argmin())])
        drone = int(own.tag[nearest])
        self._builders.add(drone)
        self._tried[place] = snapshot.loop
        budget.pay(units.BY_ID[kind].minerals - _PRICE_OF_DRONE, units.BY_ID[kind].vespene)
        budget.commands.append(UnitCommand(MAKE, (drone,), kind, target, place))

    def _recently_tried(self, snapshot: GameSnapshot) -> frozenset[Point]:
        self._tried = {at: loop for at, loop in self._tried.items() if snapshot.loop - loop < _RETRY_LOOPS}
        return frozenset(self._tried)


def fighters_wanted(snapshot: GameSnapshot, known: EnemySummary) -> list[int]:
    """Kinds of fighters in order of need: the one furthest below its share of the army first.

    Zerglings are cheap ground fighters, roaches are the front line of large fights, and only hydralisks hit air.
    """
    ready = snapshot.ready
    air = min(0.8, 2 * known.air_supply / (known.army_supply + 1.0))
    shares = {}
    if ready[units.SPAWNING_POOL]:
        shares[units.ZERGLING] = 0.5
    if ready[units.ROACH_WARREN]:
        shares[units.ROACH] = 0.35
    if ready[units.HYDRALISK_DEN]:
        shares[units.HYDRALISK] = 0.15 + air
    return sorted(shares, key=lambda kind: snapshot.total(kind) * units.SUPPLY[kind] / shares[kind])
