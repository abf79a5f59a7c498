from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from games.zerg.replays.recordings import (
    born,
    died,
    event,
    loaded,
    needs_real_replays,
    real_replays,
    recording,
    started,
    upgrade,
)
from games.zerg.replays.recordings import done as finished
from understudy.games.zerg.replays.examples import KNOWN, examples, game_examples
from understudy.games.zerg.state import FEATURES, NAMES
from understudy.games.zerg.strategies import NAMES as STRATEGIES

FPS = 22.4


def snapshot(seconds: float, drones: int = 20, player: int = 1, **more: float) -> SimpleNamespace:
    facts: dict[str, Any] = {
        "minerals_current": 100,
        "vespene_current": 50,
        "minerals_collection_rate": 900,
        "vespene_collection_rate": 160,
        "food_used": 30.0,
        "food_made": 36.0,
        "workers_active_count": drones,
        "resources_killed": 500,
        "resources_lost": 250,
    }
    return event("PlayerStats", round(seconds * FPS), pid=player, **facts | more)


def played(*events: SimpleNamespace, races: str = "ZT") -> tuple[list[list[float]], list[str]]:
    """The examples of player 1, with strategies by name; the snapshot that `recording` adds itself is left out."""
    made = recording(*events, races=races)
    made.events[:] = [e for e in made.events if e.name != "PlayerStatsEvent" or hasattr(e, "minerals_current")]
    states, strategies = game_examples(made, *made.players)
    return states, [STRATEGIES[number] for number in strategies]


def at(seconds: float) -> int:
    return round(seconds * FPS)


def test_a_snapshot_becomes_the_policys_own_features() -> None:
    events = (
        started(at(20), 1, "SpawningPool"),
        finished(at(70), 1),
        started(at(80), 2, "Hatchery"),
        born(at(90), 3, "Zergling"),
        born(at(91), 4, "Roach"),
        born(at(92), 5, "Roach"),
        died(at(95), 5, killer=2),
        upgrade(at(96), "zerglingmovementspeed"),
        snapshot(100),
    )
    ((state,), _) = played(*events, races="ZP")
    scales = {feature.name: feature.scale for feature in FEATURES}
    values = {name: value * scales[name] for name, value in zip(KNOWN, state, strict=True)}
    expected = {
        **{"seconds": 100, "minerals": 100, "vespene": 50, "mineral_rate": 900, "supply_left": 6, "drones": 20},
        **{"bases": 1, "bases_coming": 1, "pool": 1, "zerglings": 1, "roaches": 1, "army_supply": 2.5, "lair": 0},
        **{"killed": 500, "lost": 250, "ling_speed": 1, "enemy_protoss": 1, "enemy_terran": 0},
    }
    assert {name: values[name] for name in expected} == pytest.approx(expected, abs=0.1)
    assert set(KNOWN) < set(NAMES)


@pytest.mark.parametrize(
    ("strategy", "events"),
    [
        ("EXPAND", [started(at(110), 9, "Hatchery"), started(at(111), 10, "Extractor")]),
        ("TECH", [started(at(110), 9, "RoachWarren")]),
        ("DEFEND", [started(at(110), 9, "SpineCrawler")]),
        ("DEFEND", [born(at(110), 9, "Roach")]),
        ("ECONOMY", [born(at(110), 9, "Drone"), born(at(110), 10, "Zergling")]),
        ("ECONOMY", []),
        ("EXPAND", [started(at(129), 9, "Hatchery")]),
        ("ECONOMY", [started(at(131), 9, "Hatchery")]),  # too late to tell
    ],
)
def test_the_strategy_is_told_by_what_follows(strategy: str, events: list[SimpleNamespace]) -> None:
    assert played(snapshot(100), *events)[1] == [strategy]


def test_an_attack_is_a_kill_on_the_enemys_side_and_without_drones_it_is_all_in() -> None:
    army = [born(at(50), 20 + n, "Roach") for n in range(3)]
    enemy, kill = born(at(10), 60, "SCV", player=2), died(at(110), 60, killer=1, at=(80, 80))
    assert played(*army, enemy, snapshot(100), kill)[1] == ["ATTACK"]
    assert played(*army, enemy, snapshot(100, drones=14), kill)[1] == ["ALL_IN"]
    assert played(*army, enemy, snapshot(100, drones=14), kill, born(at(120), 61, "Drone"))[1] == ["ATTACK"]
    assert played(*army, enemy, snapshot(100), died(at(110), 60, killer=1, at=(20, 20)))[1] == ["ECONOMY"]
    assert played(enemy, snapshot(100), kill)[1] == ["ECONOMY"]  # a scout


def test_what_would_have_followed_the_end_is_not_guessed() -> None:
    assert played(snapshot(569), snapshot(571))[1] == ["ECONOMY"]


@needs_real_replays
def test_only_winners_of_todays_game_are_imitated() -> None:
    small = [path for path in real_replays() if path.stat().st_size < 60_000]
    for path in small:
        winners = [
            player
            for player in loaded(path).players
            if player.race == "Z" and player.result == "Win" and not player.computer and player.starting_workers == 12
        ]
        games = examples(str(path), 10**8, 12)["games"]
        assert len(games) <= len(winners)
        assert all(len(state) == len(KNOWN) for game in games for state in game["states"])
        assert all(len(game["states"]) == len(game["strategies"]) for game in games)
