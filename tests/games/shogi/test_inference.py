from __future__ import annotations

from typing import Literal

import numpy as np
import pytest
import torch

from understudy.errors import SettingsError
from understudy.games.shogi.batch import SHAPE
from understudy.games.shogi.checkpoint import new_network
from understudy.games.shogi.inference import BACKENDS, TowerInPlay, installed, make_evaluator
from understudy.games.shogi.network.convolutions import TorchConvolutions
from understudy.games.shogi.network.res_tower import ActorCriticResTower
from understudy.settings import NetworkSettings


def network(head: Literal["attention", "linear"] = "attention") -> ActorCriticResTower:
    """With weights and running statistics that a trained one could have."""
    made = new_network(NetworkSettings(policy="resnet", blocks=2, channels=16, policy_head=head), seed=1)
    rng = np.random.default_rng(2)
    for name, view in made.views(made.parameters).items():
        noise = rng.normal(scale=0.1, size=view.shape)
        view[...] += np.abs(noise) if "var" in name else noise
    return made


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("head", ["attention", "linear"])
def test_every_backend_gives_what_the_network_gives(backend: str, head: Literal["attention", "linear"]) -> None:
    if backend not in installed():
        pytest.skip(f"{backend} is not installed")
    made = network(head)
    evaluate, line = make_evaluator(made, backend)
    assert backend in line
    for n in (1, 5):
        planes = np.random.default_rng(n).random((n, *SHAPE), np.float32)
        with torch.no_grad():
            expected, wdl = made.tower(torch.from_numpy(planes))
        logits, probabilities = evaluate(planes)
        np.testing.assert_allclose(logits, expected.numpy(), atol=2e-4)
        np.testing.assert_allclose(probabilities, torch.softmax(wdl, 1).numpy(), atol=1e-4)


def test_what_is_exported_is_constant_and_the_network_goes_on_learning() -> None:
    made = network()
    assert not any(
        weights.requires_grad for weights in TowerInPlay(made.tower, TorchConvolutions()).tower.weights
    )  # else no export works
    assert all(parameter.requires_grad for parameter in made.tower.parameters())


def test_an_evaluator_is_a_copy_that_leaves_the_network_alone() -> None:
    made = network()
    before = made.parameters.copy()
    evaluate, _ = make_evaluator(made, "torch")
    planes = np.random.default_rng(0).random((1, *SHAPE), np.float32)
    first = evaluate(planes)[0].copy()
    np.testing.assert_array_equal(made.parameters, before)
    made.parameters[:] = 0
    np.testing.assert_array_equal(evaluate(planes)[0], first)
    made.parameters[:] = before
    made.forward(planes.reshape(1, -1))
    made.backward(np.ones((1, 13_527)), np.ones(1))  # can still learn


def test_the_fastest_is_measured_and_reported() -> None:
    _, line = make_evaluator(network(), batch=2, seconds=0.01)
    assert all(name in line for name in installed())
    assert line.startswith(tuple(installed()))


def test_a_backend_that_is_not_there_is_a_settings_error() -> None:
    with pytest.raises(SettingsError, match="torch"):
        make_evaluator(network(), "abacus")


def test_an_exported_network_gives_the_same_probabilities_in_onnxruntime() -> None:
    pytest.importorskip("onnx")
    onnxruntime = pytest.importorskip("onnxruntime")
    made = network()
    session = onnxruntime.InferenceSession(made.to_onnx(), providers=["CPUExecutionProvider"])
    planes = np.random.default_rng(4).random((3, *SHAPE), np.float32)
    with torch.no_grad():
        expected = torch.softmax(made.tower(torch.from_numpy(planes))[0], dim=1).numpy()
    logits, _ = session.run(None, {"planes": planes})
    found = torch.softmax(torch.from_numpy(logits), dim=1).numpy()
    np.testing.assert_allclose(found, expected, atol=1e-5)
