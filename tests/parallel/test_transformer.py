"""Self-play of a network that looks back: its memory continues from one rollout to the next."""

from __future__ import annotations

import dataclasses
import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from parallel.small import settings
from parallel.test_loop import COUNTING, Recorder, assert_same, store_at
from understudy.learning.losses import chosen, log_softmax
from understudy.learning.normalizers import ValueNormalizer
from understudy.parallel.loop import TrainingLoopManager
from understudy.parallel.rollout import as_batch
from understudy.settings import NetworkSettings, Settings

pytestmark = pytest.mark.slow

SMALL = NetworkSettings(policy="transformer", context=4, width=16, heads=2, layers=2)
RECALL = "parallel.small:Recall"


def small(training: dict[str, Any] | None = None, **parallel: Any) -> Settings:
    return dataclasses.replace(settings(training, **parallel), network=SMALL)


@pytest.mark.parametrize("enabled", [False, True])
@pytest.mark.parametrize("game", [COUNTING, RECALL, "drift"])
def test_what_was_thought_in_play_is_what_the_learner_computes_from_the_states(game: str, enabled: bool) -> None:
    """Rollouts of five steps are shorter than games, and than what the network looks back."""
    recorder = Recorder()
    nothing_learned = {"learning_rate": 0.0, "normalize_states": False}
    given = small(nothing_learned, enabled=enabled, num_workers=2, batch_size=40, max_staleness=0)
    loop = TrainingLoopManager(game, given, seed=1, on_update=recorder)
    network = loop.model.network
    known = ValueNormalizer()
    known.restore(np.array([96.0, 128.0, 640.0, 0.0, 0.0]))  # a mean of 1 and a spread of 2, which stay
    loop.model.trainer.values.enabled = False
    loop.model.trainer.values.restore(known.sums)
    network.parameters += np.random.default_rng(0).normal(scale=0.3, size=network.parameters.size).astype(np.float32)
    loop.run(updates=12)
    looked_back = 0
    for first in range(0, len(recorder.rollouts), 2):
        rollouts = recorder.rollouts[first : first + 2]
        looked_back = max(looked_back, int(rollouts[0].before_lengths.max()))
        batch = as_batch(rollouts, rollouts[0]["version"])
        assert batch.values is not None
        logits, values = network.forward(batch.states, batch.state_starts)
        log_probs = chosen(log_softmax(logits[batch.decisions], batch.legal), batch.actions)
        np.testing.assert_allclose(batch.log_probs, log_probs, atol=1e-4)
        expected = known.expand(values)
        np.testing.assert_allclose(batch.of_decisions(batch.values), batch.of_decisions(expected), atol=1e-4)
        np.testing.assert_allclose(batch.values[batch.finals], expected[batch.finals], atol=1e-4)
    assert looked_back == (5 if game == RECALL else network.reach)


@pytest.mark.parametrize("enabled", [False, True])
def test_a_cue_several_decisions_back_and_a_rollout_ago_is_recalled(enabled: bool) -> None:
    """Rollouts of four steps: no rollout holds both the cue and the question of a game of six."""
    given = small({"gamma": 0.9, "epochs": 4}, enabled=enabled, num_workers=1, games_per_worker=64, batch_size=256)
    loop = TrainingLoopManager(RECALL, given, seed=1)
    stats = loop.run(updates=250)
    assert stats.mean_return > 0.9  # 0.5 without a memory


def test_a_run_with_a_memory_goes_on_exactly(tmp_path: Path) -> None:
    whole, again = Recorder(), Recorder()
    given = small(num_workers=2, batch_size=24, sync_interval=1, checkpoint_updates=2, max_staleness=0)
    uninterrupted = TrainingLoopManager(COUNTING, given, store=store_at(tmp_path / "a"), seed=2, on_update=whole)
    uninterrupted.run(updates=8)
    for enabled, updates in ((False, 3), (True, 2), (False, 3)):
        parallel = dataclasses.replace(given.parallel, enabled=enabled)
        chosen_settings = dataclasses.replace(given, parallel=parallel)
        store = store_at(tmp_path / "b")
        resumed = TrainingLoopManager(COUNTING, chosen_settings, store=store, seed=2, on_update=again)
        resumed.run(updates=updates)
    assert_same(whole.rollouts, again.rollouts)
    np.testing.assert_array_equal(uninterrupted.model.network.parameters, resumed.model.network.parameters)


def test_games_longer_than_it_looks_back_are_said(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        TrainingLoopManager(RECALL, small(), seed=1).run(updates=5)
        assert "looks back" not in caplog.text
        TrainingLoopManager("parallel.small:Walk", small(batch_size=800), seed=1).run(updates=10)
    assert caplog.text.count("looks back 6 decisions") == 1
    assert "games last 100" in caplog.text
    assert "network.context" in caplog.text
