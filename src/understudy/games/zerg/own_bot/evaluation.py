"""How good is a version of a user's bot? Games on the proving ground, the same ones for every version."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import shutil
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

from loguru import logger
from sc2.player import Bot

from understudy.games.zerg.proving_ground.bot_files import find_bot, load_class
from understudy.games.zerg.proving_ground.doors import Pairing
from understudy.games.zerg.proving_ground.in_process import play
from understudy.rundir import RunDir
from understudy.sc2.opponents import OPPONENTS

FIRST = 60_000_000  # seed of the first evaluation game; training uses lower ones
TIME_LIMIT = 1200.0  # game seconds; a longer game is a tie
_MAPS = 20
_LETTERS = {"Victory": "W", "Defeat": "L", "Tie": "T"}


def evaluate_bot(
    bot: str,
    model: str,
    first: int,
    games: int,
    *,
    opponent: str = "Random",
    difficulty: str = "Hard",
    explore: bool = False,
    parallel: int | None = None,
) -> dict[str, str]:
    """{"results": "WLTW…"} of a model file in evaluation games `first` to `first + games`.

    `bot` names a LearningBot as in `understudy proving-ground play`. Each decision is the most probable one; with
    `explore` it is drawn, as in training.
    """
    one = partial(_play, bot, str(Path(model).resolve()), opponent, difficulty, explore)
    numbers = range(first, first + games)
    workers = min(games, parallel or os.cpu_count() or 1)
    results = ""
    if workers == 1:
        for number in numbers:
            results += one(number)
            _say(len(results), games)
        return {"results": results}
    with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn")) as pool:
        for letter in pool.map(one, numbers):
            results += letter
            _say(len(results), games)
    return {"results": results}


def _say(done: int, games: int) -> None:
    if sys.stderr.isatty():
        print(f"\r{done} of {games} games", end="\n" if done == games else "", file=sys.stderr, flush=True)


def _play(bot: str, model: str, opponent: str, difficulty: str, explore: bool, number: int) -> str:
    logger.remove()
    chosen, race = load_class(bot)
    with tempfile.TemporaryDirectory(prefix="understudy-evaluate-", ignore_cleanup_errors=True) as folder:
        run = RunDir.at(folder)
        run.create()
        shutil.copyfile(model, run.model)
        for above in Path(model).parents[1:3]:  # the bot's memory of opponents influences how it plays
            if (above / OPPONENTS).exists():
                shutil.copyfile(above / OPPONENTS, run.root / OPPONENTS)
        with contextlib.chdir(find_bot(bot).folder):
            player = chosen(run_dir=folder, explore=explore, record=False, online_training=False)  # type: ignore[call-arg]
            computer = Pairing(opponent, difficulty).computer
            report = play(
                Bot(race, player),
                computer,
                map_seed=number % _MAPS,
                seed=FIRST + number,
                game_time_limit=TIME_LIMIT,
            )
    return _LETTERS.get(report.result.name, "L")
