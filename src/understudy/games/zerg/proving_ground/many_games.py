"""Plays many games with several bots and counts the errors."""

from __future__ import annotations

import itertools
import sys
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from loguru import logger

from understudy.games.zerg.proving_ground.bot_files import load_bot
from understudy.games.zerg.proving_ground.doors import IN_PROCESS, Pairing, play_through
from understudy.games.zerg.proving_ground.maps import common_maps, seed_of
from understudy.games.zerg.starcraft import BUILD_NAMES, RACE_NAMES

LIMIT = 1200.0  # game seconds
_DIFFICULTIES = ("Easy", "Medium", "Hard", "VeryHard")


def pairings() -> Iterator[Pairing]:
    """All races, difficulties, plans and maps in turn."""
    maps = [seed_of(name) for name in common_maps()]
    for n in itertools.count():
        yield Pairing(RACE_NAMES[n % 3], _DIFFICULTIES[n // 3 % 4], BUILD_NAMES[n % 5], maps[n % len(maps)], n)


def play_many(bots: list[Path], count: int) -> int:
    """Play this many games in-process and print each; the exit code is 1 if any of them had an error."""
    errors: list[str] = []

    def note(message: Any) -> None:
        errors.append(str(message))

    logger.remove()
    logger.add(note, level="ERROR")
    logger.add(lambda message: errors.append(str(message)) if "Traceback" in str(message) else None, level="WARNING")
    began = time.perf_counter()
    for number, pairing in zip(range(count), pairings(), strict=False):
        path = bots[number % len(bots)]
        before = len(errors)
        try:
            result = play_through(IN_PROCESS, load_bot(path), pairing, LIMIT)
            outcome = result.name if result else "no result"
        except Exception:  # noqa: BLE001 - this command counts whatever a game raises
            errors.append(traceback.format_exc())
            outcome = "error"
        mark = "" if len(errors) == before else "  <- errors"
        print(
            f"{number + 1:3} {path.stem:18} {pairing.race:8} {pairing.difficulty:9} {pairing.build:7} {outcome}{mark}",
            flush=True,
        )
    print(f"{count} games in {time.perf_counter() - began:.0f} s, {len(errors)} errors")
    for error in errors[:5]:
        print(error, file=sys.stderr)
    return int(bool(errors))
