"""What a difficulty means: how often an opponent thinks, how far it grows, and what its workers bring home."""

from __future__ import annotations

from typing import NamedTuple


class Skill(NamedTuple):
    """`pace`: loops between two thoughts. `income`: what a load is worth to this player. `orders`: new units a thought."""

    pace: int
    workers: int
    bases: int
    income: float
    orders: int
    upgrades: bool


# The API's ten difficulties, from VeryEasy (1) to CheatInsane (10). Below VeryHard the income is a handicap, above it a gift.
SKILLS: dict[int, Skill] = {
    1: Skill(320, 14, 1, 0.50, 1, False),
    2: Skill(224, 18, 1, 0.60, 2, False),
    3: Skill(160, 22, 2, 0.70, 2, False),
    4: Skill(112, 28, 2, 0.80, 3, False),
    5: Skill(80, 34, 2, 0.87, 4, True),
    6: Skill(64, 40, 3, 0.94, 6, True),
    7: Skill(48, 48, 3, 1.00, 8, True),
    8: Skill(32, 52, 3, 1.10, 10, True),
    9: Skill(32, 56, 4, 1.30, 14, True),
    10: Skill(16, 66, 4, 1.70, 20, True),
}
