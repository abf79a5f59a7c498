"""Which block of the comparison a game belongs to. Games of a block are played against the same opponent.

A block counts when all its games are played. Against an opponent that comes seldom, a large block would take for ever:
it gets blocks of two, and just enough of them that the smaller share stays the same. Opponents that nobody has met
before share blocks, since most of them may never come again. Who plays which game of a block is random, so that no
choice of blocks favours anybody.
"""

from __future__ import annotations

import random
import sqlite3

from understudy.ledger import gate as table
from understudy.models.contest import place_in_block

STRANGERS = "(met for the first time)"
_FEW = 8  # opponents that get large blocks at once
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
