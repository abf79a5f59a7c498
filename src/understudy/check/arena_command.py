"""The arguments of `understudy arena`."""

from __future__ import annotations

import argparse
import os
from typing import Any

from understudy.flags import count
from understudy.games.spec import resolve

MANY = 8
"""Contestants from which games are given to the pairs that are least certain."""


def add_command(commands: Any) -> None:
    """Add `understudy arena`."""
    text = "rate versions, runs and scripted opponents by their games"
    arena = commands.add_parser("arena", help=text, description=text[0].upper() + text[1:] + ".")
    arena.add_argument(
        "contestants",
        nargs="+",
        metavar="CONTESTANT",
        help="RUN_DIR (its newest versions), RUN_DIR@VERSION, RUN_DIR@stage (what bots load), RUN_DIR@vote8 (the last "
        "8 versions vote), a model file (.npz), random, or another opponent that the game has",
    )
    arena.add_argument("--game", metavar="GAME", help="default: the game that the first run was trained on")
    arena.add_argument("--games", type=count, default=40, metavar="N", help="games of each pair (default: 40)")
    arena.add_argument(
        "--pairing",
        choices=["auto", "all", "gauntlet", "uncertain"],
        default="auto",
        help="all: everybody meets everybody; gauntlet: the first meets everybody; uncertain: games go to the pairs "
        f"whose order is least certain; auto: all, or uncertain from {MANY} contestants on",
    )
    arena.add_argument(
        "--sprt",
        nargs=2,
        type=float,
        metavar=("ELO0", "ELO1"),
        help="two contestants play until it is decided whether the first is stronger by ELO1 rather than ELO0, "
        "or --games are played",
    )
    arena.add_argument(
        "--anchor", action="append", default=[], metavar="NAME=ELO", help="a fixed rating; may be repeated"
    )
    arena.add_argument("--workers", type=count, default=os.cpu_count() or 1, metavar="N", help="default: one per core")
    arena.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    return int(resolve("understudy.check.arena:run_arena")(options))
