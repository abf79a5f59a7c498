"""Spending: overlords, buildings, queens, drones, fighters and upgrades, as the strategy in force asks for them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from understudy.games.zerg import catalogue as units
from understudy.games.zerg.memory import Known
from understudy.games.zerg.placement import building_place, free_geyser, next_base
from understudy.games.zerg.snapshot import IDLE, LOOPS_PER_SECOND, MAKE, RESEARCH, Command, Field, Point, Snapshot
from understudy.games.zerg.strategies import Posture, Strategy

MOST_BASES = 6
MUCH_STRONGER = 2.0  # an enemy so many times as strong as the own army is not left alone with drones
FEW_DRONES = 6  # with fewer there is no income to speak of
_RETRY_LOOPS = 20 * LOOPS_PER_SECOND  # a place that did not work out is left alone for so long
_PRICE_OF_DRONE = 50.0
_FIGHTER_SUPPLY = np.where(units.IS_ARMY, units.SUPPLY, 0.0)
_TECH_ORDER = (units.ROACH_WARREN, units.EVOLUTION_CHAMBER, units.LAIR, units.HYDRALISK_DEN)
_TECH_AGAINST_AIR = (units.LAIR, units.HYDRALISK_DEN, units.EVOLUTION_CHAMBER, units.ROACH_WARREN)


@dataclass(frozen=True)
class Opening:
    """When the first buildings go up, in supply; replays can teach other numbers.

    `tech` are tech buildings with the supply from which they are due, whatever strategy plays; an attack goes first.
    """

    name: str = "17 pool"
    pool: int = 17
    hatchery: int = 16
    gas: int = 20
    third_base: int = 0
    tech: tuple[tuple[int, int], ...] = ()


@dataclass
class Purse:
    """What is left to spend in this turn, and who can still make something."""

    minerals: float
    vespene: float
    supply: float
    larvae: list[int]
    commands: list[Command] = field(default_factory=list)

    def can_pay(self, minerals: float, vespene: float = 0.0, supply: float = 0.0) -> bool:
        """Whether this can be paid."""
        return self.minerals >= minerals and self.vespene >= vespene and (supply <= 0 or self.supply >= supply)

    def pay(self, minerals: float, vespene: float = 0.0, supply: float = 0.0) -> None:
        """Pay it, or set it aside: a purse may go below zero, and then buys nothing."""
        self.minerals -= minerals
        self.vespene -= vespene
        self.supply -= supply

    def hatch(self, kind: int) -> bool:
        """Make one unit (or a pair of zerglings) from a larva; False when that is not possible."""
        unit = units.BY_ID[kind]
        pair = 2 if kind == units.ZERGLING else 1
        price = (unit.minerals * pair, unit.vespene * pair, unit.supply * pair)
        if not self.larvae or not self.can_pay(*price):
            return False
        self.pay(*price)
        self.commands.append(Command(MAKE, (self.larvae.pop(),), kind))
        return True


class Macro:
    """The bot's economy and production."""

    def __init__(self, ground: Field, opening: Opening | None = None) -> None:
        self._field = ground
        self._opening = opening or Opening()
        self._tried: dict[Point, int] = {}
        self._builders: set[int] = set()

    def spend(self, snapshot: Snapshot, strategy: Strategy, known: Known, threat: float) -> list[Command]:
        """Orders for this turn, the urgent ones first. `threat` is the enemy fighting supply near our bases."""
        self._builders = set()
        purse = self._purse(snapshot)
        self._first_drones(snapshot, purse)
        self._overlords(snapshot, purse)
        self._pool(snapshot, strategy, purse)
        self._queens(snapshot, strategy, known, purse)
        self._bases(snapshot, strategy, purse)
        self._tech(snapshot, strategy, known, purse)
        self._gas(snapshot, strategy, purse)
        self._defences(snapshot, strategy, known, purse)
        self._upgrades(snapshot, strategy, purse)
        self._larvae(snapshot, strategy, known, threat, purse)
        return purse.commands

    def _purse(self, snapshot: Snapshot) -> Purse:
        own = snapshot.own
        larvae = own.tag[own.kind == units.LARVA].tolist()
        purse = Purse(snapshot.minerals, snapshot.vespene, snapshot.supply_cap - snapshot.supply_used, larvae)
        for product in own.product[(own.kind == units.DRONE) & (own.verb == MAKE)].tolist():
            unit = units.BY_ID.get(product)
            if unit is not None:  # a builder on its way has not paid yet
                purse.pay(unit.minerals - _PRICE_OF_DRONE, unit.vespene)
        return purse

    def _first_drones(self, snapshot: Snapshot, purse: Purse) -> None:
        """After a raid that nearly nobody survived: saving for anything else would take for ever."""
        missing = FEW_DRONES - snapshot.drones
        while missing > 0 and purse.hatch(units.DRONE):
            missing -= 1

    def _overlords(self, snapshot: Snapshot, purse: Purse) -> None:
        cap = snapshot.supply_cap + 8 * int(snapshot.coming[units.OVERLORD])
        margin = 1 + 3 * len(snapshot.bases) + snapshot.supply_used / 12
        while cap < 200 and cap - snapshot.supply_used < margin:
            if not purse.hatch(units.OVERLORD):
                if purse.larvae and cap - snapshot.supply_used < margin / 3:
                    purse.pay(100)  # nearly blocked: cheaper things would always be bought first
                return
            cap += 8

    def _pool(self, snapshot: Snapshot, strategy: Strategy, purse: Purse) -> None:
        if snapshot.total(units.SPAWNING_POOL):
            return
        early = strategy.posture is Posture.ALL_IN or strategy.defences > 0
        due = 12 if early else min(self._opening.pool, strategy.drones)  # supply grows no further without a pool
        if snapshot.supply_used >= due or snapshot.seconds > 120:
            self._build(snapshot, units.SPAWNING_POOL, purse)

    def _queens(self, snapshot: Snapshot, strategy: Strategy, known: Known, purse: Purse) -> None:
        if not snapshot.ready[units.SPAWNING_POOL] or strategy.posture is Posture.ALL_IN:
            return
        against_air = 2 if known.air_supply > 2 else 0  # nothing else reaches it before there are hydralisks
        wanted = min(len(snapshot.townhalls), 4) + strategy.queens + against_air - snapshot.total(units.QUEEN)
        for hall in snapshot.bases:
            if wanted > 0 and snapshot.own.verb[hall] == IDLE and purse.can_pay(150, 0, 2):
                purse.pay(150, 0, 2)
                purse.commands.append(Command(MAKE, (int(snapshot.own.tag[hall]),), units.QUEEN))
                wanted -= 1
            elif wanted > 0 and snapshot.own.verb[hall] == IDLE and purse.supply >= 2:
                purse.pay(150)  # save for it: larvae would always be spent first
                return

    def _bases(self, snapshot: Snapshot, strategy: Strategy, purse: Purse) -> None:
        coming = int(snapshot.coming[units.HATCHERY])
        there = len(snapshot.bases) + coming
        # Money that no larva can spend: a hatchery is where larvae come from.
        busy = not purse.larvae or not snapshot.ready[units.SPAWNING_POOL]
        rich = purse.minerals > 350 and busy and snapshot.total(units.SPAWNING_POOL) > 0
        due = self._opening.hatchery if there < 2 else self._opening.third_base
        full = there < 2 or snapshot.drones > snapshot.wanted_drones - 6
        asked = strategy.more_bases > 0 and snapshot.supply_used >= due and full
        if coming >= 1 + (snapshot.minerals > 800) or there >= MOST_BASES or not (asked or rich):
            return
        place = next_base(snapshot, self._field, self._recently_tried(snapshot))
        if place is None:
            return
        if purse.can_pay(300):
            self._send_builder(snapshot, units.HATCHERY, place, purse)
        else:
            purse.pay(300)  # save for it

    def _tech(self, snapshot: Snapshot, strategy: Strategy, known: Known, purse: Purse) -> None:
        """The next tech building that is missing or, by the opening, due; one at a time."""
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
                if halls and purse.can_pay(*price):
                    purse.commands.append(Command(MAKE, (int(snapshot.own.tag[halls[0]]),), units.LAIR))
                if purse.vespene > 50:  # the gas will be there soon
                    purse.pay(*price)
            elif purse.can_pay(unit.minerals - _PRICE_OF_DRONE, unit.vespene):
                self._build(snapshot, kind, purse)
            else:
                purse.pay(unit.minerals - _PRICE_OF_DRONE, unit.vespene)
            return

    def _gas(self, snapshot: Snapshot, strategy: Strategy, purse: Purse) -> None:
        if not snapshot.total(units.SPAWNING_POOL) or snapshot.supply_used < self._opening.gas:
            return
        # Roaches cost three times as much minerals as vespene; zerglings need it for their speed only.
        spenders = strategy.tech or snapshot.total(units.ROACH_WARREN)
        wanted = min(max(1, snapshot.drones // 10), 2 * len(snapshot.bases)) if spenders else 1
        if snapshot.total(units.EXTRACTOR) >= wanted or not purse.can_pay(25):
            return
        found = free_geyser(snapshot, self._recently_tried(snapshot))
        if found is not None:
            self._send_builder(snapshot, units.EXTRACTOR, found[1], purse, target=found[0])

    def _defences(self, snapshot: Snapshot, strategy: Strategy, known: Known, purse: Purse) -> None:
        if not strategy.defences or not snapshot.ready[units.SPAWNING_POOL]:
            return
        wanted = strategy.defences * len(snapshot.bases)
        if known.air_supply > 2 and snapshot.total(units.SPORE_CRAWLER) < wanted and purse.can_pay(75):
            self._build(snapshot, units.SPORE_CRAWLER, purse, forward=True)
        elif snapshot.total(units.SPINE_CRAWLER) < wanted and purse.can_pay(100):
            self._build(snapshot, units.SPINE_CRAWLER, purse, forward=True)

    def _upgrades(self, snapshot: Snapshot, strategy: Strategy, purse: Purse) -> None:
        """Under TECH all of them; otherwise the zerglings' speed, and others when there is vespene to spare."""
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
            if idle and purse.can_pay(upgrade.minerals, upgrade.vespene):
                purse.pay(upgrade.minerals, upgrade.vespene)
                purse.commands.append(Command(RESEARCH, (int(own.tag[idle[0]]),), upgrade.id))
                return

    def _larvae(self, snapshot: Snapshot, strategy: Strategy, known: Known, threat: float, purse: Purse) -> None:
        """Drones up to the strategy's limit and what the bases can employ; then fighters.

        Fighters come first while what is near our bases is stronger than the army, or all that is known of the enemy
        is much stronger.
        """
        room = snapshot.wanted_drones + 16 * int(snapshot.coming[units.HATCHERY]) + 2
        missing = min(strategy.drones, room) - snapshot.drones
        army = snapshot.army_supply + float((_FIGHTER_SUPPLY * snapshot.coming).sum())
        if max(threat, known.army_supply / MUCH_STRONGER) > army and snapshot.ready[units.SPAWNING_POOL]:
            missing = 0
        while missing > 0 and purse.hatch(units.DRONE):
            missing -= 1
        if missing > 0:
            return
        wanted = fighters_wanted(snapshot, known) if purse.larvae else []
        while purse.larvae:
            if not any(purse.hatch(kind) for kind in wanted):
                return

    def _build(self, snapshot: Snapshot, kind: int, purse: Purse, forward: bool = False) -> None:
        """Have a building put up: at the newest base when it is for its defence, at the oldest otherwise."""
        if not snapshot.bases or snapshot.coming[kind]:
            return
        price = units.BY_ID[kind].minerals - _PRICE_OF_DRONE
        if not purse.can_pay(price, units.BY_ID[kind].vespene):
            purse.pay(price)  # save for it
            return
        hall = snapshot.bases[-1 if forward else 0]
        near = (float(snapshot.own.x[hall]), float(snapshot.own.y[hall]))
        towards = self._field.enemy_start if forward else (near[0] * 2 - self._field.enemy_start[0], near[1])
        place = building_place(snapshot, self._field, kind, near, towards, self._recently_tried(snapshot))
        if place is not None:
            self._send_builder(snapshot, kind, place, purse)

    def _send_builder(self, snapshot: Snapshot, kind: int, place: Point, purse: Purse, target: int = 0) -> None:
        own = snapshot.own
        free = ((own.kind == units.DRONE) & (own.verb != MAKE)).nonzero()[0]
        free = free[[tag not in self._builders for tag in own.tag[free].tolist()]]
        if not len(free):
            return
        nearest = int(free[int(np.hypot(own.x[free] - place[0], own.y[free] - place[1]).argmin())])
        drone = int(own.tag[nearest])
        self._builders.add(drone)
        self._tried[place] = snapshot.loop
        purse.pay(units.BY_ID[kind].minerals - _PRICE_OF_DRONE, units.BY_ID[kind].vespene)
        purse.commands.append(Command(MAKE, (drone,), kind, target, place))

    def _recently_tried(self, snapshot: Snapshot) -> frozenset[Point]:
        self._tried = {at: loop for at, loop in self._tried.items() if snapshot.loop - loop < _RETRY_LOOPS}
        return frozenset(self._tried)


def fighters_wanted(snapshot: Snapshot, known: Known) -> list[int]:
    """Kinds of fighters in the order they are wanted: the one furthest below its share of the army first.

    Zerglings are the cheapest way to fight on the ground, roaches stand in front of them in large fights, and
    hydralisks are the only ones that reach what flies.
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
