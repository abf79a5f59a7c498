"""Plays one game of a training run, in StarCraft II or on the proving ground, and returns its record."""

from __future__ import annotations

import contextlib
import os
import random
import sys
import traceback
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

from understudy.errors import SettingsError
from understudy.experience.notes import RECORDING
from understudy.files.step_time import write_step_time
from understudy.games.zerg.challenges import Challenge
from understudy.games.zerg.defaults import zerg_agent, zerg_settings
from understudy.games.zerg.history import PlayedGame
from understudy.games.zerg.learned_openings import Openings
from understudy.games.zerg.opponent_memory import zerg_memory
from understudy.games.zerg.sample_games import sample_recorder
from understudy.games.zerg.starcraft import DIFFICULTIES
from understudy.rundir import RunDir
from understudy.sc2.opponents import OPPONENTS
from understudy.sc2.session import CRASH

DEFAULT_MAP = "AutomatonLE"
_PLACES = {
    "win32": "C:/Program Files (x86)/StarCraft II",
    "darwin": "/Applications/StarCraft II",
    "linux": "~/StarCraftII",
}


@dataclass(frozen=True)
class GameSetup:
    """What all games of a run share; plain values that can be sent to other processes."""

    run_dir: str
    starcraft: str | None = None
    starcraft_map: str = ""
    policy: Literal["mlp", "transformer"] = "mlp"
    algorithm: Literal["ppo", "reinforce"] = "ppo"
    explore: bool = True
    try_out: bool = True
    time_limit: float = 1080.0


def find_starcraft() -> str | None:
    """The folder of StarCraft II, from SC2PATH or the usual place; None if it is not installed."""
    told = os.environ.get("SC2PATH")
    folder = Path(told or _PLACES.get(sys.platform, "~/StarCraftII")).expanduser()
    if (folder / "Versions").is_dir():
        return str(folder)
    if told:
        raise SettingsError(
            f"SC2PATH is {told!r}, but StarCraft II is not there: {folder / 'Versions'} does not exist. "
            "Set it to the game's folder, or unset it to play on the proving ground."
        )
    return None


def play_one(challenge: Challenge, setup: GameSetup) -> PlayedGame:
    """Play a game. Its errors are in the record; only Ctrl-C and similar are raised."""
    _quiet_burnysc2()
    settings = zerg_settings(setup.policy, setup.algorithm)
    record: dict[str, Any] = challenge._asdict()
    map_seed, _ = record.pop("map_seed"), record.pop("seed")
    record["map"] = setup.starcraft_map or DEFAULT_MAP if setup.starcraft else f"ProvingGround-{map_seed}"
    bot: Any = None
    try:
        from understudy.games.zerg.bot import WickedZergBotProImpl  # noqa: PLC0415 - burnysc2 is an optional door

        agent = zerg_agent(setup.run_dir, settings=settings, try_out=setup.try_out)
        run = RunDir.at(setup.run_dir)
        recorder = None if setup.starcraft else sample_recorder(run, challenge, record)
        opponents = zerg_memory(run.root / OPPONENTS)
        bot = WickedZergBotProImpl(
            agent,
            explore=setup.explore,
            opponents=opponents,
            openings=Openings(run.build_orders),
            chance=random.Random(challenge.seed),
            about=record | ({} if recorder is None else {RECORDING: recorder.path.name}),
            on_step_time=partial(_say_step_time, run.step_time),
        )
        bot.opponent_id = f"{challenge.race}-{challenge.difficulty}-{challenge.build}"
        with contextlib.nullcontext() if recorder is None else contextlib.closing(recorder):
            result = _play(bot, challenge, setup, record["map"], recorder)
        outcome = bot.close_game(CRASH if result is None else result)  # does nothing if on_end was called
        error = "" if outcome["result"] != CRASH else "the game ended without a result"
    except Exception as problem:  # noqa: BLE001 - one dead game must not end the run; it is recorded with its reason
        outcome = bot.close_game() if bot is not None else {"result": "Crash"}
        where = traceback.extract_tb(problem.__traceback__)[-1]
        error = f"{type(problem).__name__}: {problem} ({Path(where.filename).name}:{where.lineno})"
    except BaseException:
        if bot is not None:
            bot.close_game("Interrupted")
        raise
    return PlayedGame(
        **record,
        result=outcome["result"],
        seconds=outcome.get("seconds", 0.0),
        reward=outcome.get("total_reward", 0.0),
        decisions=outcome.get("steps", 0),
        model_version=outcome.get("model_version", 0),
        error=error,
        saved=str(outcome.get("saved") or ""),
    )


def _play(bot: Any, challenge: Challenge, setup: GameSetup, map_name: str, recorder: Any) -> str | None:
    from sc2.data import AIBuild, Difficulty, Race  # noqa: PLC0415
    from sc2.player import Bot, Computer  # noqa: PLC0415

    # By number: older releases of burnysc2 name the difficulties differently.
    difficulty = Difficulty(DIFFICULTIES.index(challenge.difficulty) + 1)
    computer = Computer(Race[challenge.race], difficulty, AIBuild[challenge.build])
    player = Bot(Race.Zerg, bot, bot.NAME)
    if setup.starcraft is None:
        from understudy.games.zerg.proving_ground import play  # noqa: PLC0415

        report = play(
            player,
            computer,
            map_seed=challenge.map_seed,
            seed=challenge.seed,
            game_time_limit=setup.time_limit,
            recorder=recorder,
        )
        return None if report.result is None else report.result.name
    from sc2 import maps  # noqa: PLC0415
    from sc2.main import run_game  # noqa: PLC0415

    os.environ.setdefault("SC2PATH", setup.starcraft)
    result: Any = run_game(
        maps.get(map_name), [player, computer], realtime=False, game_time_limit=int(setup.time_limit)
    )
    return None if result is None else str(result.name)


def _say_step_time(path: Path, seconds: float) -> None:
    with contextlib.suppress(OSError):  # a full disk must not end the game
        write_step_time(path, seconds)


def _quiet_burnysc2() -> None:
    """Silence burnysc2, which logs every change of state."""
    from loguru import logger  # noqa: PLC0415 - comes with burnysc2

    logger.remove()
    logger.disable("sc2")
