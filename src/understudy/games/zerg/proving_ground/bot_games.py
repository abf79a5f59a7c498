"""Plays one bot's games, one after the other or several at once, and prints a line about each."""

from __future__ import annotations

import contextlib
import multiprocessing
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from pathlib import Path

from loguru import logger

from understudy.errors import SettingsError, WorkersFailed
from understudy.games.zerg.proving_ground.bot_files import find_bot, load_bot
from understudy.games.zerg.proving_ground.doors import IN_PROCESS, OWN_PROGRAM, Pairing, play_through
from understudy.games.zerg.proving_ground.in_process import GameReport, play
from understudy.games.zerg.proving_ground.maps import make_map
from understudy.games.zerg.proving_ground.own_program import Program, ProgramFailed, play_program
from understudy.games.zerg.proving_ground.recording import Recording
from understudy.games.zerg.proving_ground.summary import Census, GameSummary, names_of_refusals, names_of_units
from understudy.machine.signals import deaf_children, end_on_signals

ERROR, NO_RESULT = "error", "no result"
COUNTED = (IN_PROCESS, OWN_PROGRAM)  # doors whose units and refusals are counted


@dataclass(frozen=True)
class BotGames:
    """The games that `play` was asked for."""

    bot: str
    race: str | None
    pairing: Pairing
    time_limit: float | None = None  # game seconds
    against: str | None = None  # another bot instead of a computer
    record: Path | None = None
    python: str | None = None  # for a bot in a separate program

    @property
    def title(self) -> str:
        """Who plays against whom."""
        rival = find_bot(self.against).label if self.against else f"{self.pairing.race} ({self.pairing.difficulty})"
        return f"{find_bot(self.bot).label} against {rival}"


def play_bot(asked: BotGames, doors: tuple[str, ...], games: int, parallel: int) -> int:
    """Play the games and print a line about each and a summary; returns exit code 1 if one had no result."""
    summaries = []
    for door, one, summary in _played(asked, doors, games, parallel):
        number = f" game {one.pairing.seed - asked.pairing.seed + 1}" if games > 1 else ""
        print(f"{door}{number}: {one.title}: {summary}", flush=True)
        summaries.append(summary)
    if len(summaries) > 1:
        print(_total(summaries))
    return int(any(summary.result.startswith((ERROR, NO_RESULT)) for summary in summaries))


def _played(
    asked: BotGames, doors: tuple[str, ...], games: int, parallel: int
) -> Iterator[tuple[str, BotGames, GameSummary]]:
    pairing = asked.pairing
    jobs = [
        (door, replace(asked, pairing=replace(pairing, map_seed=pairing.map_seed + n, seed=pairing.seed + n)))
        for n in range(games)
        for door in doors
    ]
    if min(parallel, len(jobs)) == 1:
        for door, one in jobs:
            yield door, one, play_one(door, one)
        return
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(min(parallel, len(jobs)), context, initializer=_begin)
    try:
        with deaf_children():  # until they have imported everything they need
            futures = [pool.submit(play_one, door, one) for door, one in jobs]
        for (door, one), future in zip(jobs, futures, strict=True):
            yield door, one, future.result()
    except BrokenProcessPool as error:
        raise WorkersFailed(
            "A process that played games was ended, perhaps for lack of memory. Play fewer at once: --parallel."
        ) from error
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _begin() -> None:
    end_on_signals()
    logger.remove()
    logger.add(sys.stderr, level="WARNING")


def play_one(door: str, asked: BotGames) -> GameSummary:
    """Play one game in the bot's folder, as a ladder does. An error in a bot ends only its own game."""
    pairing = asked.pairing
    recording = Recording(asked.record.resolve(), make_map(pairing.map_seed)) if asked.record else None
    census, began = Census(also=recording), time.perf_counter()
    refused: Counter[tuple[int, int]] = Counter()
    loops = 0
    try:
        if door in COUNTED:
            report = _play_counted(door, asked, census)
            outcome, refused, loops = report.result.name, report.refused, report.loops
        else:
            outcome, loops = _play_elsewhere(door, asked)
    except ProgramFailed as error:
        print(error, file=sys.stderr)
        outcome = f"{ERROR} (the bot's program failed)"
    except SettingsError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever a bot raises
        traceback.print_exc()
        outcome = f"{ERROR} ({type(error).__name__}: {error})"
    finally:
        if recording is not None:
            recording.close()
    seconds, named = time.perf_counter() - began, names_of_refusals(refused, census.failed)
    return GameSummary(outcome, loops, seconds, names_of_units(census.made), named, door in COUNTED)


def _play_counted(door: str, asked: BotGames, census: Census) -> GameReport:
    """Play a game with the server in this process, so that units and refusals are counted."""
    pairing, place = asked.pairing, find_bot(asked.bot)
    if door == OWN_PROGRAM:
        if place.file is None or asked.against:
            raise SettingsError("--door program plays a bot's file or folder against a built-in opponent.")
        program = Program(place.file, asked.python or sys.executable)
        return play_program(program, pairing, time_limit=asked.time_limit, recorder=census)
    rival = load_bot(asked.against) if asked.against else pairing.computer
    bot = load_bot(asked.bot, asked.race)
    with contextlib.chdir(place.folder):
        return play(
            bot,
            rival,
            map_seed=pairing.map_seed,
            seed=pairing.seed,
            game_time_limit=asked.time_limit,
            recorder=census,
        )


def _play_elsewhere(door: str, asked: BotGames) -> tuple[str, int]:
    """The result, and the last game loop that the bot saw."""
    bot = load_bot(asked.bot, asked.race)
    with contextlib.chdir(find_bot(asked.bot).folder):
        result = play_through(door, bot, asked.pairing, asked.time_limit)
    loops = int(bot.ai.state.game_loop) if hasattr(bot.ai, "state") else 0
    return result.name if result else NO_RESULT, loops


def _total(summaries: list[GameSummary]) -> str:
    results = Counter(summary.result for summary in summaries)
    made: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    for summary in summaries:
        made.update(summary.made)
        refused.update(summary.refused)
    loops, seconds = sum(s.loops for s in summaries), sum(s.seconds for s in summaries)
    outcome = ", ".join(f"{count} {name}" for name, count in results.most_common())
    return f"{len(summaries)} games: {GameSummary(outcome, loops, seconds, dict(made), dict(refused))}"
