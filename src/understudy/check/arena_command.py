"""The arguments of `understudy arena`, and runs as players of `understudy match`."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from understudy.flags import count
from understudy.games.spec import resolve

MANY = 8
"""From this number of contestants on, games go to the pairs whose order is least certain."""


def add_command(commands: Any) -> None:
    """Add `understudy arena`."""
    text = "let versions, runs and other opponents play, and rate them"
    arena = commands.add_parser("arena", help=text)
    arena.add_argument(
        "contestants",
        nargs="+",
        metavar="CONTESTANT",
        help="RUN_DIR (its newest versions), RUN_DIR@VERSION, RUN_DIR@stage (what bots load), RUN_DIR@vote8 (the last "
        "8 versions vote), a model file (.npz), random, or another opponent that the game has",
    )
    arena.add_argument(
        "--game", metavar="GAME", help="the game to play (default: the one that the first run was trained on)"
    )
    arena.add_argument("--games", type=count, default=40, metavar="N", help="games per pair")
    arena.add_argument(
        "--pairing",
        choices=["auto", "all", "gauntlet", "uncertain"],
        default="auto",
        help="all: every pair plays; gauntlet: the first plays each of the others; uncertain: the pairs whose order is "
        f"least certain play most; auto: uncertain for {MANY} or more contestants, else all",
    )
    arena.add_argument(
        "--sprt",
        nargs=2,
        type=float,
        metavar=("ELO0", "ELO1"),
        help="two contestants play until a sequential test decides between ELO0 and ELO1 as the advantage of the "
        "first, or until --games are played",
    )
    arena.add_argument(
        "--anchor",
        action="append",
        default=[],
        metavar="NAME=ELO",
        help="give this contestant a fixed rating; may be repeated",
    )
    arena.add_argument(
        "--workers",
        type=count,
        default=os.cpu_count() or 1,
        metavar="N",
        help="games played at the same time (default: one per core)",
    )
    arena.set_defaults(run=_run)


def add_runs_to_match(commands: Any) -> None:
    """Allow runs of any game as players of `understudy match`, which is a command of one game."""
    match = commands.choices.get("match")
    if match is None:
        return
    game_runs = match.get_default("run")
    match.add_argument(
        "--game",
        metavar="GAME",
        help="the game, if a player is a run (RUN_DIR or RUN_DIR@VERSION, as in `understudy arena`)",
    )

    def run(options: argparse.Namespace) -> int:
        if any(Path(name.partition("@")[0]).is_dir() for name in (options.first, options.second)):
            return int(resolve("understudy.check.arena:run_match")(options))
        return int(game_runs(options))

    match.set_defaults(run=run)


def _run(options: argparse.Namespace) -> int:
    return int(resolve("understudy.check.arena:run_arena")(options))
