"""The potential Φ of the Zerg bot's shaped rewards, which `sc2/shaping.py` defines. Φ is the sum of:

| term | what it measures | weight |
|---|---|---|
| economy | drones, of 66 | 0.10 |
| bases | bases, of 5 | 0.05 |
| army | own fighting supply over own and known enemy supply | 0.25 |
| trades | tanh((value killed − value lost) / 3000) | 0.60 |
"""

from __future__ import annotations

import math

from understudy.games.zerg.enemy_memory import EnemySummary
from understudy.games.zerg.snapshot import GameSnapshot
from understudy.sc2 import shaping

GAMMA = 0.997  # the discount factor of bot, learner and shaping


def potential(snapshot: GameSnapshot, known: EnemySummary) -> float:
    """Φ of a state; between −0.6 and 1."""
    economy = min(snapshot.drones, 66) / 66
    bases = min(len(snapshot.townhalls), 5) / 5
    army = snapshot.army_supply / (snapshot.army_supply + known.army_supply + 10.0)
    trades = math.tanh((snapshot.killed_value - snapshot.lost_value) / 3000.0)
    return 0.1 * economy + 0.05 * bases + 0.25 * army + 0.6 * trades


def shaped_reward(before: float, after: float) -> float:
    """The reward for moving from one potential to another."""
    return shaping.shaped_reward(before, after, GAMMA)
