from __future__ import annotations

from collections import Counter

import pytest

from games.zerg.replays.recordings import (
    born,
    changed,
    died,
    done,
    egg,
    loaded,
    needs_real_replays,
    real_replays,
    recording,
    started,
    stats,
    upgrade,
)
from understudy.games.zerg.replays.loading import ParsedReplay
from understudy.games.zerg.replays.milestones import Observation, observe, why_nothing
from understudy.games.zerg.replays.vocabulary import NUMBERED, SINGLE, UPGRADES


def one(game: ParsedReplay) -> Observation:
    (observation,) = observe(game)
    return observation


def test_supply_is_the_last_snapshot_and_what_changed_since() -> None:
    game = recording(
        *egg(20, 1, 300, (101, "Drone")),
        *egg(170, 2, 500, (102, "Zergling"), (103, "Zergling")),
        stats(160, 13, 12),
        started(200, 50, "SpawningPool"),
        started(210, 51, "Extractor"),
    )
    milestones = one(game).milestones
    assert milestones["pool"] == (round(200 / 22.4, 2), 14.0)  # 13 and a pair of zerglings in their egg
    assert milestones["gas_1"] == (round(210 / 22.4, 2), 13.0)  # a drone has become the pool


def test_the_clock_is_that_of_the_version() -> None:
    assert one(recording(started(1600, 50, "SpawningPool"), fps=16.0)).milestones["pool"][0] == 100.0
    assert one(recording(started(2240, 50, "SpawningPool"), fps=22.4)).milestones["pool"][0] == 100.0


def test_a_cancelled_structure_is_none_and_gives_its_drone_back() -> None:
    game = recording(
        started(100, 50, "Extractor"),
        died(110, 50, killer=1),
        started(120, 51, "Hatchery"),
        done(1700, 51),
        died(1700, 3),
    )
    observation = one(game)
    assert "gas_1" not in observation.milestones
    assert observation.milestones["hatchery_2"][1] == 12.0
    assert observation.counts == {"hatchery": 2}


def test_a_structure_that_the_enemy_kills_was_begun_all_the_same() -> None:
    observation = one(recording(started(100, 50, "Hatchery"), died(150, 50, killer=2)))
    assert "hatchery_2" in observation.milestones


def test_queens_and_lairs_are_dated_by_their_beginning() -> None:
    game = recording(born(2000, 60, "Queen"), changed(9000, 9000, "Lair"), changed(15000, 9000, "Hive"))
    milestones = one(game).milestones
    assert milestones["queen_1"][0] == round(1200 / 22.4, 2)
    assert milestones["lair"][0] == round(7720 / 22.4, 2)
    assert milestones["hive"][0] == round(13400 / 22.4, 2)


def test_an_overlord_is_dated_by_its_egg() -> None:
    assert one(recording(*egg(280, 1, 680, (101, "Overlord")))).milestones["overlord_1"][0] == 12.5


def test_upgrades_are_dated_by_their_end_and_decoration_is_none() -> None:
    game = recording(upgrade(5000, "zerglingmovementspeed"), upgrade(10, "SprayZerg"), upgrade(10, "RewardDanceRoach"))
    assert set(one(game).milestones) == {"metabolic_boost"}


def test_drones_and_army_by_minute() -> None:
    minute = round(60 * 22.4)
    game = recording(
        stats(minute - 10, 20, 17),
        *egg(100, 1, minute - 5, (101, "Roach")),
        stats(2 * minute - 10, 30, 25),
        *egg(100, 2, minute + 5, (102, "Zergling"), (103, "Zergling")),
        died(2 * minute + 5, 101, killer=2),
        seconds=185,
    )
    observation = one(game)
    assert observation.drones == [17, 25, 25]
    assert observation.army_supply == [2, 3, 1]


def test_a_burrowed_unit_is_still_army() -> None:
    game = recording(*egg(5, 1, 100, (101, "Roach")), changed(200, 101, "RoachBurrowed"), seconds=61)
    assert one(game).army_supply == [2]


def test_the_first_attack_is_a_kill_on_their_side_of_the_map() -> None:
    scout, marine = born(10, 200, "SCV", 2), born(20, 201, "Marine", 2)
    game = recording(scout, marine, died(500, 200, killer=1, at=(15, 15)), died(2240, 201, killer=1, at=(80, 80)))
    assert one(game).first_attack == 100.0
    assert one(recording(scout, died(500, 200, killer=1, at=(15, 15)))).first_attack is None


def test_both_players_of_a_mirror_are_observed() -> None:
    game = recording(started(100, 50, "SpawningPool"), started(400, 51, "SpawningPool", player=2), races="ZZ")
    first, second = observe(game)
    assert (first.matchup, first.result, second.result) == ("ZvZ", "Win", "Loss")
    assert first.milestones["pool"][0] < second.milestones["pool"][0]


@pytest.mark.parametrize(
    ("races", "reason"), [("TP", "no Zerg player"), ("ZTZ", "3 players"), ("Z", "1 players: not a 1v1 game")]
)
def test_games_that_teach_nothing_say_why(races: str, reason: str) -> None:
    game = recording(started(100, 50, "SpawningPool"), races=races)
    assert observe(game) == []
    assert reason in (why_nothing(game) or "")


@needs_real_replays
def test_what_the_tracker_events_hold_is_found() -> None:
    """Counted a second way: starts less cancellations, finished queens, lairs and upgrades, straight off the events."""
    expected: Counter[str] = Counter()
    found: Counter[str] = Counter()
    for path in real_replays():
        game = loaded(path)
        observations = observe(game)
        zerg = [player.number for player in game.players if player.race == "Z"]
        for number, observation in zip(zerg, observations, strict=True):
            mine = [e for e in game.events if getattr(e, "control_pid", getattr(e, "pid", None)) == number]
            finished = {e.unit_id for e in game.events if e.name == "UnitDoneEvent"}
            withdrawn = {
                e.unit_id for e in game.events if e.name == "UnitDiedEvent" and e.killing_player_id in (None, number)
            } - finished
            halls = {e.unit_id for e in mine if getattr(e, "unit_type_name", "") in ("Hatchery", "Spire")}
            names = [e.unit_type_name for e in mine if e.name == "UnitInitEvent" and e.unit_id not in withdrawn]
            names += [e.unit_type_name for e in mine if e.name == "UnitBornEvent" and e.unit_type_name == "Queen"]
            names += [e.unit_type_name for e in game.events if e.name == "UnitTypeChangeEvent" and e.unit_id in halls]
            counts = Counter(
                NUMBERED[name][0] if name in NUMBERED else SINGLE[name]
                for name in names
                if name in NUMBERED or name in SINGLE
            )
            counts += Counter(
                UPGRADES[e.upgrade_type_name]
                for e in mine
                if e.name == "UpgradeCompleteEvent" and e.upgrade_type_name in UPGRADES
            )
            counts["hatchery"] += 1
            expected += counts
            found += counts & Counter(observation.counts)
    assert sum(expected.values()) > 700
    assert sum(found.values()) / sum(expected.values()) >= 0.95, expected - found


@needs_real_replays
def test_a_professional_opening_reads_as_players_know_it() -> None:
    (path,) = [p for p in real_replays() if "Serral_vs_Dark" in p.name]
    dark, serral = observe(loaded(path))
    assert [round(serral.milestones[m][1]) for m in ("overlord_1", "hatchery_2", "gas_1", "pool")] == [13, 16, 18, 17]
    assert serral.milestones["pool"][0] == pytest.approx(72.8, abs=0.1)
    assert dark.milestones["pool"][1] == 12
    assert (serral.result, dark.result) == ("Win", "Loss")
