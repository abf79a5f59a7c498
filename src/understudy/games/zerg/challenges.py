"""Whom to play next: a fixed opponent, a fixed mix, or a curriculum that follows the results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

RACES = ("Terran", "Zerg", "Protoss")
BUILDS = ("Rush", "Timing", "Power", "Macro", "Air")
# The game's difficulties in their order; their places, counted from 1, are the API's numbers.
DIFFICULTIES = (
    "VeryEasy",
    "Easy",
    "Medium",
    "MediumHard",
    "Hard",
    "Harder",
    "VeryHard",
    "CheatVision",
    "CheatMoney",
    "CheatInsane",
)
MIX = ("CheatMoney", "CheatInsane")
CURRICULUM_START, WINDOW, RAISE_AT, LOWER_AT = "VeryHard", 6, 0.75, 0.25


class Challenge(NamedTuple):
    """One game to be played."""

    number: int
    race: str
    difficulty: str
    build: str
    map_seed: int
    seed: int


def next_challenge(
    number: int, results: Sequence[tuple[str, str]], *, race: str, difficulty: str, map_seed: int | None, seed: int
) -> Challenge:
    """The n-th game (from 0). `results` are (difficulty, result) of the games before; race may be "Random", difficulty
    "mix" or "curriculum". The same arguments give the same game.
    """
    # 17 shares no factor with the period, so that races, plans and difficulties all change from game to game.
    period = len(RACES) * len(BUILDS) * len(MIX)
    turn = number // period * period + number * 17 % period
    level = {"mix": MIX[turn // 15 % len(MIX)], "curriculum": curriculum_level(results)}.get(difficulty, difficulty)
    return Challenge(
        number,
        RACES[turn % 3] if race == "Random" else race,
        level,
        BUILDS[turn // 3 % 5],
        number % 10 if map_seed is None else map_seed,
        seed * 100_003 + number,
    )


def curriculum_level(results: Sequence[tuple[str, str]]) -> str:
    """The difficulty to play now: up after a window of games mostly won, down after one mostly lost."""
    level, window = DIFFICULTIES.index(CURRICULUM_START), list[str]()
    for difficulty, result in results:
        if difficulty != DIFFICULTIES[level] or result == "Crash":
            continue
        window = [*window, result][-WINDOW:]
        share = window.count("Victory") / WINDOW
        if len(window) == WINDOW and (share >= RAISE_AT or share <= LOWER_AT):
            level = min(max(level + (1 if share >= RAISE_AT else -1), 0), len(DIFFICULTIES) - 1)
            window = []
    return DIFFICULTIES[level]
