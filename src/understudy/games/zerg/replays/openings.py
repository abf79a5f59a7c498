"""The opening of an analysed game: its usual name, and its steps."""

from __future__ import annotations

import re
from collections.abc import Mapping

from understudy.sc2.build_orders import OpeningStep

OPENING_SECONDS = 180.0  # later buildings are not part of the opening

_EARLY_POOL_SUPPLY = 14.5
_FOLLOW_UPS = (("baneling_nest", 210.0, "banelings"), ("roach_warren", 240.0, "roaches"), ("lair", 240.0, "lair"))
_OPENING_BUILDS = frozenset(
    {"hatchery", "gas", "pool", "overlord", "queen", "lair"}
    | {"evolution_chamber", "roach_warren", "baneling_nest", "spine_crawler"}
)
_NUMBERED = re.compile(r"(.+?)_(\d+)")


def steps_of(milestones: Mapping[str, tuple[float, float]]) -> list[OpeningStep]:
    """The opening in milestones of (seconds, supply), in the order of time."""
    early = sorted((seconds, name, supply) for name, (seconds, supply) in milestones.items())
    return [
        OpeningStep(int(supply + 0.5), _without_number(name))
        for seconds, name, supply in early
        if seconds <= OPENING_SECONDS and _without_number(name) in _OPENING_BUILDS
    ]


def name_of(milestones: Mapping[str, tuple[float, float]]) -> str | None:
    """The usual name of this opening, or None without pool and expansion.

    The name is the order of first expansion, gas and pool, and the first early follow-up: "hatch-gas-pool, roaches".
    """
    firsts = {"hatch": "hatchery_2", "gas": "gas_1", "pool": "pool"}
    begun = sorted((milestones[name][0], word) for word, name in firsts.items() if name in milestones)
    order = [word for seconds, word in begun if seconds <= OPENING_SECONDS]
    if not {"hatch", "pool"} & set(order):
        return None
    early_pool = (
        "pool" in milestones
        and milestones["pool"][1] < _EARLY_POOL_SUPPLY
        and ("hatch" not in order or order.index("pool") < order.index("hatch"))
    )
    first = "12 to 14 pool" if early_pool else "-".join(order)
    after = sorted(
        (milestones[name][0], word)
        for name, until, word in _FOLLOW_UPS
        if milestones.get(name, (until + 1,))[0] < until
    )
    return f"{first}, {after[0][1]}" if after else first


def _without_number(name: str) -> str:
    match = _NUMBERED.fullmatch(name)
    return match[1] if match else name
