from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("numba")

from games.zerg.small_games import Scene
from understudy.games.zerg import catalogue as units
from understudy.games.zerg.brain import Brain
from understudy.games.zerg.learned_openings import USUAL, Openings
from understudy.games.zerg.macro import Opening
from understudy.games.zerg.replays.build_orders import summarize, write_build_orders
from understudy.games.zerg.snapshot import MAKE
from understudy.games.zerg.strategies import NAMES

TERRAN, ZERG = 1, 2


def game(matchup: str = "ZvT", result: str = "Win", **milestones: tuple[float, float]) -> dict[str, Any]:
    return {
        "matchup": matchup,
        "result": result,
        "patch": "5.0.15.1",
        "kind": "ladder",
        "computer": False,
        "starting_workers": 12,
        "milestones": {name: list(pair) for name, pair in milestones.items()},
        "drones": [],
        "army_supply": [],
        "first_attack": None,
    }


def learned(folder: Path, *games: Mapping[str, Any]) -> Openings:
    path = folder / "learned_build_orders.json"
    assert write_build_orders(path, summarize({f"{number}": game for number, game in enumerate(games)}))
    return Openings(path)


EARLY = game(pool=(20.0, 13.0), gas_1=(40.0, 15.0))
GREEDY = game(hatchery_2=(45.0, 17.0), pool=(70.0, 19.0), gas_1=(75.0, 19.0), roach_warren=(170.0, 33.0))


def test_every_cluster_of_the_file_is_an_opening_with_its_win_rate(tmp_path: Path) -> None:
    openings = learned(tmp_path, EARLY, GREEDY, {**GREEDY, "result": "Loss"}).against(TERRAN)
    by_name = {opening.name: opening for opening in openings}
    assert set(by_name) == {"12 to 14 pool", "hatch-pool-gas, roaches"}
    greedy = by_name["hatch-pool-gas, roaches"]
    assert (greedy.hatchery, greedy.pool, greedy.gas) == (17, 19, 19)
    assert greedy.tech == ((units.ROACH_WARREN, 33),)
    assert openings[greedy] == 0.5
    assert openings[by_name["12 to 14 pool"]] > 0.6


def test_milestones_that_no_opening_has_come_from_all_games_of_the_match_up(tmp_path: Path) -> None:
    late = game(pool=(20.0, 13.0), hatchery_2=(100.0, 25.0), hatchery_3=(240.0, 44.0), lair=(300.0, 60.0))
    (opening,) = learned(tmp_path, late).against(TERRAN)
    assert opening.third_base == 44
    assert opening.tech == ((units.LAIR, 60),)


def test_a_match_up_without_games_and_an_unknown_race_have_the_openings_of_all(tmp_path: Path) -> None:
    openings = learned(tmp_path, EARLY, game("ZvP", hatchery_2=(45.0, 17.0)))
    assert {opening.name for opening in openings.against(TERRAN)} == {"12 to 14 pool"}
    assert len(openings.against(ZERG)) == len(openings.against(0)) == 2


def pool_is_begun(opening: Opening, strategy: str = "ECONOMY", more_drones: int = 2) -> bool:
    scene = Scene(minerals=400)
    scene.add({"Drone": more_drones})  # supply 14
    brain = Brain(scene.field, opening=opening)
    brain.observe(scene.snapshot())
    brain.decide(NAMES.index(strategy))
    return any(command.verb == MAKE and command.product == units.SPAWNING_POOL for command in brain.commands())


def test_another_file_is_another_opening(tmp_path: Path) -> None:
    (early,) = learned(tmp_path, EARLY).against(TERRAN)
    (greedy,) = learned(tmp_path, GREEDY).against(TERRAN)
    assert pool_is_begun(early)
    assert not pool_is_begun(greedy)


def test_a_pool_does_not_wait_for_more_drones_than_the_strategy_makes() -> None:
    late = Opening(pool=18)
    assert pool_is_begun(late, "ATTACK", more_drones=5)  # supply 17
    assert not pool_is_begun(late, "ATTACK", more_drones=4)
    assert not pool_is_begun(late, "ECONOMY", more_drones=5)


def test_tech_that_is_due_is_built_unless_the_bot_attacks() -> None:
    opening = Opening(tech=((units.ROACH_WARREN, 14),))

    def made(strategy: str) -> set[int]:
        scene = Scene(minerals=600)
        scene.add({"SpawningPool": 1, "Queen": 2, "Overlord": 3, "Drone": 4})
        brain = Brain(scene.field, opening=opening)
        brain.observe(scene.snapshot())
        brain.decide(NAMES.index(strategy))
        return {command.product for command in brain.commands() if command.verb == MAKE}

    assert units.ROACH_WARREN in made("ECONOMY")
    assert units.ROACH_WARREN not in made("ATTACK")


def test_without_a_file_the_usual_openings_are_played(tmp_path: Path) -> None:
    assert Openings(tmp_path / "nothing.json").against(TERRAN) == USUAL
    assert Opening() in USUAL


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        '{"schema": 99, "matchups": {"overall": {}}}',
        '{"schema": 1, "matchups": {"overall": {"clusters": 3}}}',
        '{"schema": 1, "matchups": {"overall": {"clusters": [{"name": "a", "opening": "soon", "win_rate": 1}]}}}',
    ],
)
def test_a_file_that_cannot_be_used_is_said(tmp_path: Path, content: str, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "learned_build_orders.json"
    path.write_text(content)
    assert Openings(path).against(TERRAN) == USUAL
    assert "standard openings" in caplog.text
