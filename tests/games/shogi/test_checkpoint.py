from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from understudy.errors import ModelDamaged, ModelMismatch, ModelMissing, NonFiniteError
from understudy.games.shogi.checkpoint import Checkpoint, load_checkpoint, new_network, save_checkpoint
from understudy.settings import NetworkSettings

TINY = NetworkSettings(policy="resnet", blocks=1, channels=4, attention_width=4, value_width=4)


@pytest.mark.parametrize(
    "settings", [TINY, NetworkSettings(policy="resnet", blocks=2, channels=8, policy_head="linear", se_ratio=0.0)]
)
def test_a_checkpoint_of_any_size_comes_back(settings: NetworkSettings, tmp_path: Path) -> None:
    network = new_network(settings, seed=5)
    m = np.arange(network.parameters.size, dtype=np.float32)
    save_checkpoint(tmp_path / "net.npz", Checkpoint(network, {"adam_m": m}, {"games": 7}))
    loaded = load_checkpoint(tmp_path / "net.npz")
    assert loaded.network.settings == settings
    np.testing.assert_array_equal(loaded.network.parameters, network.parameters)
    np.testing.assert_array_equal(loaded.arrays["adam_m"], m)
    assert loaded.counters == {"games": 7}
    state = np.random.default_rng(0).random(46 * 81, np.float32)
    np.testing.assert_array_equal(loaded.network.step(state)[0], network.step(state)[0])


def test_what_is_no_checkpoint_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelMissing):
        load_checkpoint(tmp_path / "none.npz")
    (tmp_path / "noise.npz").write_bytes(b"noise")
    with pytest.raises(ModelDamaged):
        load_checkpoint(tmp_path / "noise.npz")
    np.savez(tmp_path / "other.npz", meta=np.array(b'{"kind": "another"}'), parameters=np.zeros(3))
    with pytest.raises(ModelMismatch):
        load_checkpoint(tmp_path / "other.npz")


def test_a_network_with_nan_never_replaces_a_good_one(tmp_path: Path) -> None:
    path, network = tmp_path / "net.npz", new_network(TINY)
    save_checkpoint(path, Checkpoint(network))
    before = path.read_bytes()
    network.parameters[3] = np.nan
    with pytest.raises(NonFiniteError):
        save_checkpoint(path, Checkpoint(network))
    assert path.read_bytes() == before
