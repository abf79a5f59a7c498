from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from game_files import ACTIONS, STATE_DIM, make_model
from understudy.agent import RLAgent
from understudy.experience.archive import record_of
from understudy.experience.episode import Episode, EpisodeMeta, features_hash, write_episode
from understudy.experience.notes import RECORDING
from understudy.games.spec import GameSpec, ResultAxis
from understudy.models.store import ModelStore
from understudy.rundir import RunDir
from understudy.settings import NetworkSettings, Settings, TrainingSettings
from understudy.watch.dashboard.game_data import as_facts, view_game

TRIALS = Settings(
    network=NetworkSettings(hidden=(8,)), training=TrainingSettings(commitment=1.0, commitment_stretch=20)
)


@pytest.fixture
def run(tmp_path: Path) -> RunDir:
    run = RunDir.at(tmp_path)
    run.create()
    ModelStore(run.model, run.ledger).create(make_model())
    return run


def played(run: RunDir, *, masked: bool = False) -> Path:
    """A game that an agent really played, with exploration."""
    rng = np.random.default_rng(1)
    legal = [True, False, True] if masked else None
    with RLAgent(STATE_DIM, ACTIONS, run_dir=run.root, online_training=False, seed=3) as agent:
        for _ in range(20):
            agent.select_action(rng.standard_normal(STATE_DIM), legal)
            agent.observe_reward(0.5)
        saved: Path = agent.end_episode("Victory", opponent_race="Terran")["saved"]
    return saved


@pytest.mark.parametrize("masked", [False, True])
def test_the_probabilities_of_a_played_game_come_out_as_they_were(run: RunDir, masked: bool) -> None:
    view = view_game(run, played(run, masked=masked))
    assert view.probabilities is not None
    assert view.probabilities.shape == (20, 3)
    np.testing.assert_allclose(view.probabilities.sum(axis=1), 1)
    assert view.episode.log_probs is not None
    chosen = view.probabilities[np.arange(20), view.episode.actions]
    np.testing.assert_allclose(chosen, np.exp(view.episode.log_probs), rtol=1e-4)
    assert (view.probabilities[:, 1] == 0).all() == masked
    assert (
        view.source
        == "Computed with version 1, which played; they agree with the recorded probabilities of the actions taken."
    )
    assert view.labels == ACTIONS


def test_when_the_version_is_gone_what_was_recorded_is_shown_and_said(run: RunDir) -> None:
    game = played(run)
    (run.versions / "000001.npz").unlink()
    view = view_game(run, game)
    assert view.probabilities is None
    assert view.chosen is not None
    assert "Version 1, which played, is no longer kept." in view.source
    assert view.source.startswith("Only the probability of the action taken was recorded.")


def test_a_version_that_trained_meanwhile_is_not_passed_off_as_the_one_that_played(run: RunDir) -> None:
    game = played(run)
    other = make_model(seed=9)
    (run.versions / "000001.npz").unlink()
    ModelStore(run.root / "elsewhere" / "m.npz", run.root / "elsewhere.sqlite").create(other)
    (run.root / "elsewhere" / "versions" / "000001.npz").rename(run.versions / "000001.npz")
    assert "differ by up to" in view_game(run, game).source


def test_a_trial_is_named_as_the_reason_why_probabilities_differ(run: RunDir) -> None:
    with RLAgent(STATE_DIM, ACTIONS, run_dir=run.root, online_training=False, seed=3, settings=TRIALS) as agent:
        agent.begin_episode(trial=1)
        for _ in range(20):
            agent.select_action(np.zeros(STATE_DIM))
        saved = agent.end_episode("Victory")["saved"]
    assert view_game(run, saved).source.endswith("since this game was a trial, which keeps to one action.")


def test_a_plain_file_of_three_arrays_opens(run: RunDir) -> None:
    path = run.buffer / "plain.npz"
    np.savez(path, states=np.zeros((4, STATE_DIM)), actions=np.array([0, 1, 2, 1]), rewards=np.ones(4))
    view = view_game(run, path)
    assert (view.probabilities, view.chosen, view.values) == (None, None, None)
    assert view.source == "None were recorded. The file does not say which version of the model played."
    assert view.labels == ("action 0", "action 1", "action 2")


def test_features_have_their_names_where_the_hash_is_that_of_a_game_known_here(run: RunDir) -> None:
    from understudy.games.zerg.state import NAMES  # noqa: PLC0415

    path = played(run)
    view = view_game(run, path)
    assert view.features[:2] == ("feature 0", "feature 1")
    meta = EpisodeMeta(features_hash=features_hash(NAMES), ended_at=1.0)
    states = np.zeros((2, len(NAMES)), np.float32)
    episode = Episode(states, np.array([0, 1]), np.zeros(2, np.float32), meta=meta)
    write_episode(run.buffer / "named.npz", episode, compress=False)
    assert view_game(run, run.buffer / "named.npz").features == NAMES


def test_the_notes_of_a_game_have_the_titles_that_its_game_declares(
    run: RunDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = GameSpec(name="chess", axes=(ResultAxis("opening", "Opening played"), ResultAxis("clock", "Time control")))
    monkeypatch.setattr("understudy.games.spec.registered_games", lambda: {"chess": spec})
    meta = EpisodeMeta(game="chess", ended_at=1.0, extra={"opening": "Caro-Kann", "first_move": "e4", "depth": 2.5})
    episode = Episode(np.zeros((2, 3), np.float32), np.array([0, 1]), np.zeros(2, np.float32), meta=meta)
    write_episode(run.buffer / "noted.npz", episode, compress=False)
    facts = dict(as_facts(view_game(run, run.buffer / "noted.npz")))
    assert facts["Opening played"] == "Caro-Kann"
    assert facts["First move"] == "e4"
    assert facts["Depth"] == "2.5"
    assert "Time control" not in facts
    assert "Opponent race" not in facts


def test_a_note_that_says_what_an_axis_says_and_the_file_of_a_recording_are_left_out(run: RunDir) -> None:
    extra = {"race": "Terran", "build": "Rush", RECORDING: "battle_1.jsonl"}
    meta = EpisodeMeta(opponent_race="Terran", ended_at=1.0, extra=extra)
    episode = Episode(np.zeros((2, 3), np.float32), np.array([0, 1]), np.zeros(2, np.float32), meta=meta)
    write_episode(run.buffer / "noted.npz", episode, compress=False)
    facts = dict(as_facts(view_game(run, run.buffer / "noted.npz")))
    assert facts["Opponent race"] == "Terran"
    assert facts["Build"] == "Rush"
    assert "Race" not in facts
    assert "Recording" not in facts
    assert record_of(episode, "noted.npz", 1).axes == {"opponent_race": "Terran", "race": "Terran", "build": "Rush"}
