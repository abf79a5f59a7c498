"""Prices: checking, paying, refunding."""

from __future__ import annotations

from typing import Any

from understudy.games.zerg.proving_ground.compiled import kernel
from understudy.games.zerg.proving_ground.state import (
    CHEAT_FREE,
    NOT_ENOUGH_MINERALS,
    NOT_ENOUGH_VESPENE,
    SPENT_MINERALS,
    SPENT_VESPENE,
    SUCCESS,
)


@kernel
def affordable(s: Any, p: int, minerals: float, vespene: float) -> int:
    """SUCCESS, or which resource is missing."""
    if s.cheats[p] & CHEAT_FREE:
        return SUCCESS
    if s.minerals[p] < minerals:
        return NOT_ENOUGH_MINERALS
    return NOT_ENOUGH_VESPENE if s.vespene[p] < vespene else SUCCESS


@kernel
def pay(s: Any, p: int, minerals: float, vespene: float) -> int:
    """Take the price from the player's bank, or return what is missing."""
    missing = affordable(s, p, minerals, vespene)
    if missing != SUCCESS or s.cheats[p] & CHEAT_FREE:
        return missing
    s.minerals[p] -= minerals
    s.vespene[p] -= vespene
    s.score[p, SPENT_MINERALS] += minerals
    s.score[p, SPENT_VESPENE] += vespene
    return SUCCESS


@kernel
def refund(s: Any, p: int, minerals: float, vespene: float) -> None:
    """Give resources back."""
    s.minerals[p] += minerals
    s.vespene[p] += vespene
