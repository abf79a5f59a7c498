"""onnxruntime gives the same probabilities and values as the model."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from understudy import RLAgent
from understudy.cli import main
from understudy.errors import SettingsError
from understudy.models.live import Interface, LiveModel, new_model
from understudy.models.state import ModelState, read_model
from understudy.rundir import RunDir
from understudy.settings import NetworkSettings, TrainingSettings
from understudy.watch.onnx_export import onnx_bytes

pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

FEATURES = ("health", "gold", "enemies")
ACTIONS = ("ATTACK", "DEFEND", "EXPAND", "WAIT")


def states(count: int, seed: int) -> NDArray[np.float32]:
    rng = np.random.default_rng(seed)
    return np.asarray(rng.normal([1, 300, 10], [0.3, 200, 5], (count, 3)), np.float32)


def trained(folder: Path, **given: Any) -> Path:
    """A run whose model has weights, statistics and values that are not those it began with."""
    with RLAgent(3, ACTIONS, run_dir=folder, features=FEATURES, online_training=True, seed=1, **given) as agent:
        for game in range(6):
            for row in states(25, game):
                agent.observe_reward(7.0 * (agent.select_action(row).action == 1))
            agent.end_episode("Victory")
    return folder


def run_onnx(content: bytes, inputs: dict[str, NDArray[np.float32]]) -> dict[str, NDArray[np.float32]]:
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    return dict(zip([output.name for output in session.get_outputs()], session.run(None, inputs), strict=True))


def assert_same(state: ModelState, rows: NDArray[np.float32], content: bytes) -> None:
    model = LiveModel(state)
    logits, values = model.network.forward(model.trainer.normalizer.apply(rows.copy()))
    wide = np.exp(logits.astype(np.float64))
    found = run_onnx(content, {"states": rows})
    np.testing.assert_allclose(found["probabilities"], wide / wide.sum(axis=1, keepdims=True), atol=1e-5)
    np.testing.assert_allclose(found["values"], model.trainer.values.expand(values.copy()), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    "given",
    [{}, {"hidden": ()}, {"policy": "transformer"}],
    ids=["mlp", "linear", "transformer"],
)
def test_the_command_writes_what_the_bot_plays(tmp_path: Path, given: dict[str, Any]) -> None:
    run = RunDir.at(trained(tmp_path / "run", **given))
    assert main(["export", "--onnx", str(run.root), "--to", str(tmp_path)]) == 0
    state, rows = read_model(run.model), states(70, 99)
    rows[3] *= 1000  # beyond what normalised states may be
    content = (tmp_path / "model.onnx").read_bytes()
    assert_same(state, rows, content)
    about = onnxruntime.InferenceSession(content).get_modelmeta().custom_metadata_map
    assert json.loads(about["features"]) == list(FEATURES)
    assert json.loads(about["actions"]) == list(ACTIONS)


@pytest.mark.parametrize("separate", [True, False])
def test_value_networks_of_their_own_and_shared_ones(separate: bool) -> None:
    network = NetworkSettings(separate=separate)
    state = new_model(Interface(3, ACTIONS, None, FEATURES), network, TrainingSettings(), seed=3)
    noise = np.random.default_rng(5).normal(0, 0.3, state.arrays["parameters"].size).astype(np.float32)
    state = dataclasses.replace(state, arrays={**state.arrays, "parameters": noise})
    assert_same(state, states(20, 5), onnx_bytes(state))


def test_a_network_that_cannot_be_exported_is_refused() -> None:
    network = NetworkSettings(policy="conv", image=(6, 6, 2))
    state = new_model(Interface(72, ACTIONS), network, TrainingSettings(), seed=3)
    with pytest.raises(SettingsError, match="'conv' cannot be exported"):
        onnx_bytes(state)


def test_version_needs_onnx(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "--csv", "--version", "1", str(trained(tmp_path))]) == 1
    assert "--version goes with --onnx" in capsys.readouterr().err
