from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from learning.small import NETWORKS
from understudy.learning import normalizers
from understudy.learning.normalizers import Outlier, StateNormalizer
from understudy.networks.factory import model_factory
from understudy.settings import NetworkSettings

Singles = NDArray[np.float32]


def normal(mean: float, spread: float, rows: int = 4000, seed: int = 0) -> Singles:
    return np.random.default_rng(seed).normal(mean, spread, (rows, 3)).astype(np.float32)


@pytest.mark.parametrize(("mean", "spread"), [(0, 1), (1e4, 1), (-5, 1e-3), (1e6, 10), (0, 1e-6), (3e5, 1e5)])
def test_features_of_any_size_come_out_with_mean_zero_and_spread_one(mean: float, spread: float) -> None:
    normalizer = StateNormalizer(3)
    states = normal(mean, spread)
    for part in np.array_split(states, 40):
        normalizer.update(part)
    normalised = normalizer.apply(states)
    assert normalised.dtype == np.float32
    np.testing.assert_allclose(normalised.mean(axis=0), 0, atol=0.01)
    np.testing.assert_allclose(normalised.std(axis=0), 1, atol=0.01)


def test_mean_and_scale_are_those_of_all_states_seen() -> None:
    states = normal(3, 2)
    normalizer = StateNormalizer(3)
    normalizer.update(states[:1000])
    normalizer.update(states[1000:])
    np.testing.assert_allclose(normalizer.mean, states.mean(axis=0), rtol=1e-4)
    np.testing.assert_allclose(normalizer.scale, 1 / states.std(axis=0), rtol=1e-4)


def test_what_two_processes_saw_adds_up() -> None:
    base, mine, theirs, both = (StateNormalizer(3) for _ in range(4))
    first, second, third = normal(1e4, 1, seed=1), normal(1e4, 2, seed=2), normal(1e4, 3, seed=3)
    base.update(first)
    for normalizer, parts in ((mine, (first, second)), (theirs, (first, third)), (both, (first, second, third))):
        for part in parts:
            normalizer.update(part)
    merged = StateNormalizer(3)
    merged.restore(
        theirs.count + (mine.count - base.count),
        theirs.sums + (mine.sums - base.sums),
        theirs.squares + (mine.squares - base.squares),
    )
    np.testing.assert_array_equal(merged.count, both.count)
    np.testing.assert_allclose(merged.mean, both.mean, rtol=1e-7)
    np.testing.assert_allclose(merged.scale, both.scale, rtol=1e-5)


@pytest.mark.parametrize("constant", [0.0, 0.1, 0.3, 7.7, 12345.678, 1e30])
def test_a_constant_feature_becomes_zero_and_keeps_its_unit(constant: float) -> None:
    normalizer = StateNormalizer(1)
    states = np.full((333, 1), constant, np.float32)
    for _ in range(50):  # so often that rounding leaves some standard deviations above zero
        normalizer.update(states)
    assert normalizer.scale[0] == 1
    np.testing.assert_allclose(normalizer.apply(states), 0, atol=1e-6)


def test_outliers_are_limited_to_ten() -> None:
    normalizer = StateNormalizer(3)
    normalizer.update(normal(0, 1))
    np.testing.assert_array_equal(normalizer.apply(np.array([[1e6, -1e6, 11]], np.float32)), [[10, -10, 10]])


def test_before_any_state_it_changes_nothing_within_its_limits() -> None:
    states = normal(0, 1)
    np.testing.assert_array_equal(StateNormalizer(3).apply(states), states)


def test_disabled_it_is_the_identity_and_keeps_no_sums() -> None:
    normalizer = StateNormalizer(3, enabled=False)
    states = normal(1e4, 100)
    normalizer.update(states)
    assert normalizer.count[0] == 0
    np.testing.assert_array_equal(normalizer.apply(states), states)
    np.testing.assert_array_equal(normalizer.apply(states[0], np.empty(3, np.float32)), states[0])


def test_a_single_state_in_play_is_normalised_like_a_batch() -> None:
    normalizer = StateNormalizer(3)
    states = normal(5, 2)
    normalizer.update(states)
    out = np.empty(3, np.float32)
    assert normalizer.apply(states[7], out) is out
    np.testing.assert_array_equal(out, normalizer.apply(states)[7])


def test_normalising_does_not_change_the_states_given() -> None:
    normalizer = StateNormalizer(3)
    states = normal(5, 2)
    kept = states.copy()
    normalizer.update(states)
    normalizer.apply(states)
    np.testing.assert_array_equal(states, kept)


# Wild values, and data that changes


def with_one(states: Singles, feature: int, row: int, value: float) -> Singles:
    changed = states.copy()
    changed[row, feature] = value
    return changed


@pytest.mark.parametrize("value", [1e9, -1e30])
def test_late_an_outlier_hardly_moves_the_statistics(value: float) -> None:
    normalizer = StateNormalizer(3)
    normalizer.update(normal(5, 2))
    normalizer.update(with_one(normal(5, 2, 100, seed=1), 1, 7, value))
    np.testing.assert_allclose(normalizer.mean, 5, atol=0.2)
    np.testing.assert_allclose(normalizer.scale, 1 / 2, rtol=0.1)


@pytest.mark.parametrize("value", [1e9, -1e30])
def test_early_an_outlier_moves_the_statistics_by_little_and_is_soon_forgotten(value: float) -> None:
    normalizer = StateNormalizer(3)
    normalizer.update(with_one(normal(5, 2, 100, seed=1), 1, 7, value))
    np.testing.assert_allclose(normalizer.mean, 5, atol=1)
    assert 1 / 6 < normalizer.scale[1] < 1 / 2
    for seed in range(2, 42):
        normalizer.update(normal(5, 2, 100, seed))
    np.testing.assert_allclose(normalizer.mean, 5, atol=0.2)
    np.testing.assert_allclose(normalizer.scale, 1 / 2, rtol=0.1)


def test_the_past_is_forgotten_beyond_the_horizon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(normalizers, "HORIZON", 2048.0)
    normalizer = StateNormalizer(3)
    normalizer.update(normal(0, 1))
    for seed in range(80):
        normalizer.update(normal(3, 0.5, 256, seed))
        assert normalizer.count[0] <= 4000  # the first batch alone is larger than the horizon
    assert normalizer.count[0] == pytest.approx(2048)
    np.testing.assert_allclose(normalizer.mean, 3, atol=0.05)
    np.testing.assert_allclose(normalizer.scale, 1 / 0.5, rtol=0.05)


def test_within_the_horizon_all_states_count_alike() -> None:
    one, other = StateNormalizer(3), StateNormalizer(3)
    first, second = normal(0, 1, seed=1), normal(3, 1, seed=2)
    for normalizer, parts in ((one, (first, second)), (other, (second, first))):
        for part in parts:
            normalizer.update(part)
    np.testing.assert_allclose(one.mean, other.mean, rtol=1e-6)
    np.testing.assert_allclose(one.scale, other.scale, rtol=1e-6)


def test_a_new_range_that_stays_is_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(normalizers, "HORIZON", 2048.0)
    normalizer = StateNormalizer(3)
    normalizer.update(normal(0, 1))
    normalizer.update(normal(1000, 50, 256))
    assert (normalizer.mean < 50).all()  # it might be a few wild values
    for seed in range(160):
        normalizer.update(normal(1000, 50, 256, seed))
    np.testing.assert_allclose(normalizer.mean, 1000, rtol=0.02)
    np.testing.assert_allclose(normalizer.scale, 1 / 50, rtol=0.1)
    assert not normalizer.outliers


@pytest.mark.parametrize("early", [True, False])
def test_the_value_of_a_feature_that_is_farthest_out_is_reported(early: bool) -> None:
    normalizer = StateNormalizer(3)
    if not early:
        normalizer.update(normal(5, 2))
        assert normalizer.outliers == []
    states = with_one(with_one(normal(5, 2, 300, seed=1), 0, 17, 1e6), 2, 250, -1e4)
    if not early:
        states[100, 2] = -1e3
    normalizer.update(states)
    assert normalizer.outliers == [Outlier(0, 17, 1e6), Outlier(2, 250, -1e4)]
    normalizer.update(normal(5, 2, 300, seed=2))
    assert normalizer.outliers == []


def test_features_that_hardly_moved_are_to_be_absorbed_and_others_are_not() -> None:
    normalizer = StateNormalizer(3)
    assert normalizer.update(normal(0, 1)) is None  # nothing was normalised before
    moved = normal(0.1, 1, seed=1)
    moved[:, 1] += 3
    shift = normalizer.update(moved)
    assert shift is not None
    assert (shift.gain[1], shift.offset[1]) == (1, 0)
    np.testing.assert_allclose(shift.offset[[0, 2]], 0.05, atol=0.03)
    assert (shift.gain[[0, 2]] != 1).all()


@pytest.mark.parametrize(
    "settings",
    [*NETWORKS.values(), NetworkSettings(hidden=(6,), separate=True), NetworkSettings(hidden=())],
    ids=[*NETWORKS, "separate", "linear"],
)
def test_a_network_that_absorbs_a_small_shift_stays_the_same_function_of_the_states(settings: NetworkSettings) -> None:
    rng = np.random.default_rng(0)
    network = model_factory(3, 4, settings, rng)
    network.parameters += rng.normal(0, 0.3, network.parameters.size).astype(np.float32)
    normalizer = StateNormalizer(3)
    normalizer.update(normal(50, 4))
    states, starts = normal(50, 4, 40, seed=2), np.array([0, 11, 30])
    before = [part.copy() for part in network.forward(normalizer.apply(states), starts)]
    shift = normalizer.update(normal(50.5, 4.2, 3000, seed=1))
    assert shift is not None
    unabsorbed = [part.copy() for part in network.forward(normalizer.apply(states), starts)]
    network.absorb(*shift)
    after = network.forward(normalizer.apply(states), starts)
    for was, without, now in zip(before, unabsorbed, after, strict=True):
        np.testing.assert_allclose(now, was, atol=2e-4)
        assert np.abs(without - was).max() > 0.01


def test_a_rare_but_correct_value_is_not_reported() -> None:
    rare = np.zeros((5000, 1), np.float32)
    rare[::500] = 0.25
    normalizer = StateNormalizer(1)
    normalizer.update(rare)
    normalizer.update(with_one(np.zeros((100, 1), np.float32), 0, 7, 0.5))  # 45 spreads from the mean
    assert normalizer.outliers == []
    normalizer.update(with_one(np.zeros((100, 1), np.float32), 0, 7, 50.0))
    assert [found.value for found in normalizer.outliers] == [50.0]
