"""Compares the proving ground's unit data with recorded data responses of the game."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from s2clientprotocol import sc2api_pb2

from understudy.games.zerg.proving_ground import unit_data
from understudy.games.zerg.proving_ground.static_responses import data_response

UNIT_FIELDS = [
    "mineral_cost",
    "vespene_cost",
    "build_time",
    "food_required",
    "food_provided",
    "ability_id",
    "tech_requirement",
    "require_attached",
    "cargo_size",
    "movement_speed",
    "armor",
    "sight_range",
    "unit_alias",
    "has_minerals",
    "has_vespene",
    "race",
    "tech_alias",
    "attributes",
    "weapons",
]
UPGRADE_FIELDS = ["mineral_cost", "vespene_cost", "research_time", "ability_id"]
ABILITY_FIELDS = ["remaps_to_ability_id", "target", "is_building", "footprint_radius", "cast_range"]


@dataclass
class Comparison:
    """Counts of numbers compared and equal, and every difference."""

    name: str
    compared: Counter[str] = field(default_factory=Counter)
    equal: Counter[str] = field(default_factory=Counter)
    differences: list[str] = field(default_factory=list)
    missing: Counter[str] = field(default_factory=Counter)

    def report(self) -> str:
        """The result for people."""
        lines = [f"{self.name}:"]
        for group in ("units", "upgrades", "abilities"):
            share = self.equal[group] / max(1, self.compared[group])
            lines.append(
                f"  {group}: {self.equal[group]} of {self.compared[group]} numbers equal ({share:.1%}); "
                f"{self.missing[group]} entries of the recording are not in the proving ground"
            )
        return "\n".join(lines + [f"    {difference}" for difference in self.differences])


def compare(recorded: Path) -> Comparison:
    """Compare every number that both the recording and the proving ground hold."""
    theirs = sc2api_pb2.Response.FromString(recorded.read_bytes()).data
    ours = sc2api_pb2.Response.FromString(data_response()).data
    result = Comparison(recorded.name)
    _compare(result, "units", "unit_id", ours.units, [u for u in theirs.units if u.available], UNIT_FIELDS)
    _compare(
        result, "upgrades", "upgrade_id", ours.upgrades, [u for u in theirs.upgrades if u.ability_id], UPGRADE_FIELDS
    )
    tables = {ability.ability_id for ability in unit_data.abilities()}  # others have a name only
    abilities = [ability for ability in ours.abilities if ability.ability_id in tables]
    _compare(result, "abilities", "ability_id", abilities, list(theirs.abilities), ABILITY_FIELDS)
    return result


def _compare(result: Comparison, group: str, key: str, ours: Any, theirs: list[Any], fields: list[str]) -> None:
    known = {getattr(entry, key): entry for entry in ours}
    for entry in theirs:
        mine = known.get(getattr(entry, key))
        if mine is None:
            result.missing[group] += 1
            continue
        for name in fields:
            result.compared[group] += 1
            a, b = _plain(getattr(mine, name)), _plain(getattr(entry, name))
            if a == b:
                result.equal[group] += 1
            else:
                label = getattr(entry, "name", "") or getattr(entry, "friendly_name", "")
                result.differences.append(f"{label} {name}: {a} here, {b} recorded")


def _plain(value: Any) -> Any:
    if isinstance(value, (int, float, bool, str)):
        return value
    return [_plain(v) if isinstance(v, (int, float)) else str(v).replace("\n", " ") for v in value]
