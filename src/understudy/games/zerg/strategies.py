"""The strategies the policy chooses from, and what each of them asks of the macro layer and of the army."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class Posture(Enum):
    """Where the army goes: it comes home when a base is threatened, a wave that is out goes on, it attacks while it is
    the stronger one, or attacks whatever comes.
    """

    HOME = "home"
    KEEP = "keep"
    ATTACK = "attack"
    ALL_IN = "all in"


class Strategy(NamedTuple):
    """What a strategy changes. Larvae become drones as long as there are fewer than `drones`, then fighters."""

    name: str
    drones: int  # most drones; saturation of the bases is the other limit
    more_bases: int  # bases wanted beyond those there are
    tech: bool  # gas, tech buildings and upgrades
    defences: int  # spine crawlers for each base
    queens: int  # beyond one for each base
    posture: Posture


# ATTACK is a plan of its own, on what 17 drones bring home; ALL_IN bets on the first minutes. The others never set
# out: they are for what an attack cannot do, and belong between attacks or before them.
ECONOMY = Strategy("ECONOMY", 70, 0, False, 0, 0, Posture.KEEP)
EXPAND = Strategy("EXPAND", 70, 1, False, 0, 0, Posture.KEEP)
TECH = Strategy("TECH", 26, 0, True, 0, 0, Posture.KEEP)
DEFEND = Strategy("DEFEND", 22, 0, False, 2, 1, Posture.HOME)
ATTACK = Strategy("ATTACK", 17, 0, False, 0, 0, Posture.ATTACK)
ALL_IN = Strategy("ALL_IN", 12, 0, False, 0, 0, Posture.ALL_IN)

STRATEGIES = (ECONOMY, EXPAND, TECH, DEFEND, ATTACK, ALL_IN)
NAMES = tuple(strategy.name for strategy in STRATEGIES)
DECISION_LOOPS = 96  # about 4.3 s of game time between two decisions
