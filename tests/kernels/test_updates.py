"""Compiled inner loops give what the NumPy functions give, and a trainer that uses them learns the same."""

from __future__ import annotations

import functools
import sys
from typing import Any

import numpy as np
import pytest

from learning.small import A, S, games, make
from understudy.errors import NonFiniteError
from understudy.kernels import updates
from understudy.learning.batch import Samples
from understudy.learning.optimizers import Adam
from understudy.learning.trainer import Trainer, Weights
from understudy.networks.factory import model_factory
from understudy.networks.mlp import Mlp
from understudy.settings import NetworkSettings, TrainingSettings


def assert_same(a: Any, b: Any) -> None:
    np.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-6)


@pytest.mark.slow
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("rows", [1, 7, 300])
def test_the_objective_is_that_of_the_losses(rows: int, masked: bool) -> None:
    rng = np.random.default_rng(rows)
    actions = rng.integers(0, A, rows)
    legal = rng.random((rows, A)) < 0.6
    legal[np.arange(rows), actions] = True
    samples = Samples(
        states=np.zeros((rows, S), np.float32),
        actions=actions,
        legal=legal if masked else None,
        old_log_probs=rng.normal(-1, 1.5, rows).astype(np.float32),  # ratios on both sides of the clip range
        advantages=rng.normal(size=rows).astype(np.float32),
        targets=rng.normal(size=rows).astype(np.float32),
        starts=None,
    )
    outputs = rng.normal(0, 2, (A + 1, rows)).astype(np.float32).T
    plain, fast, weights = make(), make(), Weights(value=0.7, entropy=0.05)
    assert fast.compile()
    expected = plain._objective(samples, outputs[:, :-1], outputs[:, -1], weights)
    found = fast._objective(samples, outputs[:, :-1], outputs[:, -1], weights)
    for theirs, ours in zip(expected, found, strict=True):
        assert_same(ours, theirs)
    clip_fraction = found[-1][-1]
    assert rows == 1 or 0 < clip_fraction < 1


def test_what_is_not_a_number_is_not_swallowed() -> None:
    trainer = make()
    assert trainer.compile()
    zeros = np.zeros(3, np.float32)
    samples = Samples(np.zeros((3, S), np.float32), np.array([0, 1, 2]), None, zeros, zeros + 1, zeros, None)
    for bad in (np.nan, np.inf):
        logits = np.zeros((A, 3), np.float32).T
        logits[1, 2] = bad
        d_logits, _, found = trainer._objective(samples, logits, zeros, Weights(1.0, 0.01))
        assert not np.isfinite(d_logits[1]).any()
        assert not np.isfinite(found[0])


@pytest.mark.parametrize("parts", [None, (1, 40, 16, 43)])
def test_adam_takes_the_same_steps(parts: tuple[int, ...] | None) -> None:
    rng = np.random.default_rng(0)
    start = rng.normal(size=100).astype(np.float32)
    plain, fast = Adam(start.copy(), 0.01, parts), Adam(start.copy(), 0.01, parts)
    bounds = np.array([0]) if fast.bounds is None else fast.bounds
    fast.move = updates.adam_step if parts is None else functools.partial(updates.adam_mini_step, bounds=bounds)
    for scale in (1, 1e-6, 100, 0, 1):
        gradients = (scale * rng.normal(size=100)).astype(np.float32)
        plain.step(gradients)
        fast.step(gradients)
        assert_same(fast.parameters, plain.parameters)
    assert_same(fast.m, plain.m)
    assert_same(fast.v, plain.v)


@pytest.mark.parametrize("separate", [False, True])
def test_the_network_gives_the_same_gradients(separate: bool) -> None:
    settings = NetworkSettings(hidden=(9, 5), separate=separate)
    plain, fast = (model_factory(S, A, settings, np.random.default_rng(1)) for _ in range(2))
    fast.compile()
    rng = np.random.default_rng(2)
    for rows in (1, 40, 17):
        states, d_logits = rng.normal(size=(rows, S)).astype(np.float32), rng.normal(size=(rows, A)).astype(np.float32)
        for network in (plain, fast):
            logits, values = network.forward(states)
            network.backward(d_logits * (logits > 0), values)
        assert_same(fast.gradients, plain.gradients)


@pytest.mark.slow
@pytest.mark.parametrize("network", ["mlp", "transformer"])
@pytest.mark.parametrize("algorithm", ["ppo", "reinforce"])
def test_a_trainer_learns_the_same(network: str, algorithm: str) -> None:
    plain, fast = (make(network, algorithm=algorithm, target_kl=0.0) for _ in range(2))
    assert fast.compile()
    for seed in range(3):
        expected, found = plain.update(games(seed)), fast.update(games(seed))
        assert_same(found.loss, expected.loss)
        assert_same(found.kl, expected.kl)
    np.testing.assert_allclose(fast.network.parameters, plain.network.parameters, rtol=1e-3, atol=1e-4)
    assert np.abs(fast.network.parameters - make(network).network.parameters).max() > 1e-3


def test_a_compiled_trainer_has_no_use_for_the_objective_in_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    def unused(*_: object) -> None:
        raise AssertionError("the objective was not the compiled one")

    trainer = make()
    monkeypatch.setattr("understudy.learning.trainer.ppo_clip", unused)
    with pytest.raises(AssertionError):
        trainer.update(games(0))
    assert trainer.compile()
    trainer.update(games(0))


def test_a_compiled_update_that_blows_up_is_refused_like_any_other() -> None:
    trainer = make(learning_rate=1e30)  # the first step is harmless, the second meets its parameters
    assert trainer.compile()
    before = trainer.network.parameters.copy()
    with pytest.raises(NonFiniteError):
        trainer.update(games(0))
    np.testing.assert_array_equal(trainer.network.parameters, before)


def test_without_numba_or_in_double_precision_nothing_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    double = Mlp(S, A, NetworkSettings(hidden=(8,)), np.random.default_rng(0), np.float64)
    assert not Trainer(double, TrainingSettings(), 0).compile()
    for name in [name for name in sys.modules if name.startswith("understudy.kernels")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "numba", None)
    plain, without = make(), make()
    assert not without.compile()
    plain.update(games(0))
    without.update(games(0))
    np.testing.assert_array_equal(without.network.parameters, plain.network.parameters)
