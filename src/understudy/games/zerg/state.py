"""The policy's input: named features, each divided by its scale so that most lie between 0 and 1."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from understudy.games.zerg import catalogue as units
from understudy.games.zerg.enemy_memory import EnemyMemory, EnemySummary
from understudy.games.zerg.snapshot import GameSnapshot, MapInfo, distance
from understudy.games.zerg.starcraft import PROTOSS, TERRAN
from understudy.games.zerg.strategies import NAMES as STRATEGY_NAMES
from understudy.sc2.opponents import OpponentForecast

_GROWING = ("ECONOMY", "EXPAND", "TECH")
MOST = 4.0  # features are clipped at this many scales


class Situation(NamedTuple):
    """Everything that a feature may depend on."""

    snapshot: GameSnapshot
    field: MapInfo
    memory: EnemyMemory
    known: EnemySummary
    strategy: int  # the current one
    expected: OpponentForecast  # from earlier games against this opponent
    front: float  # position of the army between home (0) and the enemy (1)
    threat: float  # supply of enemy fighters near our bases


class Feature(NamedTuple):
    """A named feature: its scale, its description and its function."""

    name: str
    scale: float
    meaning: str
    measure: Callable[[Situation], float]


def _count(kind: int) -> Callable[[Situation], float]:
    return lambda s: float(s.snapshot.ready[kind])


def _has(upgrade: int) -> Callable[[Situation], float]:
    return lambda s: float(upgrade in s.snapshot.upgrades)


def _in_force(strategy: int) -> Callable[[Situation], float]:
    return lambda s: float(s.strategy == strategy)


def _won(*names: str) -> Callable[[Situation], float]:
    starts = [STRATEGY_NAMES.index(name) for name in names]
    return lambda s: max(s.expected.won[start] for start in starts)


def _best_start(strategy: int) -> Callable[[Situation], float]:
    """Whether this strategy has the best record of all as a start of games against the opponent."""

    def measure(situation: Situation) -> float:
        won = situation.expected.won
        return float(won[strategy] == max(won) and won.count(max(won)) == 1)

    return measure


def _race(race: int) -> Callable[[Situation], float]:
    return lambda s: float((s.field.enemy_race or s.memory.race) == race)


def _coming_army(s: Situation) -> float:
    coming = s.snapshot.coming
    return float(coming[units.ZERGLING] * 0.5 + coming[units.ROACH] * 2 + coming[units.HYDRALISK] * 2)


def _ratio(s: Situation) -> float:
    return s.snapshot.army_supply / (s.snapshot.army_supply + s.known.army_supply + 1.0)


def _nearest_threat(s: Situation) -> float:
    """Closeness of the nearest visible enemy fighter to our start: 1 at it, 0 at the enemy's start or if none."""
    enemy = s.snapshot.enemy
    fighters = units.IS_ARMY[enemy.kind]
    if not fighters.any():
        return 0.0
    x, y = s.field.start
    nearest = float(np.hypot(enemy.x[fighters] - x, enemy.y[fighters] - y).min())
    return max(0.0, 1.0 - nearest / distance(s.field.start, s.field.enemy_start))


def _army_health(s: Situation) -> float:
    army = s.snapshot.army
    return float(s.snapshot.own.health[army].sum()) / len(army) if len(army) else 0.0


FEATURES: tuple[Feature, ...] = (
    Feature("seconds", 900, "game time", lambda s: s.snapshot.seconds),
    Feature("minerals", 1000, "minerals in the bank", lambda s: s.snapshot.minerals),
    Feature("vespene", 500, "vespene in the bank", lambda s: s.snapshot.vespene),
    Feature("mineral_rate", 2000, "minerals a minute", lambda s: s.snapshot.rate_minerals),
    Feature("vespene_rate", 800, "vespene a minute", lambda s: s.snapshot.rate_vespene),
    Feature("supply_used", 200, "supply used", lambda s: s.snapshot.supply_used),
    Feature("supply_left", 30, "supply left", lambda s: s.snapshot.supply_cap - s.snapshot.supply_used),
    Feature("larvae", 10, "larvae", _count(units.LARVA)),
    Feature("drones", 66, "drones", _count(units.DRONE)),
    Feature("saturation", 1, "drones over drones wanted", lambda s: s.snapshot.drones / (s.snapshot.wanted_drones + 1)),
    Feature("bases", 5, "finished bases", lambda s: float(len(s.snapshot.bases))),
    Feature("bases_coming", 2, "bases in construction", lambda s: float(s.snapshot.coming[units.HATCHERY])),
    Feature("extractors", 6, "extractors", _count(units.EXTRACTOR)),
    Feature("queens", 6, "queens", _count(units.QUEEN)),
    Feature("pool", 1, "spawning pool stands", _count(units.SPAWNING_POOL)),
    Feature("roach_warren", 1, "roach warren stands", _count(units.ROACH_WARREN)),
    Feature("lair", 1, "lair stands", _count(units.LAIR)),
    Feature("hydralisk_den", 1, "hydralisk den stands", _count(units.HYDRALISK_DEN)),
    Feature("spine_crawlers", 6, "spine crawlers", _count(units.SPINE_CRAWLER)),
    Feature("ling_speed", 1, "metabolic boost is researched", _has(units.LING_SPEED.id)),
    Feature("roach_speed", 1, "glial reconstitution is researched", _has(units.ROACH_SPEED.id)),
    Feature("missile_attack", 1, "missile attack 1 is researched", _has(units.MISSILE_1.id)),
    Feature("carapace", 1, "carapace 1 is researched", _has(units.CARAPACE_1.id)),
    Feature("zerglings", 40, "zerglings", _count(units.ZERGLING)),
    Feature("roaches", 40, "roaches", _count(units.ROACH)),
    Feature("hydralisks", 30, "hydralisks", _count(units.HYDRALISK)),
    Feature("army_supply", 100, "supply of the army", lambda s: s.snapshot.army_supply),
    Feature("army_coming", 20, "supply of the army in eggs", _coming_army),
    Feature("army_health", 1, "mean health of the army", _army_health),
    Feature("front", 1, "position of the army between home (0) and the enemy's start (1)", lambda s: s.front),
    Feature("killed", 5000, "value killed", lambda s: s.snapshot.killed_value),
    Feature("lost", 5000, "value lost", lambda s: s.snapshot.lost_value),
    Feature("enemy_army", 60, "supply of enemy fighters seen in the last 2 minutes", lambda s: s.known.army_supply),
    Feature("enemy_air", 30, "of it, flying", lambda s: s.known.air_supply),
    Feature("enemy_defence", 10, "strength of enemy static defence seen", lambda s: s.known.defence),
    Feature("enemy_bases", 4, "enemy bases seen", lambda s: float(s.known.bases)),
    Feature("enemy_structures", 20, "enemy structures seen", lambda s: float(s.known.structures)),
    Feature("enemy_tier", 3, "highest enemy tech tier seen", lambda s: float(s.memory.most_tier)),
    Feature("enemy_terran", 1, "the enemy is Terran", _race(TERRAN)),
    Feature("enemy_protoss", 1, "the enemy is Protoss", _race(PROTOSS)),
    Feature("army_ratio", 1, "own army over both armies, as known", _ratio),
    Feature("threat", 20, "supply of enemy fighters near our bases", lambda s: s.threat),
    Feature("threat_near", 1, "closeness of the nearest visible enemy fighter", _nearest_threat),
    Feature("opponent_rushes", 1, "share of games in which this opponent attacked early", lambda s: s.expected.rushes),
    Feature("won_growing", 1, "win rate against it after starts with ECONOMY, EXPAND or TECH", _won(*_GROWING)),
    Feature("won_defending", 1, "the same with DEFEND", _won("DEFEND")),
    Feature("won_attacking", 1, "the same with ATTACK", _won("ATTACK")),
    Feature("won_all_in", 1, "the same with ALL_IN", _won("ALL_IN")),
    *(
        Feature(f"best_{name.lower()}", 1, f"{name} has the best record of all as a start against it", _best_start(n))
        for n, name in enumerate(STRATEGY_NAMES)
    ),
    Feature("attacking", 1, "the current strategy is ATTACK", _in_force(STRATEGY_NAMES.index("ATTACK"))),
    Feature("all_in", 1, "the current strategy is ALL_IN", _in_force(STRATEGY_NAMES.index("ALL_IN"))),
)
NAMES = tuple(feature.name for feature in FEATURES)
STATE_DIM = len(FEATURES)
_SCALES = np.array([feature.scale for feature in FEATURES], np.float64)


def state_vector(situation: Situation) -> NDArray[np.float32]:
    """The features, scaled, clipped and finite."""
    raw = np.array([feature.measure(situation) for feature in FEATURES], np.float64)
    return np.minimum(np.maximum(raw / _SCALES, 0.0), MOST).astype(np.float32)


def feature_table() -> str:
    """The features as a Markdown table, for the documentation."""
    rows = [f"| {n} | `{f.name}` | {f.scale:g} | {f.meaning} |" for n, f in enumerate(FEATURES)]
    return "\n".join(["| # | feature | scale | meaning |", "|---|---|---|---|", *rows])
