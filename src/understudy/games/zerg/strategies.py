"""The strategies that the policy chooses from, and what each means for macro and army."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class Posture(Enum):
    """What the army does: return home when a base is threatened, finish the current wave, attack while stronger, or
    attack in any case.
    """

    HOME = "home"
    KEEP = "keep"
    ATTACK = "attack"
    ALL_IN = "all in"


class Strategy(NamedTuple):
    """What a strategy changes. Larvae become drones up to `drones`, then fighters."""

    name: str
    drones: int  # most drones; saturation of the bases is the other limit
    more_bases: int  # wanted bases beyond the present ones
    tech: bool  # gas, tech buildings and upgrades
    defences: int  # spine crawlers for each base
    queens: int  # beyond one for each base
    posture: Posture


# ATTACK is a complete plan on the income of 17 drones; ALL_IN attacks in the first minutes. The other strategies do not
# start attacks: they are for the time before and between attacks.
ECONOMY = Strategy("ECONOMY", 70, 0, False, 0, 0, Posture.KEEP)
EXPAND = Strategy("EXPAND", 70, 1, False, 0, 0, Posture.KEEP)
TECH = Strategy("TECH", 26, 0, True, 0, 0, Posture.KEEP)
DEFEND = Strategy("DEFEND", 22, 0, False, 2, 1, Posture.HOME)
ATTACK = Strategy("ATTACK", 17, 0, False, 0, 0, Posture.ATTACK)
ALL_IN = Strategy("ALL_IN", 12, 0, False, 0, 0, Posture.ALL_IN)

STRATEGIES = (ECONOMY, EXPAND, TECH, DEFEND, ATTACK, ALL_IN)
NAMES = tuple(strategy.name for strategy in STRATEGIES)
DECISION_LOOPS = 96  # about 4.3 s of game time between two decisions
