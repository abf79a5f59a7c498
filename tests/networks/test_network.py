"""What every NumPy network promises, for each of them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from networks.reference import flat_gradient, outputs_of, parameters_of
from understudy.networks.conv import ConvNet
from understudy.networks.mlp import Mlp
from understudy.networks.network import Floats, Network, orthogonal
from understudy.networks.transformer import TransformerDecisionModel
from understudy.settings import NetworkSettings

S, A = 3, 4
STARTS = np.array([0, 1, 9, 12])
N = 29
SETTINGS = {
    "mlp": NetworkSettings(hidden=(6, 5)),
    "separate": NetworkSettings(hidden=(6, 5), separate=True),
    "linear": NetworkSettings(hidden=()),
    "conv": NetworkSettings(policy="conv", image=(4, 3, 2), filters=(3,), kernels=(2,), strides=(1,), hidden=(5,)),
    "two convolutions": NetworkSettings(
        policy="conv", image=(7, 6, 2), filters=(3, 4), kernels=(3, 2), strides=(2, 1), hidden=(5, 4)
    ),
    "only a convolution": NetworkSettings(
        policy="conv", image=(2, 2, 1), filters=(3,), kernels=(2,), strides=(1,), hidden=()
    ),
    "transformer": NetworkSettings(policy="transformer", context=5, width=8, heads=2, layers=2),
    "one head, context 1": NetworkSettings(policy="transformer", context=1, width=6, heads=1, layers=1),
}


def make(kind: str, rng: np.random.Generator, dtype: type[np.floating[Any]] = np.float32) -> Network:
    settings = SETTINGS[kind]
    if settings.policy == "mlp":
        return Mlp(S, A, settings, rng, dtype)
    if settings.policy == "conv":
        return ConvNet(math.prod(settings.image), A, settings, rng, dtype)
    return TransformerDecisionModel(S, A, settings, rng, dtype)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(7)


@pytest.fixture(params=SETTINGS)
def network(request: pytest.FixtureRequest, rng: np.random.Generator) -> Network:
    """In float64, away from the initial parameters, where biases and position biases are all zero."""
    made = make(request.param, rng, np.float64)
    made.parameters += rng.normal(scale=0.3, size=made.parameters.size)
    return made


def outputs(network: Network, states: Floats) -> NDArray[np.float64]:
    logits, values = network.forward(states, STARTS)
    return np.column_stack([logits, values]).astype(np.float64)


def test_outputs_are_those_of_the_torch_reference(network: Network, rng: np.random.Generator) -> None:
    states = rng.normal(size=(N, network.state_dim))
    logits, values = outputs_of(network, parameters_of(network), states, STARTS)
    expected = np.column_stack([logits.detach().numpy(), values.detach().numpy()])
    np.testing.assert_allclose(outputs(network, states), expected, atol=1e-12)


@pytest.mark.slow
def test_gradients_are_those_of_finite_differences(network: Network, rng: np.random.Generator) -> None:
    states, weights = rng.normal(size=(N, network.state_dim)), rng.normal(size=(N, A + 1))
    network.forward(states, STARTS)
    network.backward(weights[:, :-1], weights[:, -1])
    slopes = np.empty_like(network.gradients)
    step = 1e-6
    for i, parameter in enumerate(network.parameters.tolist()):
        network.parameters[i] = parameter + step
        above = (outputs(network, states) * weights).sum()
        network.parameters[i] = parameter - step
        below = (outputs(network, states) * weights).sum()
        network.parameters[i] = parameter
        slopes[i] = (above - below) / (2 * step)
    np.testing.assert_allclose(network.gradients, slopes, atol=1e-7)


def test_gradients_are_those_of_torch_autograd(network: Network, rng: np.random.Generator) -> None:
    states, d_logits, d_values = rng.normal(size=(N, network.state_dim)), rng.normal(size=(N, A)), rng.normal(size=N)
    network.forward(states, STARTS)
    network.backward(d_logits, d_values)
    parameters = parameters_of(network)
    logits, values = outputs_of(network, parameters, states, STARTS)
    ((logits * logits.new_tensor(d_logits)).sum() + (values * values.new_tensor(d_values)).sum()).backward()  # type: ignore[no-untyped-call]
    np.testing.assert_allclose(network.gradients, flat_gradient(network, parameters), atol=1e-12)


@pytest.mark.parametrize("kind", SETTINGS)
def test_float32_outputs_agree_with_float64(kind: str, rng: np.random.Generator) -> None:
    single, double = make(kind, rng), make(kind, rng, np.float64)
    double.parameters[:] = single.parameters
    states = rng.normal(size=(N, single.state_dim)).astype(np.float32)
    np.testing.assert_allclose(outputs(single, states), outputs(double, states), atol=1e-5)
    assert all(array.dtype == np.float32 for array in single.forward(states, STARTS))


@pytest.mark.parametrize("kind", SETTINGS)
def test_a_step_in_play_gives_what_forward_gives_for_that_row(kind: str, rng: np.random.Generator) -> None:
    network = make(kind, rng)
    network.parameters += rng.normal(scale=0.3, size=network.parameters.size).astype(np.float32)
    states = rng.normal(size=(N, network.state_dim)).astype(np.float32)
    played = []
    for row, state in enumerate(states):
        if row in STARTS:
            network.begin_episode()
        logits, value = network.step(state)
        assert isinstance(value, float)
        played.append([*logits, value])
    np.testing.assert_allclose(played, outputs(network, states), atol=1e-5)


@pytest.mark.parametrize("kind", SETTINGS)
def test_many_matches_in_play_give_what_forward_gives_for_each_of_them(kind: str, rng: np.random.Generator) -> None:
    network = make(kind, rng)
    network.parameters += rng.normal(scale=0.3, size=network.parameters.size).astype(np.float32)
    B, T, R = 4, 40, network.reach
    states = rng.normal(size=(B, T, network.state_dim)).astype(np.float32)
    ended = rng.random((B, T)) < 0.08
    expected = []
    for match in range(B):
        starts = np.flatnonzero(np.concatenate(([True], ended[match, :-1])))
        expected.append(np.column_stack(network.forward(states[match], starts)))
    in_play = network.in_play(B)
    lengths = np.zeros(B, np.int64)
    some = np.array([3, 1])
    for t in range(T):
        if t in (0, 25):  # in the middle all is computed again, from the states
            in_play = network.in_play(B)
            in_play.begin(states[:, t - R : t] if t else np.zeros((B, R, network.state_dim), np.float32), lengths)
        looked = in_play.value(states[some, t], some).copy()
        logits, values = in_play.decide(states[:, t])
        np.testing.assert_allclose(np.column_stack([logits, values]), [rows[t] for rows in expected], atol=2e-5)
        np.testing.assert_allclose(looked, values[some], atol=2e-5)
        in_play.forget(ended[:, t])
        lengths = np.where(ended[:, t], 0, np.minimum(lengths + 1, R))


def test_a_step_between_forward_and_backward_changes_neither(network: Network, rng: np.random.Generator) -> None:
    states, d_logits, d_values = rng.normal(size=(N, network.state_dim)), rng.normal(size=(N, A)), rng.normal(size=N)
    network.forward(states, STARTS)
    network.backward(d_logits, d_values)
    undisturbed = network.gradients.copy()
    logits, values = network.forward(states, STARTS)
    before = logits.copy(), values.copy()
    network.step(states[0])
    np.testing.assert_array_equal(logits, before[0])
    np.testing.assert_array_equal(values, before[1])
    network.backward(d_logits, d_values)
    np.testing.assert_array_equal(network.gradients, undisturbed)


def test_backward_overwrites_what_was_there(network: Network, rng: np.random.Generator) -> None:
    states, d_logits, d_values = rng.normal(size=(N, network.state_dim)), rng.normal(size=(N, A)), rng.normal(size=N)
    network.forward(states, STARTS)
    network.backward(d_logits, d_values)
    once = network.gradients.copy()
    network.gradients[:] = np.nan
    network.backward(d_logits, d_values)
    np.testing.assert_array_equal(network.gradients, once)


def test_parameters_loaded_in_place_are_used_at_once(network: Network, rng: np.random.Generator) -> None:
    states = rng.normal(size=(N, network.state_dim))
    before, _ = network.step(states[0])
    before = before.copy()
    network.parameters[:] = rng.normal(size=network.parameters.size)
    network.begin_episode()
    played, value = network.step(states[0])
    assert not np.allclose(played, before)
    np.testing.assert_allclose([*played, value], outputs(network, states)[0], atol=1e-10)


@pytest.mark.parametrize("sizes", [(29, 3, 29), (1, 2, 40), (16, 15, 17, 16)])
def test_batches_of_any_size_follow_each_other(
    network: Network, sizes: tuple[int, ...], rng: np.random.Generator
) -> None:
    states = rng.normal(size=(max(sizes), network.state_dim))
    whole = np.column_stack(network.forward(states))
    for size in sizes:
        logits, values = network.forward(states[:size])
        np.testing.assert_allclose(np.column_stack([logits, values]), whole[:size], atol=1e-12)
        network.backward(np.ones((size, A)), np.ones(size))
        parameters = parameters_of(network)
        by_torch = outputs_of(network, parameters, states[:size], np.zeros(1, np.int64))
        (by_torch[0].sum() + by_torch[1].sum()).backward()  # type: ignore[no-untyped-call]
        np.testing.assert_allclose(network.gradients, flat_gradient(network, parameters), atol=1e-11)


def test_views_are_the_layout_and_alias_the_vector(network: Network) -> None:
    views = network.views(network.parameters)
    assert [(name, view.shape) for name, view in views.items()] == list(network.layout)
    for number, view in enumerate(views.values()):
        view[...] = number
    assert set(network.parameters.tolist()) == set(range(len(network.layout)))


@pytest.mark.parametrize("kind", SETTINGS)
def test_initial_parameters_depend_on_the_generator_alone(kind: str) -> None:
    first, again, other = (make(kind, np.random.default_rng(seed)).parameters for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize("kind", SETTINGS)
def test_the_initial_policy_is_nearly_uniform_and_all_states_are_worth_about_the_mean(
    kind: str, rng: np.random.Generator
) -> None:
    network = make(kind, rng)
    logits, values = network.forward(rng.normal(size=(N, network.state_dim)).astype(np.float32), STARTS)
    assert np.ptp(logits, axis=1).max() < 0.2
    assert 0 < values.std() < 0.1
    assert np.abs(values).max() < 0.1


@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (4, 4)])
def test_orthogonal_matrices_are_orthogonal(shape: tuple[int, int], rng: np.random.Generator) -> None:
    matrix = orthogonal(rng, *shape, gain=2.0)
    assert matrix.shape == shape
    gram = matrix.T @ matrix if shape[0] >= shape[1] else matrix @ matrix.T
    np.testing.assert_allclose(gram, 4 * np.eye(min(shape)), atol=1e-12)
