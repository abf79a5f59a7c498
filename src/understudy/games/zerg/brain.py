"""The whole bot without the game: a Snapshot goes in, commands come out. Both adapters drive this one."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
from numpy.typing import NDArray

from understudy.games.zerg import catalogue as units
from understudy.games.zerg.army import Army
from understudy.games.zerg.macro import Macro, Opening
from understudy.games.zerg.memory import EnemyMemory, Known
from understudy.games.zerg.opponent_memory import NOTHING_KNOWN, Expected
from understudy.games.zerg.queens import Queens
from understudy.games.zerg.rewards import potential
from understudy.games.zerg.snapshot import IDLE, MOVE, Command, Field, Point, Snapshot
from understudy.games.zerg.state import Situation, state_vector
from understudy.games.zerg.strategies import DECISION_LOOPS, NAMES, STRATEGIES
from understudy.games.zerg.workers import Workers

THINK_LOOPS = 16  # game loops between two turns of the macro layer and the army
LOOKOUT = 20.0  # how far from the enemy's natural base the first overlord waits
EARLY_SECONDS = 240.0  # an attack on our bases before this is a rush
START_DECISIONS = 30  # about two minutes: what is in force for most of them is how a game began


class Brain:
    """One game's worth of thinking. `observe` first, then `decide` when it is time to, then `commands`."""

    def __init__(self, field: Field, *, opening: Opening | None = None, expected: Expected = NOTHING_KNOWN) -> None:
        self._field = field
        self._expected = expected
        self._memory = EnemyMemory()
        self._macro = Macro(field, opening)
        self._workers, self._queens, self._army = Workers(), Queens(), Army(field)
        self._next_decision = 0
        self._overlord, self._fled = 0, False  # the one that looks out for the enemy
        self._turn = 0
        self.strategy = 0
        """The strategy in force."""
        self._chosen: int | None = None  # by the last decision
        self._began: Counter[int] = Counter()  # strategies in force, of the first decisions
        self.was_rushed = False

    def observe(self, snapshot: Snapshot) -> None:
        """Take in a moment of the game."""
        self._snapshot = snapshot
        self._memory.update(snapshot)
        self._known: Known = self._memory.summary(snapshot.loop)
        self._threats = snapshot.threats()
        self._threat = float(units.SUPPLY[snapshot.enemy.kind[self._threats]].sum()) if len(self._threats) else 0.0
        self.was_rushed |= self._threat >= 3 and snapshot.seconds < EARLY_SECONDS

    @property
    def time_to_decide(self) -> bool:
        """Whether a decision is due."""
        return self._snapshot.loop >= self._next_decision

    @property
    def potential(self) -> float:
        """Φ of the moment observed last."""
        return potential(self._snapshot, self._known)

    @property
    def enemy_race(self) -> int:
        """The enemy's race, 0 while unknown."""
        return self._field.enemy_race or self._memory.race

    @property
    def start(self) -> str:
        """The name of the strategy that the game began with; empty before the first decision."""
        return next((NAMES[strategy] for strategy, _ in self._began.most_common(1)), "")

    def state(self) -> NDArray[np.float32]:
        """The features of the moment observed last."""
        return state_vector(
            Situation(
                self._snapshot,
                self._field,
                self._memory,
                self._known,
                self.strategy,
                self._expected,
                self._army.front,
                self._threat,
            )
        )

    def decide(self, strategy: int) -> None:
        """Choose a strategy. The first of a game is in force at once, any other when it is chosen twice in a row.

        What a strategy begins takes longer than a decision lasts: a single one, as chance may draw it, undoes nothing.
        """
        if self._chosen in (None, strategy):
            self.strategy = strategy
        self._chosen = strategy
        if self._began.total() < START_DECISIONS:
            self._began[self.strategy] += 1
        self._next_decision = self._snapshot.loop + DECISION_LOOPS

    def commands(self) -> list[Command]:
        """What to do now. Workers come before the macro layer, so that a builder's order is the last one it gets."""
        snapshot, strategy = self._snapshot, STRATEGIES[self.strategy]
        enemy = snapshot.enemy
        threats = [(float(enemy.x[i]), float(enemy.y[i])) for i in self._threats[:8]]
        self._turn += 1
        orders = []
        if self._turn % 2:  # the two that are in no hurry
            orders += self._workers.command(snapshot)
            orders += self._queens.command(snapshot, threats)
        orders += self._macro.spend(snapshot, strategy, self._known, self._threat)
        orders += self._army.command(snapshot, strategy.posture, self._memory, self._threats)
        return orders + self._send_overlord(snapshot)

    def _send_overlord(self, snapshot: Snapshot) -> list[Command]:
        """The first overlord watches the way out of the enemy's natural base, and comes home when it is shot at."""
        own = snapshot.own
        if not self._overlord:
            idle = [i for i in snapshot.of(units.OVERLORD) if own.verb[i] == IDLE]
            if not idle:
                return []
            self._overlord = int(own.tag[idle[0]])
            return [Command(MOVE, (self._overlord,), at=self._lookout())]
        if self._fled or not (own.health[own.tag == self._overlord] < 1.0).any():
            return []
        self._fled = True
        return [Command(MOVE, (self._overlord,), at=self._field.start)]

    def _lookout(self) -> Point:
        """As far from the enemy's natural base as what stands there cannot shoot, on our side of it."""
        bases, (x, y) = self._field.bases, self._field.enemy_start
        natural = bases[int(np.argsort(np.hypot(bases[:, 0] - x, bases[:, 1] - y))[1])].tolist()
        dx, dy = self._field.start[0] - natural[0], self._field.start[1] - natural[1]
        way = math.hypot(dx, dy) or 1.0
        return natural[0] + LOOKOUT * dx / way, natural[1] + LOOKOUT * dy / way
