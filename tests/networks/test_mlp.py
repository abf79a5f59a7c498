from __future__ import annotations

import numpy as np

from understudy.networks.mlp import Mlp
from understudy.settings import NetworkSettings


def test_buffers_are_kept_while_batches_fit_into_them() -> None:
    network = Mlp(3, 2, NetworkSettings(hidden=(4,)), np.random.default_rng(0))
    states = np.zeros((8, 3), np.float32)
    logits, values = network.forward(states)
    network.forward(states[:5])
    again, _ = network.forward(states)
    assert np.shares_memory(logits, again)
    assert not np.shares_memory(logits, values)


def test_hidden_layers_begin_with_gain_root_two_and_no_bias() -> None:
    network = Mlp(6, 2, NetworkSettings(hidden=(4,)), np.random.default_rng(0))
    hidden = network.views(network.parameters)["hidden0"]
    np.testing.assert_allclose(hidden[:-1].T @ hidden[:-1], 2 * np.eye(4), atol=1e-6)
    np.testing.assert_array_equal(hidden[-1], 0)


def test_rows_stand_alone() -> None:
    network = Mlp(3, 2, NetworkSettings(hidden=(4,)), np.random.default_rng(0), np.float64)
    states = np.random.default_rng(1).normal(size=(6, 3))
    logits = network.forward(states)[0].copy()
    states[0] += 1
    changed = network.forward(states)[0]
    assert not np.allclose(changed[0], logits[0])
    np.testing.assert_array_equal(changed[1:], logits[1:])
