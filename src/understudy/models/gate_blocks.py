"""Assigns games to blocks of the comparison. All games of a block are played against the same opponent.

A block counts when all its games are played. Against a rare opponent, a large block would never be complete, so it gets
blocks of two, just enough of them to keep the smaller share. New opponents share blocks, because most of them may never
come again. Who plays which game of a block is random, so the choice of blocks favours neither side.
"""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from understudy.ledger import gate as table
from understudy.models.contest import place_in_block
from understudy.models.evidence import Played, difference
from understudy.models.gate_state import GateState

STRANGERS = "(met for the first time)"
_FEW = 8  # number of opponents up to which all get large blocks at once
_SOON = 100.0  # games within which a block should be complete
_SMALL = 2


def block_for(
    db: sqlite3.Connection, contest: int, opponent: str, size: int, chance: random.Random
) -> table.Block | None:
    """The block of the next game against this opponent; None if the game is not compared."""
    met = table.meet(db, opponent)
    found = table.open_block(db, contest, opponent)
    if found is not None:
        return found
    if met.opponents > _FEW and met.before == 0:
        opponent = STRANGERS
        found = table.open_block(db, contest, opponent)
    elif met.opponents > _FEW and size > _SMALL and size / met.frequency > _SOON:
        if chance.random() >= _SMALL / size:
            return None
        size = _SMALL
    return found or table.add_block(db, contest, opponent, size, place_in_block(size, chance))


@dataclass(frozen=True, slots=True)
class PlayedBlock:
    """A block that was assigned and played elsewhere: the games of both sides, each with its id."""

    opponent: str
    candidate: list[tuple[str, Played]]
    champion: list[tuple[str, Played]]


def take_block(
    db: sqlite3.Connection, state: GateState, block: PlayedBlock, champion: int, candidate: int
) -> float | None:
    """Record the games of such a block, and return the difference it shows; None if one of them is already recorded."""
    ours, theirs = ("line", "control") if state.stage == "line" else ("challenger", "champion")
    sides: Sequence[tuple[str, int, list[tuple[str, Played]]]] = (
        (ours, candidate, block.candidate),
        (theirs, champion, block.champion),
    )
    if table.any_game(db, [game for _, _, games in sides for game, _ in games]):
        return None
    number = table.add_block(db, state.number, block.opponent, len(block.candidate) + len(block.champion), 0).number
    for role, version, games in sides:
        for game, played in games:
            table.add_game(db, game, number, role, version)
            table.finish_game(db, game, played.score, played.reward)
    found = difference([played for _, played in block.candidate], [played for _, played in block.champion])
    table.close_block(db, number, found)
    return found
