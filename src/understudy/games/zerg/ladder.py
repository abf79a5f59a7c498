"""The Zerg bot on the AI Arena ladder."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from understudy.games.zerg.bot import WickedZergBotProImpl
from understudy.games.zerg.defaults import zerg_agent
from understudy.games.zerg.learned_openings import Openings
from understudy.games.zerg.opponent_memory import zerg_memory
from understudy.rundir import RunDir
from understudy.sc2.ladder import play_ladder_game, rated
from understudy.sc2.opponents import OPPONENTS


def make_bot(data: Path, options: argparse.Namespace) -> WickedZergBotProImpl:
    """The bot of a rated game."""
    return WickedZergBotProImpl(
        zerg_agent(data, **rated(options)),
        opponents=zerg_memory(data / OPPONENTS),
        openings=Openings(RunDir.at(data).build_orders),
    )


def main(data: Path, arguments: Sequence[str] | None = None) -> int:
    """Play the game that the flags describe, train on it, and return the exit code."""
    return play_ladder_game(make_bot, WickedZergBotProImpl.RACE, data, arguments)
