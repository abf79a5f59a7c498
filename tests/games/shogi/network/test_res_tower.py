from __future__ import annotations

import copy
import importlib.util
import subprocess
import sys
from typing import Any, Literal

import numpy as np
import pytest
import torch

from understudy.errors import SettingsError
from understudy.games.shogi.network.convolutions import convolutions
from understudy.games.shogi.network.modules import ACTIONS, RunningNorm, expectation
from understudy.games.shogi.network.res_tower import ActorCriticResTower
from understudy.learning.losses import ppo_clip, softmax, through_softmax
from understudy.learning.optimizers import Adam
from understudy.networks.factory import model_factory
from understudy.networks.network import Floats
from understudy.settings import NetworkSettings

PLANES = 5
S = PLANES * 81
Head = Literal["attention", "linear"]
HEADS: list[Head] = ["attention", "linear"]


def settings(head: Head = "attention", **changes: Any) -> NetworkSettings:
    return NetworkSettings(
        **{
            "policy": "resnet",
            "blocks": 2,
            "channels": 6,
            "attention_width": 4,
            "value_width": 5,
            "policy_head": head,
            **changes,
        }
    )


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(3)


def double(head: Head, rng: np.random.Generator) -> ActorCriticResTower:
    """In float64, away from the initial parameters."""
    network = ActorCriticResTower(S, ACTIONS, settings(head), rng, np.float64)
    network.parameters += np.abs(rng.normal(scale=0.1, size=network.parameters.size))
    return network


def boards(rng: np.random.Generator, n: int, few: bool) -> Floats:
    """States of numbers everywhere; with `few`, of planes that are one number but for a few squares."""
    states = rng.random((n, S))
    planes = states.reshape(n, PLANES, 81)
    if few:
        planes[rng.random(planes.shape) > 0.02] = 0
        planes[:, 3:] = rng.random((n, PLANES - 3, 1))
    return states


@pytest.mark.parametrize("head", HEADS)
def test_the_factory_makes_it_and_the_parameters_depend_on_the_generator_alone(head: Head) -> None:
    first, again, other = (model_factory(S, ACTIONS, settings(head), np.random.default_rng(s)) for s in (1, 1, 2))
    assert isinstance(first, ActorCriticResTower)
    np.testing.assert_array_equal(first.parameters, again.parameters)
    assert not np.array_equal(first.parameters, other.parameters)


@pytest.mark.slow
@pytest.mark.parametrize("head", HEADS)
def test_the_initial_policy_is_nearly_uniform_and_the_game_a_draw(head: Head, rng: np.random.Generator) -> None:
    network = ActorCriticResTower(S, ACTIONS, settings(head), rng)
    logits, values = network.forward(rng.random((7, S), np.float32))
    assert (logits.shape, values.shape) == ((7, ACTIONS), (7,))
    assert np.ptp(logits, axis=1).max() < 0.5
    assert np.abs(values).max() < 0.1


@pytest.mark.slow
@pytest.mark.parametrize("few", [False, True])
@pytest.mark.parametrize("head", HEADS)
def test_gradients_are_those_of_finite_differences(head: Head, few: bool, rng: np.random.Generator) -> None:
    network = double(head, rng)
    states, d_logits, d_values = boards(rng, 3, few), rng.normal(size=(3, ACTIONS)), rng.normal(size=3)

    def loss() -> float:
        logits, values = network.forward(states)
        return float((logits * d_logits).sum() + (values * d_values).sum())

    logits, values = network.forward(states)
    assert logits.dtype == values.dtype == np.float64
    before = network.parameters.copy()
    network.backward(d_logits, d_values)
    gradients = network.gradients.copy()
    network.parameters[:] = before  # the running statistics have moved
    trainable = network.parameters.size - sum(b.numel() for _, b in network._statistics())
    for place in rng.choice(trainable, 60, replace=False):
        shifted = []
        for sign in (1, -1):
            network.parameters[place] = before[place] + sign * 1e-6
            shifted.append(loss())
        network.parameters[place] = before[place]
        assert gradients[place] == pytest.approx((shifted[0] - shifted[1]) / 2e-6, rel=2e-4, abs=2e-4)


@pytest.mark.parametrize("few", [False, True])
@pytest.mark.parametrize(("head", "se_ratio"), [("attention", 0.25), ("attention", 0.0), ("linear", 0.25)])
def test_outputs_and_gradients_are_those_of_autograd_through_the_plain_tower(
    head: Head, se_ratio: float, few: bool, rng: np.random.Generator
) -> None:
    network = ActorCriticResTower(S, ACTIONS, settings(head, se_ratio=se_ratio), rng, np.float64)
    network.parameters += np.abs(rng.normal(scale=0.1, size=network.parameters.size))
    states, d_logits, d_values = boards(rng, 5, few), rng.normal(size=(5, ACTIONS)), rng.normal(size=5)
    plain = copy.deepcopy(network.tower).requires_grad_()
    expected, wdl = plain(torch.from_numpy(states).reshape(5, PLANES, 9, 9))
    loss = (expected * torch.from_numpy(d_logits)).sum() + (expectation(wdl) * torch.from_numpy(d_values)).sum()
    derivatives = torch.autograd.grad(loss, list(plain.parameters()))

    logits, values = network.forward(states)
    network.backward(d_logits, d_values)

    np.testing.assert_allclose(logits, expected.detach(), atol=1e-10)
    np.testing.assert_allclose(values, expectation(wdl).detach(), atol=1e-10)
    gradients = network.views(network.gradients)
    for (name, _), derivative in zip(plain.named_parameters(), derivatives, strict=True):
        np.testing.assert_allclose(gradients[name], derivative, rtol=1e-8, atol=1e-8, err_msg=name)


@pytest.mark.slow
@pytest.mark.parametrize("few", [False, True])
def test_results_do_not_depend_on_the_number_of_threads(
    few: bool, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("understudy.games.shogi.network.res_tower._PART", 4)
    before = torch.get_num_threads()
    network = ActorCriticResTower(S + 9, 9, settings(), rng)
    states = np.hstack([boards(rng, 19, few), rng.integers(0, ACTIONS, (19, 9))]).astype(np.float32)
    d_logits, d_values = rng.normal(size=(19, 9)), rng.normal(size=19)
    parameters = network.parameters.copy()
    results = []
    try:
        for threads in (1, 3):
            network.parameters[:] = parameters
            network.use_threads(threads)
            evaluated = network.evaluate(states)
            outputs = network.forward(states)
            network.backward(d_logits, d_values)
            results.append([*evaluated, *outputs, network.gradients.copy(), network.parameters.copy()])
    finally:
        network.use_threads(1)
        torch.set_num_threads(before)
    for one, three in zip(*results, strict=True):
        np.testing.assert_array_equal(one, three)


def test_parts_of_a_batch_add_up_to_the_whole(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    network = double("attention", rng)
    states, d_logits, d_values = rng.random((7, S)), rng.normal(size=(7, ACTIONS)), rng.normal(size=7)
    before = network.parameters.copy()
    found = []
    for part in (7, 2):
        monkeypatch.setattr("understudy.games.shogi.network.res_tower._PART", part)
        network.parameters[:] = before
        logits, values = network.forward(states)
        network.backward(d_logits, d_values)
        found.append((logits, values, network.gradients.copy(), network.parameters.copy()))
    for whole, in_parts in zip(*found, strict=True):
        np.testing.assert_allclose(in_parts, whole, rtol=1e-9, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 2])
def test_an_objective_in_parts_gives_the_gradients_of_forward_and_backward(
    threads: int, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("understudy.games.shogi.network.res_tower._PART", 4)
    before = torch.get_num_threads()
    network = ActorCriticResTower(S + 9, 9, settings(), rng, np.float64)
    network.parameters += 0.1 * rng.random(len(network.parameters))
    states = rng.random((19, S + 9))
    states[:, S:] = rng.integers(0, ACTIONS, (19, 9))
    factors, targets = rng.normal(size=(19, 9)), rng.normal(size=19)
    parameters = network.parameters.copy()
    logits, values = network.forward(states)
    network.backward(factors * logits, values - targets)
    expected, followed = network.gradients.copy(), network.parameters.copy()
    try:
        network.use_threads(threads)
        for _ in range(2):  # a second pass finds nothing of the first
            network.parameters[:] = parameters
            found = network.differentiate(
                states,
                None,
                lambda rows, logits, values: (factors[rows] * logits, values - targets[rows], rows),
            )
            np.testing.assert_allclose(network.gradients, expected, rtol=1e-9, atol=1e-9)
            np.testing.assert_array_equal(network.parameters, followed)
    finally:
        network.use_threads(1)
        torch.set_num_threads(before)
    assert [row for rows in found for row in range(rows.start, rows.stop)] == list(range(19))


def test_the_end_of_the_lists_is_left_out_where_no_position_has_a_move(rng: np.random.Generator) -> None:
    network = ActorCriticResTower(S + 9, 9, settings(), rng)
    states = rng.random((2, S + 9), np.float32)
    states[:, S:] = -1
    states[0, S : S + 3] = 5, 13_000, 7
    states[1, S] = 8
    logits, _ = network.evaluate(states)
    assert logits.shape == (2, 3)
    assert not logits[1, 1:].any()
    assert network.step(states[0])[0].shape == (9,)


def test_attention_logits_are_query_times_key_in_the_order_of_the_actions(rng: np.random.Generator) -> None:
    network = double("attention", rng)
    head = network.tower.policy
    x = torch.from_numpy(rng.normal(size=(2, 6, 9, 9)))
    with torch.no_grad():
        logits = head(x)
        query, keys, drops = (layer(x).flatten(2) for layer in (head.query, head.keys, head.drops))  # type: ignore[operator]
    for origin, target, promote in [
        (0, 1, 0),
        (0, 80, 1),
        (40, 39, 0),
        (40, 41, 1),
        (80, 0, 1),
        (80, 79, 1),
        (7, 6, 0),
    ]:
        action = 160 * origin + 2 * (target - (target > origin)) + promote
        expected = (query[:, :, origin] * keys[:, 4 * promote : 4 * promote + 4, target]).sum(1) / 2
        torch.testing.assert_close(logits[:, action], expected)
    for target, piece in [(0, 0), (33, 6), (80, 6)]:
        torch.testing.assert_close(logits[:, 12_960 + 7 * target + piece], drops[:, piece, target])


@pytest.mark.parametrize("head", HEADS)
def test_a_position_does_not_depend_on_its_neighbours_and_play_gives_the_same(
    head: Head, rng: np.random.Generator
) -> None:
    network = double(head, rng)
    states = rng.random((9, S))
    logits, values = network.forward(states)
    alone, value = network.step(states[4])
    np.testing.assert_allclose(alone, logits[4], atol=1e-10)
    assert value == pytest.approx(values[4], abs=1e-12)


def test_a_step_in_play_disturbs_neither_forward_nor_backward(rng: np.random.Generator) -> None:
    network = double("attention", rng)
    states = rng.random((3, S))
    d_logits, d_values = np.ones((3, ACTIONS)), np.ones(3)
    before = network.parameters.copy()
    network.forward(states)
    network.backward(d_logits, d_values)
    expected = network.gradients.copy()
    network.parameters[:] = before
    network.forward(states)
    network.step(states[0])
    network.backward(d_logits, d_values)
    np.testing.assert_array_equal(network.gradients, expected)


@pytest.mark.slow
def test_the_optimizer_updates_the_network_that_plays(rng: np.random.Generator) -> None:
    network = model_factory(S, ACTIONS, settings(channels=32), rng)
    assert isinstance(network, ActorCriticResTower)
    state = rng.random(S, np.float32)
    before, _ = network.step(state)
    tensors = {name: tensor.clone() for name, tensor in network.tower.state_dict().items()}
    adam = Adam(network.parameters, 1e-3)
    for _ in range(4):  # in the first step, what lies behind weights that are zero has no gradient yet
        network.forward(state[None])
        network.backward(rng.normal(size=(1, ACTIONS)), np.ones(1))
        adam.step(network.gradients)
    after, _ = network.step(state)
    assert not np.allclose(before, after)
    same = [name for name, tensor in network.tower.state_dict().items() if torch.equal(tensor, tensors[name])]
    assert [name for name in same if not name.endswith("num_batches_tracked")] == []


@pytest.mark.slow
def test_the_objective_of_the_numpy_networks_teaches_it(rng: np.random.Generator) -> None:
    network = model_factory(S, ACTIONS, settings(), rng)
    states = rng.random((16, S), np.float32)
    actions, advantages = rng.integers(0, ACTIONS, 16), np.ones(16, np.float32)
    adam = Adam(network.parameters, 3e-3)
    old: Floats | None = None
    for _ in range(60):
        logits, values = network.forward(states)
        policy = softmax(logits)
        now = policy.log_probs[np.arange(16), actions]
        old = now if old is None else old
        loss = ppo_clip(policy.log_probs, actions, advantages, now, 0.2)
        network.backward(through_softmax(policy, actions, loss.d_log_probs)[1], values * 0)
        adam.step(network.gradients)
    assert old is not None
    assert (now - old).mean() > 1


def test_running_statistics_travel_in_the_parameters_and_follow_the_batches(rng: np.random.Generator) -> None:
    network = ActorCriticResTower(S, ACTIONS, settings(), rng)
    names = [name for name, _ in network.layout]
    views = network.views(network.parameters)
    norms = [module for module in network.tower.modules() if isinstance(module, RunningNorm)]
    assert sum(name.endswith("running_var") for name in names) == len(norms) == 6
    states = rng.random((4, S), np.float32) + 3
    network.forward(states)
    assert not views["stem_norm.running_mean"].any()  # asking changes nothing
    network.backward(np.zeros((4, ACTIONS)), np.zeros(4))
    with torch.no_grad():
        out = network.tower.stem(torch.from_numpy(states.reshape(4, PLANES, 9, 9)))
    np.testing.assert_allclose(views["stem_norm.running_mean"], 0.01 * out.mean((0, 2, 3)).numpy(), rtol=1e-4)
    assert not network.views(network.gradients)["stem_norm.running_mean"].any()


def test_the_value_is_wins_minus_losses() -> None:
    wdl = torch.log(torch.tensor([[0.5, 0.25, 0.25], [0.0, 1.0, 0.0], [0.1, 0.0, 0.9]]))
    torch.testing.assert_close(expectation(wdl), torch.tensor([0.25, 0.0, -0.8]))


@pytest.mark.parametrize("shape", [(S + 1, ACTIONS), (S, 8)])
def test_another_shape_is_a_settings_error(shape: tuple[int, int], rng: np.random.Generator) -> None:
    with pytest.raises(SettingsError, match="81 squares"):
        ActorCriticResTower(*shape, settings(), rng)


def test_the_squeeze_can_be_left_out(rng: np.random.Generator) -> None:
    plain = ActorCriticResTower(S, ACTIONS, settings(se_ratio=0.0), rng)
    assert not [name for name, _ in plain.layout if "squeeze" in name]
    assert np.isfinite(plain.forward(rng.random((2, S), np.float32))[0]).all()


@pytest.mark.parametrize("bad", [{"blocks": -1}, {"se_ratio": 2.0}, {"policy_head": "magic"}, {"channels": 0}])
def test_impossible_settings_are_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(SettingsError):
        settings(**bad) if "policy_head" not in bad else NetworkSettings(policy="resnet", **bad)


@pytest.mark.parametrize("few", [False, True])
@pytest.mark.parametrize("head", HEADS)
def test_listed_moves_get_the_logits_and_gradients_that_all_actions_would_give_them(
    head: Head, few: bool, rng: np.random.Generator
) -> None:
    K = 9
    dense = double(head, rng)
    sparse = ActorCriticResTower(S + K, K, settings(head), rng, np.float64)
    sparse.parameters[:] = dense.parameters
    planes, lists = boards(rng, 4, few), np.full((4, K), -1.0)
    for row, count in zip(lists, (1, 4, K, 6), strict=True):
        row[:count] = rng.choice(ACTIONS, count, replace=False)
    lists[2, 0], lists[2, 1] = 12_959, 12_960  # the last move on the board, the first drop
    taken = lists >= 0
    rows, actions = np.nonzero(taken)[0], lists[taken].astype(int)
    d_logits, d_values = np.where(taken, rng.normal(size=(4, K)), 0.0), rng.normal(size=4)
    d_dense = np.zeros((4, ACTIONS))
    d_dense[rows, actions] = d_logits[taken]
    states = np.hstack([planes, lists])

    all_logits, values = dense.forward(planes)
    dense.backward(d_dense, d_values)
    logits, same_values = sparse.forward(states)
    sparse.backward(d_logits, d_values)

    np.testing.assert_allclose(logits[taken], all_logits[rows, actions], atol=1e-12)
    np.testing.assert_allclose(same_values, values, atol=1e-12)
    np.testing.assert_allclose(sparse.gradients, dense.gradients, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("part", [list[float](), [5.0, 161.0], [13_000.0, 13_526.0]])
def test_lists_of_board_moves_or_drops_alone_and_of_nothing(part: list[float], rng: np.random.Generator) -> None:
    dense = double("attention", rng)
    sparse = ActorCriticResTower(S + 2, 2, settings(), rng, np.float64)
    sparse.parameters[:] = dense.parameters
    planes = boards(rng, 3, True)
    lists = np.full((3, 2), -1.0)
    lists[1, : len(part)] = part
    logits, values = sparse.forward(np.hstack([planes, lists]))
    sparse.backward(np.zeros_like(logits), np.ones(3))
    all_logits, same_values = dense.forward(planes)
    for place, action in enumerate(part):
        assert logits[1, place] == pytest.approx(all_logits[1, int(action)])
    np.testing.assert_allclose(values, same_values, atol=1e-12)
    assert np.isfinite(sparse.gradients).all()


@pytest.mark.parametrize("few", [False, True])
@pytest.mark.parametrize("head", HEADS)
def test_evaluation_agrees_with_forward_and_sees_every_change_of_the_parameters(
    head: Head, few: bool, rng: np.random.Generator
) -> None:
    network, states = double(head, rng), boards(rng, 3, few)
    before, _ = network.evaluate(states)
    network.parameters += 0.01
    after = network.evaluate(states)
    for ours, theirs in zip(after, network.forward(states), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-10)
    assert not np.allclose(after[0], before)


@pytest.mark.parametrize(("state_dim", "n_actions"), [(S, 9), (S + 8, 9), (9, 9)])
def test_a_state_that_is_not_planes_and_a_list_is_refused(state_dim: int, n_actions: int) -> None:
    with pytest.raises(SettingsError, match="81 squares"):
        ActorCriticResTower(state_dim, n_actions, settings(), np.random.default_rng(0))


@pytest.mark.parametrize("head", HEADS)
def test_torch_and_compiled_code_give_the_same_outputs_and_gradients(head: Head, rng: np.random.Generator) -> None:
    states, d_logits, d_values = boards(rng, 5, True), rng.normal(size=(5, ACTIONS)), rng.normal(size=5)
    found = []
    for backend in ("torch", "compiled"):
        network = ActorCriticResTower(S, ACTIONS, settings(head, backend=backend), np.random.default_rng(1), np.float64)
        outputs = network.forward(states)
        network.backward(d_logits, d_values)
        found.append((*outputs, network.gradients))
    for plain, fast in zip(*found, strict=True):
        np.testing.assert_allclose(fast, plain, rtol=1e-8, atol=1e-8)


def test_without_numba_torch_computes_the_convolutions(monkeypatch: pytest.MonkeyPatch) -> None:
    assert convolutions("auto").name == "compiled"
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "numba" else find(name))
    assert convolutions("auto").name == convolutions("torch").name == "torch"
    with pytest.raises(SettingsError, match="needs numba"):
        convolutions("compiled")


@pytest.mark.slow
def test_the_torch_backend_trains_and_plays_where_numba_cannot_be_imported() -> None:
    program = """
import sys
sys.modules["numba"] = sys.modules["llvmlite"] = None
import numpy as np
from understudy.games.shogi.checkpoint import new_network
from understudy.games.shogi.inference import make_evaluator
from understudy.settings import NetworkSettings
network = new_network(NetworkSettings(policy="resnet", blocks=1, channels=4, backend="torch"))
states = np.zeros((2, network.state_dim), np.float32)
logits, values = network.forward(states)
network.backward(np.ones_like(logits), np.ones_like(values))
assert np.abs(network.gradients).sum() > 0
evaluate, _ = make_evaluator(network, "torch")
evaluate(states.reshape(2, -1, 9, 9))
"""
    subprocess.run([sys.executable, "-c", program], check=True)
