"""Examples for imitation: what a Zerg player had when the game took a snapshot, and the strategy of what followed.

A replay does not hold all that the policy sees: neither what the player knew of the enemy nor where the army stood.
Only the features in `KNOWN` are taken from it. Which strategy was followed is not in it either; `_strategy` derives it
from what was begun, born and killed in the half minute after the snapshot.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from understudy.games.zerg.replays.loading import RACES, Player, Recording, parse, read_bytes
from understudy.games.zerg.replays.milestones import why_nothing
from understudy.games.zerg.replays.vocabulary import ARMY_SUPPLY, UPGRADES
from understudy.games.zerg.state import FEATURES, MOST
from understudy.games.zerg.strategies import NAMES as STRATEGIES

_READY = {
    "larvae": ("Larva",),
    "bases": ("Hatchery", "Lair", "Hive"),
    "extractors": ("Extractor", "ExtractorRich"),
    "queens": ("Queen", "QueenBurrowed"),
    "pool": ("SpawningPool",),
    "roach_warren": ("RoachWarren",),
    "lair": ("Lair", "Hive"),
    "hydralisk_den": ("HydraliskDen",),
    "spine_crawlers": ("SpineCrawler",),
    "zerglings": ("Zergling", "ZerglingBurrowed"),
    "roaches": ("Roach", "RoachBurrowed"),
    "hydralisks": ("Hydralisk", "HydraliskBurrowed"),
}
_RESEARCHED = {
    "ling_speed": "metabolic_boost",
    "roach_speed": "glial_reconstitution",
    "missile_attack": "missile_attack_1",
    "carapace": "ground_armor_1",
}
_COUNTED = ("seconds", "minerals", "vespene", "mineral_rate", "vespene_rate", "supply_used", "supply_left", "drones")
_DERIVED = ("saturation", "bases_coming", "army_supply", "killed", "lost", "enemy_terran", "enemy_protoss")
KNOWN = tuple(feature.name for feature in FEATURES if feature.name in {*_COUNTED, *_READY, *_RESEARCHED, *_DERIVED})
"""The features that a replay holds, in the order of the policy's."""
_SCALES = {feature.name: feature.scale for feature in FEATURES}

_AHEAD_SECONDS = 30.0  # what is begun in this time tells the strategy
_ATTACK_SUPPLY = 4.0  # a scout that kills a worker is no attack
_FEW_DRONES = 16  # with no more than these and none coming, an attack is all in
_MANY_DRONES = 40  # beyond these, fighters are what TECH makes
_TECH = frozenset({"RoachWarren", "HydraliskDen", "EvolutionChamber", "Extractor", "ExtractorRich", "BanelingNest"})


def examples(path: str, at_most: int, starting_workers: int) -> dict[str, Any]:
    """The job of a worker: the examples of one replay file, a list of games of the people who won as Zerg."""
    recording = parse(read_bytes(Path(path), at_most))
    if why_nothing(recording):
        return {"games": []}
    first, second = recording.players
    return {
        "games": [
            {"states": states, "strategies": strategies}
            for me, other in ((first, second), (second, first))
            if me.race == "Z" and me.result == "Win" and not me.computer and me.starting_workers == starting_workers
            for states, strategies in [game_examples(recording, me, other)]
            if states
        ]
    }


def game_examples(recording: Recording, me: Player, other: Player) -> tuple[list[list[float]], list[int]]:
    """Scaled values of `KNOWN` at each snapshot of a player's game, and the number of the strategy that followed."""
    game = _followed(recording, me.number, other.number)
    ahead = round(_AHEAD_SECONDS * recording.frames_per_second)
    states, strategies = [], []
    for moment in game.moments:
        if moment.frame + ahead > recording.frames:
            break  # what would have followed is not in the file
        values = {**moment.values, "enemy_terran": float(other.race == "T"), "enemy_protoss": float(other.race == "P")}
        values["seconds"] = recording.seconds(moment.frame)
        states.append([round(min(max(values[name] / _SCALES[name], 0.0), MOST), 4) for name in KNOWN])
        strategies.append(STRATEGIES.index(_strategy(game, moment, moment.frame + ahead)))
    return states, strategies


@dataclass(frozen=True, slots=True)
class _Moment:
    frame: int
    values: dict[str, float]


@dataclass(slots=True)
class _Game:
    """One player's game: snapshots, and the (frame, what) of all that says which strategy was followed."""

    moments: list[_Moment] = field(default_factory=list)
    begun: list[tuple[int, str]] = field(default_factory=list)
    born: list[tuple[int, str]] = field(default_factory=list)
    kills: list[tuple[int, str]] = field(default_factory=list)  # nearer to the enemy's start than to one's own


def _strategy(game: _Game, moment: _Moment, until: int) -> str:
    """What the player was about, in the words of the bot's strategies; the first rule that fits."""
    begun = _between(game.begun, moment.frame, until)
    born = _between(game.born, moment.frame, until)
    fighters = sum(ARMY_SUPPLY.get(kind, 0.0) * count for kind, count in born.items())
    drones = moment.values["drones"]
    if _between(game.kills, moment.frame, until) and moment.values["army_supply"] >= _ATTACK_SUPPLY:
        return "ALL_IN" if drones <= _FEW_DRONES and not born["Drone"] else "ATTACK"
    if begun["Hatchery"]:
        return "EXPAND"
    if _TECH & begun.keys() or begun["Lair"]:
        return "TECH"
    if begun["SpineCrawler"]:
        return "DEFEND"
    if born["Drone"] >= fighters:
        return "ECONOMY"
    return "TECH" if drones >= _MANY_DRONES else "DEFEND"


def _between(events: list[tuple[int, str]], after: int, until: int) -> Counter[str]:
    low, high = bisect_right(events, after, key=lambda e: e[0]), bisect_right(events, until, key=lambda e: e[0])
    return Counter(what for _, what in events[low:high])


@dataclass(slots=True)
class _Watch:
    """Goes through the events of a game, counting what one player has."""

    me: int
    other: int
    game: _Game = field(default_factory=_Game)
    kinds: dict[int, str] = field(default_factory=dict)
    unfinished: set[int] = field(default_factory=set)
    theirs: set[int] = field(default_factory=set)
    known: set[str] = field(default_factory=set)
    home: dict[int, tuple[int, int]] = field(default_factory=dict)

    def appeared(self, event: Any) -> None:
        if event.frame == 0 and event.unit_type_name in RACES:
            self.home.setdefault(event.control_pid, event.location)
        if event.control_pid == self.other:
            self.theirs.add(event.unit_id)
        elif event.control_pid == self.me:
            self.kinds[event.unit_id] = event.unit_type_name
            if event.name == "UnitInitEvent":
                self.unfinished.add(event.unit_id)
                self.game.begun.append((event.frame, event.unit_type_name))
            elif event.frame > 0:
                self.game.born.append((event.frame, event.unit_type_name))

    def done(self, event: Any) -> None:
        self.unfinished.discard(event.unit_id)

    def changed(self, event: Any) -> None:
        if event.unit_id in self.kinds:
            self.kinds[event.unit_id] = event.unit_type_name
            if event.unit_type_name == "Lair":
                self.game.begun.append((event.frame, "Lair"))

    def died(self, event: Any) -> None:
        self.kinds.pop(event.unit_id, None)
        self.unfinished.discard(event.unit_id)
        if event.killing_player_id == self.me and event.unit_id in self.theirs:
            to_them, to_me = (math.dist(event.location, self.home[player]) for player in (self.other, self.me))
            if to_them < to_me:
                self.game.kills.append((event.frame, "kill"))

    def researched(self, event: Any) -> None:
        if event.pid == self.me:
            self.known.add(UPGRADES.get(event.upgrade_type_name, ""))

    def snapshot(self, event: Any) -> None:
        if event.pid == self.me:
            ready = Counter(kind for unit, kind in self.kinds.items() if unit not in self.unfinished)
            coming = sum(self.kinds.get(unit) == "Hatchery" for unit in self.unfinished)
            self.game.moments.append(_Moment(event.frame, _values(event, ready, coming, self.known)))


def _followed(recording: Recording, me: int, other: int) -> _Game:
    watch = _Watch(me, other)
    handlers = {
        "UnitBornEvent": watch.appeared,
        "UnitInitEvent": watch.appeared,
        "UnitDoneEvent": watch.done,
        "UnitTypeChangeEvent": watch.changed,
        "UnitDiedEvent": watch.died,
        "UpgradeCompleteEvent": watch.researched,
        "PlayerStatsEvent": watch.snapshot,
    }
    for event in recording.events:
        if (handle := handlers.get(event.name)) is not None:
            handle(event)
    return watch.game


def _values(event: Any, ready: Counter[str], bases_coming: int, known: set[str]) -> dict[str, float]:
    """The features at one of the game's snapshots, unscaled; the time and the enemy's race are added later."""
    values = {feature: float(sum(ready[kind] for kind in names)) for feature, names in _READY.items()}
    values |= {feature: float(upgrade in known) for feature, upgrade in _RESEARCHED.items()}
    army = sum(ARMY_SUPPLY.get(kind.removesuffix("Burrowed"), 0.0) * count for kind, count in ready.items())
    drones = float(event.workers_active_count)
    return values | {
        "minerals": float(event.minerals_current),
        "vespene": float(event.vespene_current),
        "mineral_rate": float(event.minerals_collection_rate),
        "vespene_rate": float(event.vespene_collection_rate),
        "supply_used": float(event.food_used),
        "supply_left": float(event.food_made - event.food_used),
        "drones": drones,
        "saturation": drones / (16 * values["bases"] + 3 * values["extractors"] + 1),
        "bases_coming": float(bases_coming),
        "army_supply": float(army),
        "killed": float(event.resources_killed),
        "lost": float(event.resources_lost),
    }
