"""Models from before networks had a matrix from the inputs straight to the outputs."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from understudy import RLAgent
from understudy.models.live import Interface, LiveModel, new_model
from understudy.models.state import ModelState, read_model, to_bytes
from understudy.rundir import RunDir
from understudy.settings import NetworkSettings, TrainingSettings

KINDS = {
    "mlp": NetworkSettings(hidden=(8, 6)),
    "separate": NetworkSettings(hidden=(8, 6), separate=True),
    "linear": NetworkSettings(hidden=()),
    "conv": NetworkSettings(policy="conv", image=(2, 2, 1), kernels=(2,), filters=(3,), hidden=(5,)),
    "transformer": NetworkSettings(policy="transformer", width=8, heads=2, layers=1),
}


def as_it_was_written(state: ModelState) -> ModelState:
    """The same model in the layout of before."""
    layout = tuple(part for part in state.spec.layout if not part[0].endswith("skip"))
    arrays = dict(state.arrays)
    for vector in ("parameters", "adam_m", "adam_v"):
        pieces, offset = [], 0
        for name, shape in state.spec.layout:
            if not name.endswith("skip"):
                pieces.append(arrays[vector][offset : offset + math.prod(shape)])
            offset += math.prod(shape)
        arrays[vector] = np.concatenate(pieces)
    return dataclasses.replace(state, spec=dataclasses.replace(state.spec, layout=layout), arrays=arrays)


def outputs(state: ModelState, rows: NDArray[Any]) -> NDArray[Any]:
    return np.column_stack(LiveModel(state).network.forward(rows))


@pytest.mark.parametrize("kind", KINDS)
def test_an_older_model_decides_as_it_did(kind: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    state = new_model(Interface(4, ("a", "b", "c")), KINDS[kind], TrainingSettings(), seed=1)
    numbers = rng.normal(0, 0.3, state.arrays["parameters"].size).astype(np.float32)
    views = LiveModel(state).network.views(numbers)
    for name, part in views.items():
        if name.endswith("skip"):
            part[...] = 0
    state = dataclasses.replace(state, arrays={**state.arrays, "parameters": numbers, "adam_v": np.abs(numbers)})
    old = as_it_was_written(state)
    assert (len(old.spec.layout) < len(state.spec.layout)) == (kind in ("mlp", "separate", "conv"))
    path = tmp_path / "model.npz"
    path.write_bytes(to_bytes(old))
    rows = rng.normal(size=(6, 4)).astype(np.float32)
    found = read_model(path)
    assert found.spec == state.spec
    np.testing.assert_array_equal(outputs(found, rows), outputs(state, rows))
    for name, part in LiveModel(found).network.views(found.arrays["adam_v"]).items():
        assert (part > 0).all(), f"the first step of {name} would be a leap"


def test_a_run_of_before_goes_on(tmp_path: Path) -> None:
    def play(games: int, seed: int) -> float:
        won = 0.0
        with RLAgent(2, ["a", "b"], run_dir=tmp_path, online_training=True, seed=0) as agent:
            rng = np.random.default_rng(seed)
            for _ in range(games):
                for state in rng.normal(size=(10, 2)).astype(np.float32):
                    right = agent.select_action(state).action == int(state[0] > 0)
                    won += right / 10 / games
                    agent.observe_reward(float(right))
                agent.end_episode("Victory")
        return won

    play(3, 0)
    model = RunDir.at(tmp_path).model
    state = read_model(model)
    model.write_bytes(to_bytes(as_it_was_written(state)))
    play(150, 1)
    assert play(20, 2) > 0.8
    after = read_model(model)
    assert after.counters["games"] > state.counters["games"]
    assert np.any(LiveModel(after).network.views(after.arrays["parameters"])["skip"])
