"""Difficulties: how often an opponent acts, how far it grows, and how much its workers earn."""

from __future__ import annotations

from typing import NamedTuple


class Skill(NamedTuple):
    """One difficulty.

    `pace`: loops between two turns. `income`: multiplies every load of a worker. `orders`: new units per turn.
    `first_attack`: minutes before which no army sets out; a plan multiplies it by its patience.
    """

    pace: int
    workers: int
    bases: int
    income: float
    orders: int
    upgrades: bool
    first_attack: float


# The API's ten difficulties, from VeryEasy (1) to CheatInsane (10). Below VeryHard the income is
# reduced, above it increased.
SKILLS: dict[int, Skill] = {
    1: Skill(320, 14, 1, 0.46, 1, False, 7.0),
    2: Skill(224, 18, 1, 0.55, 2, False, 5.5),
    3: Skill(160, 22, 2, 0.63, 2, False, 4.6),
    4: Skill(120, 28, 2, 0.71, 3, False, 4.2),
    5: Skill(80, 34, 2, 0.80, 4, False, 3.8),
    6: Skill(64, 40, 3, 0.89, 6, True, 3.4),
    7: Skill(40, 48, 3, 1.00, 8, True, 2.9),
    8: Skill(32, 52, 3, 1.13, 10, True, 2.7),
    9: Skill(24, 58, 4, 1.48, 14, True, 2.5),
    10: Skill(16, 66, 4, 2.00, 20, True, 2.3),
}
