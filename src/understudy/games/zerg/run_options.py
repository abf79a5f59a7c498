"""The flags of `run_with_training.py`. Each is also an environment variable: ZERG_GAMES=10 is --games 10."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence

from understudy.errors import SettingsError
from understudy.flags import Parser, count, count_or_zero, duration
from understudy.games.zerg.starcraft import DIFFICULTIES, RACE_NAMES
from understudy.rundir import DEFAULT_RUN_DIR

PREFIX = "ZERG_"
DEFAULT_GAMES, DEFAULT_MINUTES = 60, 4.5


def parse_options(
    arguments: Sequence[str] | None = None, environment: Mapping[str, str] | None = None
) -> argparse.Namespace:
    """Read the flags; an environment variable replaces a flag that is not given."""
    parser = _parser()
    known = {action.dest: action for action in parser._actions}
    for variable, text in (os.environ if environment is None else environment).items():
        name = variable.removeprefix(PREFIX).lower()
        if variable.startswith(PREFIX) and name in known:
            action = known[name]
            try:
                value = text.lower() in ("1", "true", "yes") if action.const is True else (action.type or str)(text)  # type: ignore[operator]
            except (ValueError, argparse.ArgumentTypeError) as error:
                flag = name.replace("_", "-")
                raise SettingsError(f"{variable} cannot be used: {error}. It is the same as --{flag}.") from None
            if action.choices is not None and value not in action.choices:
                raise SettingsError(f"{variable} is {text!r}; it must be one of {', '.join(map(str, action.choices))}.")
            parser.set_defaults(**{name: value})
    options = parser.parse_args(arguments)
    if options.games is None:  # the default run ends after some minutes even if games are slow
        options.games = DEFAULT_GAMES
        options.minutes = DEFAULT_MINUTES if options.minutes is None else options.minutes
    return options


def _parser() -> Parser:
    parser = Parser(
        description="Plays Zerg games and learns from them in the background; a second start continues the first.",
        epilog=f"Every flag is also an environment variable: {PREFIX}GAMES=10 is --games 10.",
    )
    add = parser.add_argument
    add(
        "--games",
        type=count_or_zero,
        help=f"games of this session; 0 = until Ctrl-C (default: {DEFAULT_GAMES})",
    )
    add(
        "--minutes",
        type=duration,
        default=None,
        help="start no new game after this many minutes (default: 4.5, without --games)",
    )
    add("--race", choices=[*RACE_NAMES, "Random"], default="Random", help="the opponent's race (default: all in turn)")
    add(
        "--difficulty",
        choices=["mix", "curriculum", *DIFFICULTIES],
        default="mix",
        help="one difficulty, a fixed mix, or a curriculum that follows the results (default: %(default)s)",
    )
    add("--map", default="", help="seed of a proving-ground map, or the name of a StarCraft II map (default: in turn)")
    add("--seed", type=count_or_zero, default=0, help="seed of the games (default: %(default)s)")
    add("--game", choices=["auto", "proving-ground", "starcraft"], default="auto", help="auto: StarCraft II if found")
    add("--run-dir", default=DEFAULT_RUN_DIR, help="where the run is kept (default: %(default)s)")
    add("--policy", choices=["mlp", "transformer"], default="mlp", help="the kind of network (default: %(default)s)")
    add("--algorithm", choices=["ppo", "reinforce"], default="ppo", help="how it learns (default: %(default)s)")
    add("--instances", type=count, default=1, help="games played side by side (default: %(default)s)")
    add(
        "--practice",
        type=count_or_zero,
        default=1 if (os.cpu_count() or 1) > 1 else 0,
        help="processes that play on the direct environment beside the games (default: 1 if there are two cores)",
    )
    add(
        "--time-limit",
        type=duration,
        default=1080.0,
        help="game seconds after which a game is a tie (default: %(default)s)",
    )
    add("--no-exploration", action="store_true", help="always take the most probable strategy")
    add("--quiet", action="store_true", help="only a line for each game, without the learner's output")
    add("--verbose", action="store_true", help=argparse.SUPPRESS)  # now the default
    return parser
