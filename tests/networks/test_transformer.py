from __future__ import annotations

import numpy as np
import pytest

from understudy.errors import SettingsError
from understudy.networks.network import Floats
from understudy.networks.transformer import TransformerDecisionModel
from understudy.settings import NetworkSettings

CONTEXT = 4


def make(layers: int = 2) -> TransformerDecisionModel:
    settings = NetworkSettings(policy="transformer", context=CONTEXT, width=8, heads=2, layers=layers)
    rng = np.random.default_rng(3)
    network = TransformerDecisionModel(3, 2, settings, rng, np.float64)
    network.parameters += rng.normal(scale=0.3, size=network.parameters.size)
    return network


def logits_of(network: TransformerDecisionModel, states: Floats, *starts: int) -> Floats:
    return network.forward(states, np.array(starts))[0].copy()


def test_an_episode_changes_neither_outputs_nor_gradients_of_another() -> None:
    network = make()
    states = np.random.default_rng(0).normal(size=(17, 3))
    d_logits, d_values = np.random.default_rng(1).normal(size=(17, 2)), np.zeros(17)
    d_logits[:6] = 0  # only the second episode is learned from
    before = logits_of(network, states, 0, 6)
    network.backward(d_logits, d_values)
    gradients = network.gradients.copy()
    states[:6] = -3 * states[:6]
    after = logits_of(network, states, 0, 6)
    network.backward(d_logits, d_values)
    assert not np.allclose(after[:6], before[:6])
    np.testing.assert_array_equal(after[6:], before[6:])
    np.testing.assert_allclose(network.gradients, gradients, atol=1e-12)


def test_an_episode_gives_the_same_alone_and_among_others() -> None:
    network = make()
    states = np.random.default_rng(0).normal(size=(17, 3))
    together = logits_of(network, states, 0, 6)
    np.testing.assert_allclose(logits_of(network, states[6:], 0), together[6:], atol=1e-12)


def test_a_row_sees_the_window_before_it_and_nothing_else() -> None:
    network = make(layers=1)
    states = np.random.default_rng(0).normal(size=(12, 3))
    before = logits_of(network, states, 0)
    states[5] += 1
    changed = np.flatnonzero(np.abs(logits_of(network, states, 0) - before).max(axis=1) > 1e-9)
    assert changed.tolist() == list(range(5, 5 + CONTEXT))


def test_layers_stack_their_windows() -> None:
    network = make(layers=2)
    states = np.random.default_rng(0).normal(size=(16, 3))
    before = logits_of(network, states, 0)
    states[5] += 1
    changed = np.flatnonzero(np.abs(logits_of(network, states, 0) - before).max(axis=1) > 1e-9)
    assert changed.tolist() == list(range(5, 5 + 2 * CONTEXT - 1))


def test_a_new_game_in_play_forgets_the_last_one() -> None:
    network = make()
    states = np.random.default_rng(0).normal(size=(9, 3))
    network.begin_episode()
    first, _ = network.step(states[0])
    first = first.copy()
    for state in states:
        network.step(state)
    assert not np.allclose(network.step(states[0])[0], first)
    network.begin_episode()
    np.testing.assert_array_equal(network.step(states[0])[0], first)


def test_a_width_that_heads_do_not_divide_is_a_settings_error() -> None:
    settings = NetworkSettings(policy="transformer", width=10, heads=4)
    with pytest.raises(SettingsError, match=r"width is 10.*multiple of network.heads, 4"):
        TransformerDecisionModel(3, 2, settings, np.random.default_rng(0))
