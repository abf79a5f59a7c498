from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("numba")

from games.zerg.small_games import Scene
from understudy.games.zerg import state
from understudy.games.zerg.brain import Brain
from understudy.games.zerg.direct.game import Opponent, StrategyGame
from understudy.games.zerg.state import FEATURES, MOST, NAMES, STATE_DIM, feature_table
from understudy.games.zerg.strategies import NAMES as STRATEGIES
from understudy.sc2.opponents import OpponentForecast


def test_features_have_names_of_their_own() -> None:
    assert STATE_DIM == len(set(NAMES)) == 56
    assert all(feature.scale > 0 and feature.meaning for feature in FEATURES)


def observed(scene: Scene) -> dict[str, float]:
    brain = Brain(scene.field)
    brain.observe(scene.snapshot())
    return dict(zip(NAMES, brain.state().tolist(), strict=True))


def test_features_are_the_measures_over_their_scales() -> None:
    scene = Scene(minerals=250, vespene=100)
    scene.add({"Roach": 4, "Zergling": 6, "SpawningPool": 1})
    seen = observed(scene)
    assert seen["minerals"] == pytest.approx(0.25)
    assert seen["vespene"] == pytest.approx(0.2)
    assert seen["roaches"] == pytest.approx(4 / 40)
    assert seen["army_supply"] == pytest.approx((4 * 2 + 6 * 0.5) / 100)
    assert seen["drones"] == pytest.approx(12 / 66)
    assert seen["pool"] == 1
    assert seen["threat"] == seen["enemy_army"] == 0


def test_an_enemy_near_a_base_is_a_threat_and_is_remembered_when_it_is_out_of_sight() -> None:
    scene = Scene()
    brain = Brain(scene.field)
    marines = scene.add({"Marine": 4}, player=1, near=scene.field.start)
    brain.observe(scene.snapshot())
    near = dict(zip(NAMES, brain.state().tolist(), strict=True))
    assert near["threat"] == pytest.approx(4 / 20)
    assert near["enemy_army"] == pytest.approx(4 / 60)
    assert near["enemy_terran"] == 1
    for slot in marines:
        scene.game.state["x"][slot], scene.game.state["y"][slot] = scene.field.enemy_start
    scene.game.step(1)
    brain.observe(scene.snapshot())
    gone = dict(zip(NAMES, brain.state().tolist(), strict=True))
    assert gone["threat"] == 0
    assert gone["enemy_army"] == pytest.approx(4 / 60)


def test_the_dead_are_forgotten() -> None:
    scene = Scene()
    brain = Brain(scene.field)
    marines = scene.add({"Marine": 4}, player=1, near=scene.field.start)
    brain.observe(scene.snapshot())
    for slot in marines[:3]:
        scene.game.destroy(slot)
    brain.observe(scene.snapshot())
    assert brain.state()[NAMES.index("enemy_army")] == pytest.approx(1 / 60)


@pytest.mark.slow
def test_no_feature_is_constant_over_a_few_games() -> None:
    rows = []
    dice = np.random.default_rng(0)
    # Opponents that between them attack early, defend, fly and expand, and one that leaves us time for everything.
    harmless = Opponent(1, 1, 5)
    for seed, (opponent, favourite) in enumerate(
        [(Opponent(1, 7, 2), 3), (Opponent(3, 7, 6), 2), (Opponent(1, 7, 4), 4), (harmless, 2)]
    ):
        kinds = 3 if opponent is harmless else 6  # ECONOMY, EXPAND and TECH never set out: that game lasts
        game = StrategyGame(opponent, seed=seed)
        for _ in range(200):
            choice = int(dice.integers(kinds)) if dice.random() < 0.3 else favourite
            turn = game.play(choice)
            rows.append(turn.state)
            if turn.result:
                break
    states = np.array(rows)
    assert states.min() >= 0
    assert states.max() <= MOST
    assert np.isfinite(states).all()
    # The opponent memory is empty in these games; its features are tested with it.
    constant = {name for name, spread in zip(NAMES, np.ptp(states, axis=0), strict=True) if spread == 0}
    known = {"opponent_rushes", "won_growing", "won_defending", "won_attacking", "won_all_in"}
    assert constant <= known | {f"best_{name.lower()}" for name in STRATEGIES}


def test_opponent_features_are_what_the_memory_says() -> None:
    scene = Scene()
    won = dict(zip(STRATEGIES, (0.25, 0.5, 0.125, 0.75, 1.0, 0.0), strict=True))
    brain = Brain(scene.field, expected=OpponentForecast(tuple(won.values()), 0.25))
    brain.observe(scene.snapshot())
    seen = dict(zip(NAMES, brain.state().tolist(), strict=True))
    assert seen["opponent_rushes"] == 0.25
    assert seen["won_growing"] == max(won["ECONOMY"], won["EXPAND"], won["TECH"])
    assert seen["won_defending"] == won["DEFEND"]
    assert seen["won_attacking"] == won["ATTACK"]
    assert seen["won_all_in"] == won["ALL_IN"]
    assert [name for name in STRATEGIES if seen[f"best_{name.lower()}"]] == ["ATTACK"]


def test_no_start_is_the_best_one_against_an_unknown_opponent() -> None:
    seen = observed(Scene())
    assert not any(seen[f"best_{name.lower()}"] for name in STRATEGIES)


def test_the_table_of_the_documentation_names_every_feature() -> None:
    assert all(f"`{name}`" in feature_table() for name in state.NAMES)


def test_the_documentation_has_the_table_of_the_code() -> None:
    page = Path(__file__).parents[3] / "docs" / "zerg-bot.md"
    assert feature_table() in page.read_text(encoding="utf-8")
