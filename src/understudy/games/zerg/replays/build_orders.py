"""Writes `learned_build_orders.json`: the summary of all analysed games. `sc2/build_orders.py` reads it.

The file contains its evidence: each observation, under the hash of its replay. Merging is the union of old and new
observations, and every mean is computed from that. So the result does not depend on the order, number and machine of
analyses, or on killed processes. This module needs the standard library only.
"""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from understudy.files.atomic import write_atomically
from understudy.games.zerg.replays.openings import name_of, steps_of
from understudy.sc2.build_orders import OVERALL, SCHEMA, opening_text, read_build_orders
from understudy.sc2.errors import ReplayError

MATCHUPS = ("ZvT", "ZvP", "ZvZ")

# What is kept of an observation. The rest (names, maps, counts) stays in the ledger.
_FACTS = (
    *("matchup", "result", "patch", "kind", "computer", "starting_workers"),
    *("milestones", "drones", "army_supply", "first_attack"),
)
_MINUTES = 15
_RESULT_WEIGHT = {"Win": 1.0, "Loss": 0.5, "Undecided": 0.25}
_COMPUTER_WEIGHT = 0.1  # games against the built-in AI say little about what works
_OLDER_MAJOR_WEIGHT = 0.5  # for each major version of the game behind the newest one seen


@dataclass(frozen=True, slots=True)
class Evidence:
    """One observation in plain values, and its weight. `key` orders evidence, so that sums come out the same."""

    key: str
    facts: Mapping[str, Any]
    weight: float

    @property
    def milestones(self) -> dict[str, tuple[float, float]]:
        """Milestone → (seconds, supply)."""
        return {name: (pair[0], pair[1]) for name, pair in self.facts["milestones"].items()}


def summarize(observations: Mapping[str, Mapping[str, Any]], starting_workers: int = 12) -> Any:
    """The content of the file, from observations by key (hash of the replay:player), or None if they hold nothing.

    Games that started with another number of workers have other timings; they are counted but not averaged.
    """
    useful = {key: facts for key, facts in sorted(observations.items()) if facts["milestones"]}
    same = {key: facts for key, facts in useful.items() if facts["starting_workers"] == starting_workers}
    if not same:
        return None
    newest = max(_major(facts) for facts in same.values())
    evidence = [Evidence(key, facts, _weight(facts, newest)) for key, facts in same.items()]
    replays = len({key.partition(":")[0] for key in useful})
    by_matchup = {name: [e for e in evidence if e.facts["matchup"] == name] for name in MATCHUPS}
    return {
        "schema": SCHEMA,
        "version": replays,
        "starting_workers": starting_workers,
        "sources": {
            "replays": replays,
            "observations": len(evidence),
            "other_starting_workers": len(useful) - len(same),
            "patches": _counted(facts["patch"].rpartition(".")[0] for facts in same.values()),
            "kinds": _counted(facts["kind"] for facts in same.values()),
        },
        "matchups": {name: _matchup(members) for name, members in {**by_matchup, OVERALL: evidence}.items() if members},
        "evidence": {key: {fact: facts[fact] for fact in _FACTS} for key, facts in useful.items()},
    }


def write_build_orders(path: Path, content: Any) -> bool:
    """Write the file if its content would change; returns whether it was written."""
    if content is None:
        return False
    text = _text(content).encode()
    if path.exists() and path.read_bytes() == text:
        return False
    write_atomically(path, lambda stream: stream.write(text))
    return True


def _text(content: Mapping[str, Any]) -> str:
    """JSON with an indented summary and one line per observation, since indenting thousands is slow."""
    summary = json.dumps(
        {name: value for name, value in content.items() if name != "evidence"}, indent=1, sort_keys=True
    )
    evidence = [
        f"  {json.dumps(key)}: {json.dumps(facts, sort_keys=True)}" for key, facts in content["evidence"].items()
    ]
    return f'{summary.removesuffix("}").rstrip()},\n "evidence": {{\n' + ",\n".join(sorted(evidence)) + "\n }\n}\n"


def read_evidence(path: Path) -> dict[str, Any]:
    """The observations in a file, none if there is no file; ReplayError if its schema is unknown."""
    if not path.exists():
        return {}
    evidence: Any = read_build_orders(path).content.get("evidence")
    try:
        whole = all(facts.keys() >= set(_FACTS) and facts["result"] in _RESULT_WEIGHT for facts in evidence.values())
    except (AttributeError, TypeError):
        whole = False
    if not whole:
        raise ReplayError(f"{path} contains no evidence to merge with.")
    return dict(evidence)


def _weight(facts: Mapping[str, Any], newest_major: int) -> float:
    by_patch = _OLDER_MAJOR_WEIGHT ** (newest_major - _major(facts))
    return float(by_patch * _RESULT_WEIGHT[facts["result"]] * (_COMPUTER_WEIGHT if facts["computer"] else 1.0))


def _major(facts: Mapping[str, Any]) -> int:
    return int(facts["patch"].partition(".")[0])


def _counted(values: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(values).items()))


def _matchup(evidence: Sequence[Evidence]) -> dict[str, Any]:
    clusters = _clusters(evidence)
    return {
        **_record(evidence),
        "opening": clusters[0]["opening"] if clusters else "",
        "milestones": _milestones(evidence),
        "drones_by_minute": _curve(evidence, "drones"),
        "army_supply_by_minute": _curve(evidence, "army_supply"),
        "first_attack_seconds": _first_attack(evidence),
        "clusters": clusters,
    }


def _record(evidence: Sequence[Evidence]) -> dict[str, Any]:
    results = Counter(e.facts["result"] for e in evidence)
    wins, losses = results["Win"], results["Loss"]
    return {
        "observations": len(evidence),
        "weight": _rounded(math.fsum(e.weight for e in evidence)),
        "wins": wins,
        "losses": losses,
        "win_rate": _rounded((wins + 1) / (wins + losses + 2)),  # shrinks the estimate of few games
    }


def _clusters(evidence: Sequence[Evidence]) -> list[dict[str, Any]]:
    """The openings seen, most evidence of winning first, each with the mean of its own games only."""
    members: defaultdict[str, list[Evidence]] = defaultdict(list)
    for e in evidence:
        if name := name_of(e.milestones):
            members[name].append(e)
    clusters = []
    for name, group in members.items():
        means = {
            milestone: (value["seconds"]["mean"], value["supply"]["mean"])
            for milestone, value in _milestones(group).items()
            if value["share"] >= 0.5
        }
        clusters.append({"name": name, "opening": opening_text(steps_of(means)), **_record(group)})
    return sorted(clusters, key=lambda c: (-c["weight"] * c["win_rate"], -c["observations"], c["name"]))


def _milestones(evidence: Sequence[Evidence]) -> dict[str, Any]:
    seen: defaultdict[str, list[tuple[float, float, float]]] = defaultdict(list)
    for e in evidence:
        for name, (seconds, supply) in e.milestones.items():
            seen[name].append((e.weight, seconds, supply))
    total = math.fsum(e.weight for e in evidence)
    return {
        name: {
            "observations": len(values),
            "weight": _rounded(math.fsum(v[0] for v in values)),
            "share": _rounded(math.fsum(v[0] for v in values) / total),
            "seconds": _mean_and_spread([(v[0], v[1]) for v in values]),
            "supply": _mean_and_spread([(v[0], v[2]) for v in values]),
        }
        for name, values in sorted(seen.items())
    }


def _curve(evidence: Sequence[Evidence], name: str) -> list[float]:
    curve = []
    for minute in range(_MINUTES):
        values = [(e.weight, e.facts[name][minute]) for e in evidence if len(e.facts[name]) > minute]
        if not values:
            break
        curve.append(_mean_and_spread(values)["mean"])
    return curve


def _first_attack(evidence: Sequence[Evidence]) -> dict[str, float] | None:
    values = [(e.weight, e.facts["first_attack"]) for e in evidence if e.facts["first_attack"] is not None]
    return _mean_and_spread(values) if values else None


def _mean_and_spread(values: Sequence[tuple[float, float]]) -> dict[str, float]:
    """Weighted mean and standard deviation of (weight, value)."""
    total = math.fsum(weight for weight, _ in values)
    mean = math.fsum(weight * value for weight, value in values) / total
    variance = math.fsum(weight * (value - mean) ** 2 for weight, value in values) / total
    return {"mean": _rounded(mean), "spread": _rounded(math.sqrt(variance))}


def _rounded(value: float) -> float:
    return round(value, 3)
