"""The whole bot without the game: a GameSnapshot goes in, commands come out. Both adapters drive this one."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
from numpy.typing import NDArray

from understudy.games.zerg import catalogue as units
from understudy.games.zerg.army import ArmyControl
from understudy.games.zerg.enemy_memory import EnemyMemory, EnemySummary
from understudy.games.zerg.macro import Macro, Opening
from understudy.games.zerg.opponent_memory import NOTHING_KNOWN
from understudy.games.zerg.queens import Queens
from understudy.games.zerg.rewards import potential
from understudy.games.zerg.snapshot import IDLE, MOVE, GameSnapshot, MapInfo, Point, UnitCommand
from understudy.games.zerg.state import Situation, state_vector
from understudy.games.zerg.strategies import DECISION_LOOPS, NAMES, STRATEGIES
from understudy.games.zerg.workers import DroneControl
from understudy.sc2.opponents import OpponentForecast

THINK_LOOPS = 16  # game loops between two turns of the macro layer and the army
LOOKOUT = 20.0  # how far from the enemy's natural base the first overlord waits
EARLY_SECONDS = 240.0  # an attack on our bases before this is a rush
START_DECISIONS = 30  # about two minutes: the strategy used most in them is the start of the game


class Brain:
    """Plays one game. Each turn: `observe`, then `decide` if `time_to_decide`, then `commands`."""

    def __init__(
        self, field: MapInfo, *, opening: Opening | None = None, expected: OpponentForecast = NOTHING_KNOWN
    ) -> None:
        self._field = field
        self._expected = expected
        self._memory = EnemyMemory()
        self._macro = Macro(field, opening)
        self._workers, self._queens, self._army = DroneControl(), Queens(), ArmyControl(field)
        self._next_decision = 0
        self._overlord, self._fled = 0, False  # the scout
        self._turn = 0
        self.strategy = 0
        """The active strategy."""
        self._chosen: int | None = None  # the strategy of the last decision
        self._began: Counter[int] = Counter()  # how often each strategy was active during the first decisions
        self.was_rushed = False

    def observe(self, snapshot: GameSnapshot) -> None:
        """Update the brain with a new snapshot."""
        self._snapshot = snapshot
        self._memory.update(snapshot)
        self._known: EnemySummary = self._memory.summary(snapshot.loop)
        self._threats = snapshot.threats()
        self._threat = float(units.SUPPLY[snapshot.enemy.kind[self._threats]].sum()) if len(self._threats) else 0.0
        self.was_rushed |= self._threat >= 3 and snapshot.seconds < EARLY_SECONDS

    @property
    def time_to_decide(self) -> bool:
        """Whether a decision is due."""
        return self._snapshot.loop >= self._next_decision

    @property
    def potential(self) -> float:
        """The shaping potential Φ of the last snapshot."""
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
        """The features of the last snapshot."""
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
        """Choose a strategy. The first one takes effect at once; a later one when it is chosen twice in a row.

        Plans take longer than one decision, so a single random draw must not interrupt them.
        """
        if self._chosen in (None, strategy):
            self.strategy = strategy
        self._chosen = strategy
        if self._began.total() < START_DECISIONS:
            self._began[self.strategy] += 1
        self._next_decision = self._snapshot.loop + DECISION_LOOPS

    def commands(self) -> list[UnitCommand]:
        """What to do now. Drones come before the macro layer: the last order a builder gets is to build."""
        snapshot, strategy = self._snapshot, STRATEGIES[self.strategy]
        enemy = snapshot.enemy
        threats = [(float(enemy.x[i]), float(enemy.y[i])) for i in self._threats[:8]]
        self._turn += 1
        orders = []
        if self._turn % 2:  # these two are less urgent and run every second turn
            orders += self._workers.command(snapshot)
            orders += self._queens.command(snapshot, threats)
        orders += self._macro.spend(snapshot, strategy, self._known, self._threat)
        orders += self._army.command(snapshot, strategy.posture, self._memory, self._threats)
        return orders + self._send_overlord(snapshot)

    def _send_overlord(self, snapshot: GameSnapshot) -> list[UnitCommand]:
        """The first overlord watches the exit of the enemy's natural base, and returns when it is attacked."""
        own = snapshot.own
        if not self._overlord:
            idle = [i for i in snapshot.of(units.OVERLORD) if own.verb[i] == IDLE]
            if not idle:
                return []
            self._overlord = int(own.tag[idle[0]])
            return [UnitCommand(MOVE, (self._overlord,), at=self._lookout())]
        if self._fled or not (own.health[own.tag == self._overlord] < 1.0).any():
            return []
        self._fled = True
        return [UnitCommand(MOVE, (self._overlord,), at=self._field.start)]

    def _lookout(self) -> Point:
        """A point on our side of the enemy's natural base, out of range of what stands there."""
        bases, (x, y) = self._field.bases, self._field.enemy_start
        natural = bases[int(np.argsort(np.hypot(bases[:, 0] - x, bases[:, 1] - y))[1])].tolist()
        dx, dy = self._field.start[0] - natural[0], self._field.start[1] - natural[1]
        way = math.hypot(dx, dy) or 1.0
        return natural[0] + LOOKOUT * dx / way, natural[1] + LOOKOUT * dy / way
