"""The army: it gathers, defends, attacks in waves, retreats when outnumbered, and searches for the last structures."""

from __future__ import annotations

import numpy as np

from understudy.games.zerg import catalogue as units
from understudy.games.zerg.enemy_memory import EnemyMemory
from understudy.games.zerg.snapshot import (
    ATTACK,
    IDLE,
    MOVE,
    Column,
    GameSnapshot,
    MapInfo,
    Point,
    UnitCommand,
    distance,
    middle,
)
from understudy.games.zerg.starcraft import LOOPS_PER_SECOND
from understudy.games.zerg.strategies import Posture

START_STRENGTH = 8.0  # supply; a smaller wave does not start an attack
RETREAT_AT = 0.6  # the wave retreats when it has less than this share of the enemy's strength around it
RETREAT_SECONDS = 12.0
JOIN_SHARE = 0.3  # reinforcements join the attack when they are this share of the wave
_AROUND = 16.0
_CLOSE_ENOUGH = 4.0  # an order whose goal is this close to the new one is not repeated


class ArmyControl:
    """All fighters, and one zergling that scouts."""

    def __init__(self, field: MapInfo) -> None:
        self._field = field
        self._wave: set[int] = set()
        self._home_until = 0
        self._search = 0
        self._scout = 0
        self._next_scout = 0
        self.front = 0.0

    def command(
        self, snapshot: GameSnapshot, posture: Posture, memory: EnemyMemory, threats: Column
    ) -> list[UnitCommand]:
        """Orders for this turn."""
        own = snapshot.own
        commands = self._send_scout(snapshot)
        army = snapshot.army[own.tag[snapshot.army] != self._scout]
        if not len(army):
            self._wave.clear()
            self.front = 0.0
            return commands
        tags = own.tag[army].tolist()
        self._wave &= set(tags)
        self._choose_wave(snapshot, army, tags, posture, memory, threatened=len(threats) > 0)
        wave, home = self._parted(army, tags)
        self.front = 0.0
        if len(wave):
            here = middle(own, wave)
            self.front = self._progress(here)
            commands += self._send(snapshot, wave, self._target(snapshot, wave, here, memory))
        if len(home):
            at = self._defence_point(snapshot, home, threats) or self._rally(snapshot)
            commands += self._send(snapshot, home, at)
        return commands

    def _parted(self, army: Column, tags: list[int]) -> tuple[Column, Column]:
        """Split the fighters into those in the wave and those at home."""
        if not self._wave:
            return army[:0], army
        out = np.array([tag in self._wave for tag in tags])
        return army[out], army[~out]

    def _choose_wave(
        self,
        snapshot: GameSnapshot,
        army: Column,
        tags: list[int],
        posture: Posture,
        memory: EnemyMemory,
        *,
        threatened: bool,
    ) -> None:
        """Decide which fighters attack from now on."""
        if posture is Posture.HOME and threatened:
            self._wave.clear()
            return
        if posture is Posture.ALL_IN:
            self._wave = set(tags)
            return
        if snapshot.loop < self._home_until:
            return
        wave, _ = self._parted(army, tags)
        if len(wave) and self._outnumbered(snapshot, wave):
            self._wave.clear()
            self._home_until = snapshot.loop + int(RETREAT_SECONDS * LOOPS_PER_SECOND)
            return
        if posture in (Posture.KEEP, Posture.HOME):  # those in the wave go on, those at home stay there
            return
        strength = _strength(snapshot, army)
        out = _strength(snapshot, wave)
        if not len(wave):
            known = memory.summary(snapshot.loop)
            if strength >= max(START_STRENGTH, 0.9 * known.army_supply) or snapshot.supply_used > 180:
                self._wave = set(tags)
        elif strength - out >= max(START_STRENGTH / 2, JOIN_SHARE * out):
            self._wave = set(tags)

    def _outnumbered(self, snapshot: GameSnapshot, wave: Column) -> bool:
        """Whether the enemies around the wave are much stronger than it."""
        own, enemy = snapshot.own, snapshot.enemy
        x, y = middle(own, wave)
        near = np.hypot(enemy.x - x, enemy.y - y) < _AROUND
        return _strength(snapshot, wave) < RETREAT_AT * float(units.STRENGTH[enemy.kind[near]].sum())

    def _target(self, snapshot: GameSnapshot, wave: Column, here: Point, memory: EnemyMemory) -> Point:
        """The nearest known structure; else the enemy's start; else every base in turn, until something is found."""
        own = snapshot.own
        known = memory.structures()
        lost = (known.loop < snapshot.loop).nonzero()[0]  # not visible from where the wave stands
        if len(lost):
            dx, dy = own.x[wave][:, None] - known.x[lost], own.y[wave][:, None] - known.y[lost]
            gone = known.tag[lost[(np.hypot(dx, dy) < 6).any(axis=0)]].tolist()
            for tag in gone:
                memory.forget(tag)
            if gone:
                known = memory.structures()
        if len(known.tag):
            nearest = int(np.hypot(known.x - here[0], known.y - here[1]).argmin())
            return float(known.x[nearest]), float(known.y[nearest])
        bases: list[Point] = [self._field.enemy_start, *reversed([(x, y) for x, y in self._field.bases.tolist()])]
        if distance(here, bases[self._search % len(bases)]) < 8:
            self._search += 1
        return bases[self._search % len(bases)]

    def _defence_point(self, snapshot: GameSnapshot, home: Column, threats: Column) -> Point | None:
        """The threat nearest to the army at home."""
        if not len(threats):
            return None
        own, enemy = snapshot.own, snapshot.enemy
        x, y = middle(own, home)
        nearest = threats[int(np.hypot(enemy.x[threats] - x, enemy.y[threats] - y).argmin())]
        return float(enemy.x[nearest]), float(enemy.y[nearest])

    def _rally(self, snapshot: GameSnapshot) -> Point:
        """In front of the base that is nearest to the enemy."""
        own = snapshot.own
        if not snapshot.townhalls:
            return self._field.start
        places = [(float(own.x[i]), float(own.y[i])) for i in snapshot.townhalls]
        near = min(places[:3], key=lambda at: distance(at, self._field.enemy_start))
        way = distance(near, self._field.enemy_start) or 1.0
        dx, dy = self._field.enemy_start[0] - near[0], self._field.enemy_start[1] - near[1]
        return near[0] + 7 * dx / way, near[1] + 7 * dy / way

    def _progress(self, here: Point) -> float:
        way = distance(self._field.start, self._field.enemy_start)
        return 1.0 - min(1.0, distance(here, self._field.enemy_start) / way)

    def _send(self, snapshot: GameSnapshot, group: Column, at: Point) -> list[UnitCommand]:
        """Attack-move, only for units that are neither there nor on their way."""
        own = snapshot.own
        verb = own.verb[group]
        going = (verb == ATTACK) & (np.hypot(own.order_x[group] - at[0], own.order_y[group] - at[1]) < _CLOSE_ENOUGH)
        there = (verb == IDLE) & (np.hypot(own.x[group] - at[0], own.y[group] - at[1]) < _CLOSE_ENOUGH)
        late = group[~(going | there)]
        return [UnitCommand(ATTACK, tuple(own.tag[late].tolist()), at=at)] if len(late) else []

    def _send_scout(self, snapshot: GameSnapshot) -> list[UnitCommand]:
        """A zergling scouts the enemy every minute and a half."""
        own = snapshot.own
        if self._scout:
            doing = own.verb[own.tag == self._scout]
            alive, idle = len(doing) > 0, (doing == IDLE).all()
            if idle:  # arrived, or dead
                self._scout = 0
            if alive:
                return []
        if snapshot.loop < self._next_scout or len(lings := snapshot.of(units.ZERGLING)) < 2:
            return []
        self._next_scout = snapshot.loop + int(90 * LOOPS_PER_SECOND)
        self._scout = int(own.tag[lings[0]])
        self._wave.discard(self._scout)
        return [UnitCommand(MOVE, (self._scout,), at=self._field.enemy_start)]


def _strength(snapshot: GameSnapshot, group: Column) -> float:
    """Supply, weighted by health."""
    own = snapshot.own
    return float((units.STRENGTH[own.kind[group]] * (0.3 + 0.7 * own.health[group])).sum())
