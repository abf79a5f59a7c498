from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from understudy.learning.normalizer import StateNormalizer

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
    for _ in range(50):  # so many that rounding leaves a spread above zero in some
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
