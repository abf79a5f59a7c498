"""`learned_build_orders.json` for bots: openings with their win rates, by match-up.

The text form of an opening is a supply and a building for each step: "17 hatch, 18 gas, 17 pool".
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from understudy.sc2.errors import ReplayError

SCHEMA = 1
OVERALL = "overall"  # all match-ups together

_WORDS = {"hatchery": "hatch", "evolution_chamber": "evo", "baneling_nest": "baneling nest"}
_NAMES = {word: name for name, word in _WORDS.items()}
_STEP = re.compile(r"(\d+) ([a-z][a-z ]*[a-z])")


@dataclass(frozen=True, slots=True)
class OpeningStep:
    """Start `build` (hatchery, gas, pool, overlord, queen …) at this supply."""

    supply: int
    build: str

    def __str__(self) -> str:
        return f"{self.supply} {_WORDS.get(self.build, self.build.replace('_', ' '))}"


def opening_text(steps: list[OpeningStep]) -> str:
    """The text form of an opening."""
    return ", ".join(map(str, steps))


def parse_opening(text: str) -> list[OpeningStep]:
    """The steps of an opening's text form; ReplayError if it is not one."""
    steps = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        match = _STEP.fullmatch(part)
        if match is None:
            raise ReplayError(f"{part!r} is not a step of an opening; write a supply and a building, as in '17 hatch'.")
        steps.append(OpeningStep(int(match[1]), _NAMES.get(match[2], match[2].replace(" ", "_"))))
    return steps


@dataclass(frozen=True, slots=True)
class BuildOrders:
    """The content of the file for a bot. A match-up without evidence uses all match-ups together."""

    content: Mapping[str, Any]

    def opening(self, matchup: str, name: str | None = None) -> list[OpeningStep]:
        """The steps of the named opening against this race or, without a name, of the one with the most evidence."""
        found = self._matchup(matchup)
        named = {cluster["name"]: cluster["opening"] for cluster in found["clusters"]}
        if name is not None and name not in named:
            raise ReplayError(f"There is no opening {name!r} in {matchup}; known are {', '.join(sorted(named))}.")
        return parse_opening(found["opening"] if name is None else named[name])

    def openings(self, matchup: str) -> dict[str, float]:
        """Every known opening with its win rate, as a prior for a bot with an opponent memory."""
        return {cluster["name"]: cluster["win_rate"] for cluster in self._matchup(matchup)["clusters"]}

    def target(self, matchup: str, milestone: str) -> tuple[float, float] | None:
        """The mean (seconds, supply) of a milestone; None if no game reached it."""
        found = self._matchup(matchup)["milestones"].get(milestone)
        return None if found is None else (found["seconds"]["mean"], found["supply"]["mean"])

    def _matchup(self, matchup: str) -> Any:
        matchups = self.content["matchups"]
        return matchups.get(matchup) or matchups[OVERALL]


def read_build_orders(path: Path) -> BuildOrders:
    """Read the file; ReplayError if its schema is unknown."""
    try:
        content = json.loads(path.read_bytes())
        known = content["schema"] == SCHEMA and OVERALL in content["matchups"]
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise ReplayError(f"{path} contains no build orders: {error}. `understudy replays` makes the file.") from error
    if not known:
        raise ReplayError(f"{path} is of schema {content['schema']}; this version reads schema {SCHEMA}.")
    return BuildOrders(content)
