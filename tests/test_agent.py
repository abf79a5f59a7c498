from __future__ import annotations

import copy
import enum
import errno
import gc
import json
import logging
import math
import pickle
import shutil
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from understudy import RLAgent, read_episode
from understudy.agent import Decision
from understudy.errors import EpisodeError, ModelMismatch, ModelMissing, RunDirError, SettingsError
from understudy.experience.episode import Episode
from understudy.experience.journal import orphans
from understudy.ledger.connection import Ledger
from understudy.models.live import LiveModel
from understudy.models.store import ModelStore
from understudy.run.status import write_status
from understudy.rundir import RunDir
from understudy.settings import Settings, StorageSettings, TrainingSettings

LABELS = ("LEFT", "RIGHT", "STAY")


def agent_at(run_dir: Path | None, **options: Any) -> RLAgent:
    return RLAgent(4, LABELS, run_dir=run_dir, **{"hidden": (8,), "online_training": False, "seed": 1, **options})


def play(agent: RLAgent, steps: int = 10, seed: int = 0, result: str = "Victory", **end: Any) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    for _ in range(steps):
        agent.select_action(rng.standard_normal(4))
        agent.observe_reward(float(rng.standard_normal()))
    return agent.end_episode(result, **end)


def saved_game(stats: dict[str, Any]) -> Episode:
    return read_episode(stats["saved"], StorageSettings())


def test_a_decision_says_what_to_do_and_how_sure_the_policy_was(tmp_path: Path) -> None:
    agent = agent_at(tmp_path, settings=Settings(training=TrainingSettings(exploration=0.0)))
    decision = agent.select_action([1, 2, 3, 4])
    assert isinstance(decision, Decision)
    assert decision.label == LABELS[decision.action]
    assert 0 < decision.probability <= 1
    assert math.isfinite(decision.value)
    greedy = [agent.select_action([1, 2, 3, 4], explore=False) for _ in range(5)]
    assert len({choice.action for choice in greedy}) == 1


def test_a_game_is_saved_with_everything_the_learner_needs(tmp_path: Path) -> None:
    agent = agent_at(tmp_path, features=("a", "b", "c", "d"))
    agent.begin_episode(map="Acropolis", opponent_id="bot42")
    decisions = [agent.select_action([t, 0, 0, 0]) for t in range(5)]
    stats = agent.end_episode("Defeat", opponent_race="Terran", difficulty="Hard")
    assert stats["saved"].parent == tmp_path / "data" / "buffer"
    assert stats["saved"].name.startswith("game_2")
    assert "_Defeat_" in stats["saved"].name
    game = saved_game(stats)
    assert game.states[:, 0].tolist() == [0, 1, 2, 3, 4]
    assert game.actions.tolist() == [decision.action for decision in decisions]
    assert game.log_probs is not None
    np.testing.assert_allclose(np.exp(game.log_probs), [decision.probability for decision in decisions], rtol=1e-5)
    assert game.values is not None
    np.testing.assert_allclose(game.values, [decision.value for decision in decisions], rtol=1e-5)
    meta = game.meta
    assert (meta.map, meta.opponent_id, meta.opponent_race, meta.result) == ("Acropolis", "bot42", "Terran", "Defeat")
    assert (meta.model_version, meta.actions, meta.extra) == (1, LABELS, {"difficulty": "Hard"})
    assert list((tmp_path / "data" / "buffer" / "live").iterdir()) == []


def test_a_reward_is_credited_to_the_decision_before_it(tmp_path: Path) -> None:
    agent = agent_at(tmp_path)
    for t in range(4):
        agent.select_action([0, 0, 0, 0])
        agent.observe_reward(t)
        agent.observe_reward(0.5)
    stats = agent.end_episode("Victory")
    assert saved_game(stats).rewards.tolist() == [0.5, 1.5, 2.5, 3.5]
    assert stats["total_reward"] == 8.0


def test_exploration_is_part_of_the_recorded_probability(tmp_path: Path) -> None:
    agent = agent_at(tmp_path, settings=Settings(training=TrainingSettings(exploration=1.0)))
    probabilities = {agent.select_action(np.random.default_rng(t).normal(size=4)).probability for t in range(20)}
    assert {round(p, 6) for p in probabilities} == {round(1 / 3, 6)}
    masked = agent.select_action([0, 0, 0, 0], legal=[True, False, True])
    assert masked.probability == pytest.approx(0.5)


def test_illegal_actions_are_never_taken_and_the_mask_is_saved(tmp_path: Path) -> None:
    agent = agent_at(tmp_path, settings=Settings(training=TrainingSettings(exploration=0.5)))
    masks = [np.array(m, bool) for m in ([1, 0, 0], [0, 1, 1], [1, 0, 1])] * 30
    taken = [agent.select_action([0, 0, 0, 0], legal=mask).action for mask in masks]
    assert all(mask[action] for mask, action in zip(masks, taken, strict=True))
    game = saved_game(agent.end_episode("Tie"))
    assert game.legal is not None
    np.testing.assert_array_equal(game.legal, masks)


def test_a_game_that_was_cut_keeps_the_state_it_was_cut_in(tmp_path: Path) -> None:
    agent = agent_at(tmp_path)
    game = saved_game(play(agent, final_state=[9, 8, 7, 6]))
    assert game.final_state is not None
    assert game.final_state.tolist() == [9, 8, 7, 6]
    assert game.meta.truncated


@pytest.mark.parametrize(
    ("names", "broken"), [(None, "feature 1, feature 3"), (("minerals", "gas", "supply", "time"), "gas, time")]
)
def test_broken_features_and_rewards_do_not_end_the_game(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, names: tuple[str, ...] | None, broken: str
) -> None:
    agent = agent_at(tmp_path, features=names)
    with caplog.at_level(logging.WARNING):
        agent.observe_reward(1.0)
        agent.select_action([1, math.nan, 2, math.inf])
        agent.observe_reward(math.nan)
        agent.observe_reward(2.0)
        stats = agent.end_episode("Victory")
    assert "before the first decision" in caplog.text
    assert f"counted as 0: {broken}." in caplog.text
    game = saved_game(stats)
    assert game.states.tolist() == [[1, 0, 2, 0]]
    assert game.rewards.tolist() == [2.0]


def test_ending_a_game_that_never_began_saves_nothing(tmp_path: Path) -> None:
    stats = agent_at(tmp_path).end_episode("Defeat")
    assert stats["steps"] == 0
    assert list((tmp_path / "data" / "buffer").glob("*.npz")) == []


def test_a_state_of_the_wrong_size_is_an_error_that_says_so(tmp_path: Path) -> None:
    agent = agent_at(tmp_path)
    for wrong in ([1, 2, 3], [7], np.ones((1, 4))):
        with pytest.raises(ValueError, match="A state has 4 features here"):
            agent.select_action(wrong)


def test_a_mask_that_allows_nothing_or_does_not_fit_is_an_error_that_says_so(tmp_path: Path) -> None:
    agent = agent_at(tmp_path)
    with pytest.raises(ValueError, match="allows 0 of 3 actions"):
        agent.select_action([0, 0, 0, 0], legal=[False] * 3)
    for wrong in ([True] * 2, [True] * 4):
        with pytest.raises(ValueError, match=r"True or False for each of the 3 actions, not \d values"):
            agent.select_action([0, 0, 0, 0], legal=wrong)


def test_experience_can_be_saved_elsewhere_and_trained_from_in_any_form(tmp_path: Path) -> None:
    agent = agent_at(tmp_path / "run")
    assert agent.save_experience_data(tmp_path / "none.npz") is False
    stats = play(agent)
    assert agent.save_experience_data(tmp_path / "mine.npz") is True
    plain: dict[str, Any] = {"states": np.ones((5, 4)), "actions": np.zeros(5, int), "rewards": np.ones(5)}
    np.savez(tmp_path / "plain.npz", **plain)
    with np.load(tmp_path / "mine.npz") as opened, np.load(tmp_path / "plain.npz") as simple:
        trained = agent.train_from_batch([opened, simple, plain, saved_game(stats)])
    assert trained["total_steps"] == 10 + 5 + 5 + 10
    assert math.isfinite(trained["loss"])
    with pytest.raises(EpisodeError, match="3 features"):
        agent.train_from_batch([{**plain, "states": np.ones((5, 3))}])
    assert agent.train_from_batch([])["total_steps"] == 0


def test_the_model_that_is_trained_is_the_model_that_plays(tmp_path: Path) -> None:
    agent = agent_at(tmp_path, settings=Settings(training=TrainingSettings(learning_rate=0.02, gamma=0.0)))
    state = [1.0, -1.0, 0.5, 0.0]
    lesson = {
        "states": np.tile(state, (64, 1)),
        "actions": np.arange(64) % 3,
        "rewards": (np.arange(64) % 3 == 2) * 1.0,
    }
    for _ in range(30):
        agent.train_from_batch([lesson])
    assert agent.select_action(state, explore=False).label == "STAY"
    assert agent.select_action(state, explore=False).probability > 0.8


def test_a_model_saved_and_loaded_continues_bit_for_bit(tmp_path: Path) -> None:
    def lesson(seed: int) -> dict[str, Any]:
        rng = np.random.default_rng(seed)
        return {"states": rng.normal(size=(30, 4)), "actions": rng.integers(0, 3, 30), "rewards": rng.normal(size=30)}

    def go_on(agent: RLAgent) -> list[Any]:
        for seed in range(3, 6):
            agent.train_from_batch([lesson(seed)])
        rng = np.random.default_rng(9)
        decisions = [agent.select_action(rng.normal(size=4)) for _ in range(20)]
        return [agent.export_arrays(), decisions]

    whole = agent_at(tmp_path / "a")
    for seed in range(3):
        whole.train_from_batch([lesson(seed)])
    [whole.select_action([0, 0, 0, 0]) for _ in range(7)]  # the generator is in the middle of its sequence
    whole.end_episode("Tie")
    assert whole.save_model(tmp_path / "copy.npz") is True
    other = agent_at(tmp_path / "b")
    assert other.load_model(tmp_path / "copy.npz") is True
    first, second = go_on(whole), go_on(other)
    assert first[1] == second[1]
    for name, array in first[0].items():
        np.testing.assert_array_equal(array, second[0][name], err_msg=name)


def test_the_same_seed_and_input_give_the_same_run(tmp_path: Path) -> None:
    def actions(folder: str) -> list[Decision]:
        agent = agent_at(tmp_path / folder)
        rng = np.random.default_rng(0)
        return [agent.select_action(rng.normal(size=4)) for _ in range(50)]

    assert actions("a") == actions("b")


def test_a_restarted_bot_goes_on_with_its_random_numbers(tmp_path: Path) -> None:
    def decisions(agent: RLAgent) -> list[int]:
        taken = [agent.select_action([0, 0, 0, 0]).action for _ in range(40)]
        agent.end_episode("Tie")
        return taken

    lasting = agent_at(tmp_path / "a")
    uninterrupted = decisions(lasting) + decisions(lasting)
    restarted = decisions(agent_at(tmp_path / "b")) + decisions(agent_at(tmp_path / "b"))
    assert restarted == uninterrupted
    assert restarted[:40] != restarted[40:]


def test_exploration_goes_on_where_it_was_after_a_restart(tmp_path: Path) -> None:
    training = TrainingSettings(exploration=0.8, exploration_final=0.1, exploration_half_life=2)
    agent = agent_at(tmp_path, online_training=True, settings=Settings(training=training))
    assert agent.exploration == pytest.approx(0.8)
    for seed in range(4):
        play(agent, seed=seed)
    assert agent.exploration == pytest.approx(0.1 + 0.7 / 4)
    assert agent_at(tmp_path, hidden=None).exploration == pytest.approx(0.1 + 0.7 / 4)


def test_without_a_learner_the_bot_learns_online_and_the_game_is_marked(tmp_path: Path) -> None:
    agent = agent_at(tmp_path, online_training="auto")
    stats = play(agent)
    assert stats["trained_online"] is True
    assert agent.model_version == 2
    assert stats["saved"].parent == tmp_path / "data" / "archive"
    assert saved_game(stats).meta.trained_online
    with Ledger(tmp_path / "understudy.sqlite") as ledger:
        ((game, outcome, version),) = ledger.games()
        assert (game.id, outcome, version) == (stats["episode_id"], "online", 2)
        assert ledger.archive_size() == (1, stats["saved"].stat().st_size)


@pytest.mark.parametrize(
    ("state", "age", "online"), [("running", 0, False), ("stopped", 0, True), ("running", 60, True)]
)
def test_auto_leaves_the_game_to_a_learner_whose_heart_beats(
    tmp_path: Path, state: str, age: float, online: bool
) -> None:
    agent = agent_at(tmp_path, online_training="auto")
    write_status(RunDir.at(tmp_path).status, {"state": state, "heartbeat": time.time() - age})
    assert play(agent)["trained_online"] is online


@pytest.mark.slow
def test_online_games_do_not_fill_the_disk(tmp_path: Path) -> None:
    agent = agent_at(tmp_path, online_training=True, settings=Settings(storage=StorageSettings(archive_games=3)))
    for seed in range(8):
        play(agent, seed=seed)
    assert len(list((tmp_path / "data" / "archive").iterdir())) == 3
    assert list((tmp_path / "data" / "buffer").glob("*.npz")) == []


def test_a_newer_model_is_picked_up_at_the_next_game(tmp_path: Path) -> None:
    agent, other = agent_at(tmp_path), agent_at(tmp_path)
    assert agent.reload_if_newer() is False
    other.train_from_batch([{"states": np.ones((5, 4)), "actions": np.zeros(5, int), "rewards": np.ones(5)}])
    other.save_model()
    assert other.model_version == 2
    stats = play(agent)
    assert (agent.model_version, saved_game(stats).meta.model_version) == (2, 2)
    for name, array in other.export_arrays().items():
        np.testing.assert_array_equal(agent.export_arrays()[name], array)


def test_training_here_survives_a_reload(tmp_path: Path) -> None:
    agent, other = agent_at(tmp_path), agent_at(tmp_path)
    lesson = {"states": np.ones((5, 4)), "actions": np.zeros(5, int), "rewards": np.ones(5)}
    agent.train_from_batch([lesson])
    other.train_from_batch([lesson])
    other.save_model()
    assert agent.reload_if_newer() is True
    agent.save_model()
    assert (
        ModelStore(tmp_path / "models" / "rl_agent_model.npz", tmp_path / "understudy.sqlite").load().counters["games"]
        == 2
    )


def test_weights_loaded_from_elsewhere_are_what_save_model_publishes(tmp_path: Path) -> None:
    donor = agent_at(tmp_path / "donor", seed=7)
    donor.save_model(tmp_path / "donor.npz")
    agent = agent_at(tmp_path / "run", seed=8)
    agent.load_model(tmp_path / "donor.npz")
    agent.save_model()
    published = agent_at(tmp_path / "run", seed=9).export_arrays()["parameters"]
    np.testing.assert_allclose(published, donor.export_arrays()["parameters"], atol=1e-6)


def test_the_published_model_knows_the_names_of_the_features_and_keeps_them(tmp_path: Path) -> None:
    nameless = agent_at(tmp_path)
    assert nameless._model.feature_name(2) == "feature 2"
    agent_at(tmp_path, features=("a", "b", "c", "d"))
    play(agent_at(tmp_path, online_training=True))
    store = ModelStore(RunDir.at(tmp_path).model, RunDir.at(tmp_path).ledger)
    assert [LiveModel(store.load()).feature_name(index) for index in (0, 3)] == ["a", "d"]
    play(nameless)
    nameless.train_from_batch([nameless._last])  # type: ignore[list-item]
    nameless.save_model()  # merged into a version that knows them
    store.rollback(1)  # a version from before
    assert store.load().features == ("a", "b", "c", "d")


def test_another_architecture_or_feature_list_is_refused_with_what_differs(tmp_path: Path) -> None:
    agent_at(tmp_path, features=("a", "b", "c", "d"))
    with pytest.raises(ModelMismatch, match=r"hidden: \(8,\) there, \(16,\) here"):
        agent_at(tmp_path, hidden=(16,))
    with pytest.raises(ModelMismatch, match="policy: 'mlp' there, 'transformer' here"):
        agent_at(tmp_path, policy="transformer")
    with pytest.raises(ModelMismatch, match="another list of features"):
        agent_at(tmp_path, features=("e", "f", "g", "h"))
    with pytest.raises(ModelMismatch, match="hidden"):  # weights could follow names, but not to another architecture
        agent_at(tmp_path, features=("a", "b", "d", "c"), hidden=(16,))
    assert agent_at(tmp_path, hidden=None).model_version == 1  # what is not said is taken from the model


def test_changed_training_settings_reach_the_model(tmp_path: Path) -> None:
    agent_at(tmp_path)
    agent = agent_at(tmp_path, learning_rate=0.005)
    assert agent.model_version == 2
    store = ModelStore(tmp_path / "models" / "rl_agent_model.npz", tmp_path / "understudy.sqlite")
    assert store.load().training.learning_rate == 0.005
    assert agent_at(tmp_path).model_version == 2


def test_loading_where_there_is_no_model_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ModelMissing, match=r"none\.npz"):
        agent_at(tmp_path).load_model(tmp_path / "none.npz")


def test_without_a_run_directory_everything_stays_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    agent = agent_at(None)
    stats = play(agent)
    assert (stats["saved"], stats["steps"]) == (None, 10)
    assert agent.reload_if_newer() is False
    with pytest.raises(RunDirError, match="needs a path"):
        agent.save_model()
    agent.save_model(tmp_path / "model.npz")
    assert [path.name for path in tmp_path.iterdir()] == ["model.npz"]


def test_an_evaluation_leaves_no_experience(tmp_path: Path) -> None:
    agent = agent_at(tmp_path, record=False, online_training=True)
    stats = play(agent)
    assert (stats["saved"], stats["trained_online"], agent.model_version) == (None, False, 1)
    assert list((tmp_path / "data" / "buffer").glob("**/*.*")) == []


def test_a_game_that_cannot_be_saved_is_kept_and_saved_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    run, away = tmp_path / "run", tmp_path / "away"
    agent = agent_at(run)
    agent.select_action([1, 0, 0, 0])
    try:
        run.rename(away)
    except PermissionError:
        pytest.skip("this system does not let a folder with open files be moved")
    with caplog.at_level(logging.WARNING):
        first = agent.end_episode("Victory")
        play(agent)
    assert first["saved"] is None
    assert "cannot be saved" in caplog.text
    assert "was moved or deleted: put it back" in caplog.text
    assert not run.exists(), "no second run is begun in its place"
    away.rename(run)
    play(agent)
    assert len(list((run / "data" / "buffer").glob("*.npz"))) == 3


def test_folders_that_are_removed_while_a_bot_plays_are_made_again(tmp_path: Path) -> None:
    agent = agent_at(tmp_path)
    play(agent)
    shutil.rmtree(tmp_path / "data")
    assert play(agent)["saved"].exists()
    shutil.rmtree(tmp_path / "models")
    assert play(agent)["saved"].exists()
    assert (tmp_path / "models" / "rl_agent_model.npz").exists()


def test_games_that_are_lost_with_their_process_are_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    agent = agent_at(tmp_path / "run")
    play(agent)
    try:
        (tmp_path / "run").rename(tmp_path / "away")
    except PermissionError:
        pytest.skip("this system does not let a folder with open files be moved")
    lost = [play(agent)["episode_id"] for _ in range(2)]
    agent._unsaved._at_the_end()  # here, the errors that were logged keep the agent alive
    assert f"2 finished games could not be saved and are lost: {', '.join(lost)}" in caplog.text


@pytest.mark.slow
def test_games_that_wait_for_a_full_disk_hold_no_files_and_all_are_saved_when_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = agent_at(tmp_path)
    run = RunDir.at(tmp_path)
    with monkeypatch.context() as disk:
        disk.setattr("understudy.experience.unsaved.write_episode", no_space)
        for _ in range(1500):
            play(agent, steps=2)
    assert len(list(orphans(run.live))) == 1500  # whole, and nobody holds them
    assert list(run.buffer.glob("*.npz")) == []
    play(agent, steps=2)
    assert len(list(run.buffer.glob("*.npz"))) == 1501
    assert list(run.live.iterdir()) == []


def test_games_beyond_the_memory_for_a_full_disk_are_given_up_oldest_first_and_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("understudy.experience.unsaved.MOST_UNSAVED_BYTES", 20_000)
    agent = agent_at(tmp_path)
    shutil.rmtree(tmp_path / "data" / "buffer" / "live")  # nor is there a journal
    with monkeypatch.context() as disk, caplog.at_level(logging.WARNING):
        disk.setattr("understudy.experience.unsaved.write_episode", no_space)
        ids = [play(agent, steps=2)["episode_id"] for _ in range(6)]
    assert [identifier for identifier in ids if f"{identifier}, is dropped" in caplog.text] == ids[:2]
    agent.close()
    saved = {read_episode(path, Settings().storage).meta.id for path in (tmp_path / "data" / "buffer").glob("*.npz")}
    assert saved == set(ids[2:])


def no_space(*_: Any, **__: Any) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_wrong_arguments_are_errors_that_say_what_is_wrong(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="at least 2 actions"):
        RLAgent(4, ("ONE",), run_dir=None)
    with pytest.raises(SettingsError, match="same label"):
        RLAgent(4, ("A", "A"), run_dir=None)
    with pytest.raises(SettingsError, match="3 feature names for 4"):
        RLAgent(4, LABELS, run_dir=None, features=("a", "b", "c"))
    with pytest.raises(SettingsError, match="online_training"):
        RLAgent(4, LABELS, run_dir=None, online_training="sometimes")  # type: ignore[arg-type]


@pytest.mark.parametrize("policy", ["mlp", "transformer"])
@pytest.mark.parametrize("algorithm", ["ppo", "reinforce"])
def test_every_policy_and_algorithm_plays_learns_and_is_saved(tmp_path: Path, policy: Any, algorithm: Any) -> None:
    agent = RLAgent(4, LABELS, run_dir=tmp_path, policy=policy, algorithm=algorithm, hidden=(8,), online_training=True)
    before = agent.export_arrays()["parameters"]
    stats = play(agent, steps=40)
    assert stats["trained_online"]
    assert math.isfinite(stats["loss"])
    again = RLAgent(4, LABELS, run_dir=tmp_path)
    assert again.model_version == 2
    assert not np.array_equal(again.export_arrays()["parameters"], before)
    play(again)


def test_random_state_files_that_are_broken_are_said_and_ignored(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with agent_at(tmp_path) as agent:
        play(agent)
    state = tmp_path / "models" / "agent_1.json"
    assert "rng" in json.loads(state.read_text())
    state.write_text("{")
    with caplog.at_level(logging.WARNING):
        agent_at(tmp_path)
    assert "start from a new seed" in caplog.text


class Outcome(enum.Enum):
    """As burnysc2 hands over results."""

    Victory = 1


@pytest.mark.parametrize(
    ("result", "kept"),
    [
        (Outcome.Victory, "Victory"),
        (str(Outcome.Victory), "Victory"),
        (None, "Unknown"),
        (np.str_("Tie"), "Tie"),
        (3, "3"),
        ("", "Unknown"),
        ("won on points", "won on points"),
    ],
)
def test_a_result_may_be_an_enum_its_text_or_none_and_its_reward_counts(
    tmp_path: Path, result: object, kept: str
) -> None:
    agent = agent_at(tmp_path)
    agent.select_action([0, 0, 0, 0])
    agent.observe_reward(5.0)
    stats = agent.end_episode(result)
    saved = read_episode(stats["saved"], StorageSettings())
    assert stats["result"] == saved.meta.result == kept
    assert saved.rewards.tolist() == [5.0]
    assert not saved.meta.truncated


def test_notes_of_any_kind_are_kept_and_cost_no_game(tmp_path: Path) -> None:
    class Silent:
        def __str__(self) -> str:
            raise RuntimeError("no text")

    agent = agent_at(tmp_path)
    agent.begin_episode(seed=np.int64(7), map=Path("maps") / "a.map")
    agent.select_action([0, 0, 0, 0])
    agent.observe_reward(5.0)
    stats = agent.end_episode(
        "Victory",
        race=Outcome.Victory,
        opponent_race=Outcome.Victory,
        score=np.float32(0.5),
        speed=math.nan,
        id="mine",
        replay=Path("a.SC2Replay"),
        units={Outcome.Victory: (np.int8(1), np.array([1, 2]))},
        odd=Silent(),
        long="x" * 2_000_000,
        **{f"note {i}": i for i in range(100)},
    )
    saved = read_episode(stats["saved"], StorageSettings())
    assert saved.rewards.tolist() == [5.0]
    assert (saved.meta.map, saved.meta.opponent_race) == (str(Path("maps") / "a.map"), "Victory")
    notes = saved.meta.extra
    assert notes["note_seed"] == 7
    assert notes["note_id"] == "mine" != saved.meta.id
    assert (notes["race"], notes["score"], notes["speed"], notes["replay"]) == ("Victory", 0.5, "nan", "a.SC2Replay")
    assert notes["units"] == {"Victory": [1, [1, 2]]}
    assert "Silent" in notes["odd"]
    assert len(notes["long"]) < 100_000


def test_a_wrong_final_state_costs_no_reward(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    agent = agent_at(tmp_path)
    agent.select_action([0, 0, 0, 0])
    agent.observe_reward(5.0)
    with pytest.raises(ValueError, match="4 features"):
        agent.end_episode("Victory", final_state=[1, 2])
    stats = agent.end_episode("Victory", final_state=[1, math.nan, 2, 3])
    assert "final state" in caplog.text
    saved = read_episode(stats["saved"], StorageSettings())
    assert saved.rewards.tolist() == [5.0]
    assert saved.final_state is not None
    assert saved.final_state.tolist() == [1, 0, 2, 3]


def test_an_agent_cannot_be_copied_or_pickled(tmp_path: Path) -> None:
    agent = agent_at(tmp_path)
    for attempt in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="same run_dir"):
            attempt(agent)


@pytest.mark.slow
def test_an_agent_that_is_dropped_in_mid_game_closes_its_files_and_its_game_is_salvaged(tmp_path: Path) -> None:
    agent = agent_at(tmp_path)
    for _ in range(3):
        agent.select_action([0, 0, 0, 0])
        agent.observe_reward(1.0)
    journals = list(RunDir.at(tmp_path).live.glob("*.journal"))
    assert journals
    assert not list(orphans(journals[0].parent))
    del agent
    gc.collect()
    assert list(orphans(journals[0].parent)) == journals


def test_two_agents_with_one_seed_do_not_share_files_or_numbers(tmp_path: Path) -> None:
    first, second = agent_at(tmp_path), agent_at(tmp_path)
    taken = [[agent.select_action([0, 0, 0, 0]).action for _ in range(40)] for agent in (first, second)]
    assert taken[0] != taken[1]
    for agent in (first, second):
        agent.end_episode("Tie")
    assert {path.name for path in (tmp_path / "models").glob("agent_*.json")} == {"agent_1.json", "agent_1-1.json"}
