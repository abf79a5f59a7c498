"""Chooses the next opponent: a fixed one, a fixed mix, or a curriculum that follows the results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from understudy.games.zerg.starcraft import BUILD_NAMES, DIFFICULTIES, RACE_NAMES

MIX = ("CheatMoney",)
CURRICULUM_START, WINDOW, RAISE_AT, LOWER_AT = "VeryHard", 6, 0.75, 0.25


class Challenge(NamedTuple):
    """One game to play."""

    number: int
    race: str
    difficulty: str
    build: str
    map_seed: int
    seed: int


def next_challenge(
    number: int, results: Sequence[tuple[str, str]], *, race: str, difficulty: str, map_seed: int | None, seed: int
) -> Challenge:
    """The n-th game (from 0). `results` are (difficulty, result) of the games before it. `race` may be "Random",
    `difficulty` "mix" or "curriculum". The same arguments give the same game.
    """
    # 17 is coprime to the period, so races, plans and difficulties all change from game to game.
    period = len(RACE_NAMES) * len(BUILD_NAMES) * len(MIX)
    turn = number // period * period + number * 17 % period
    level = {"mix": MIX[turn // 15 % len(MIX)], "curriculum": curriculum_level(results)}.get(difficulty, difficulty)
    return Challenge(
        number,
        RACE_NAMES[turn % 3] if race == "Random" else race,
        level,
        BUILD_NAMES[turn // 3 % 5],
        number % 10 if map_seed is None else map_seed,
        seed * 100_003 + number,
    )


def curriculum_level(results: Sequence[tuple[str, str]]) -> str:
    """The difficulty to play now: up after a window of mostly wins, down after one of mostly losses."""
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
