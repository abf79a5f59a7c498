from __future__ import annotations

import numpy as np
import pytest

from understudy.learning.optimizers import EPSILON, Adam, clip_global_norm, decayed


def test_adam_takes_the_steps_of_the_paper() -> None:
    rng = np.random.default_rng(0)
    parameters = rng.normal(size=50)
    theta, m, v = parameters.copy(), np.zeros(50), np.zeros(50)
    adam = Adam(parameters, 0.01)
    for t, scale in enumerate((1, 1e-6, 100, 0, 1), start=1):
        g = scale * rng.normal(size=50)
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
        m_hat, v_hat = m / (1 - 0.9**t), v / (1 - 0.999**t)
        theta = theta - 0.01 * m_hat / (np.sqrt(v_hat) + EPSILON)
        adam.step(g)
        np.testing.assert_allclose(parameters, theta, rtol=1e-10)


def test_parameters_of_a_part_share_one_scale() -> None:
    rng = np.random.default_rng(0)
    parameters = rng.normal(size=50)
    theta, m, v = parameters.copy(), np.zeros(50), np.zeros(50)
    adam = Adam(parameters, 0.01, parts=(20, 30))
    for t, scale in enumerate((1, 1e-6, 100, 0, 1), start=1):
        g = scale * rng.normal(size=50)
        square = np.concatenate([np.full(20, (g[:20] ** 2).mean()), np.full(30, (g[20:] ** 2).mean())])
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * square
        m_hat, v_hat = m / (1 - 0.9**t), v / (1 - 0.999**t)
        theta = theta - 0.01 * m_hat / (np.sqrt(v_hat) + EPSILON)
        adam.step(g)
        np.testing.assert_allclose(parameters, theta, rtol=1e-10)
    np.testing.assert_allclose(adam.v, v, rtol=1e-10)


def test_moments_of_an_older_model_are_averaged_over_each_part_and_newer_ones_are_kept_bit_for_bit() -> None:
    adam = Adam(np.zeros(4, np.float32), 0.1, parts=(2, 2))
    adam.restore(np.arange(4, dtype=np.float32), np.array([1, 3, 5, 5], np.float32), 7)
    np.testing.assert_array_equal(adam.v, [2, 2, 5, 5])
    np.testing.assert_array_equal(adam.m, [0, 1, 2, 3])
    assert adam.steps == 7
    odd = np.repeat(np.float32(0.1), 4)
    adam.restore(odd, odd, 8)
    np.testing.assert_array_equal(adam.v, odd)


def test_adam_moves_against_the_gradient_in_place() -> None:
    parameters = np.zeros(3, np.float32)
    Adam(parameters, 0.1).step(np.array([1, -1, 0], np.float32))
    np.testing.assert_allclose(parameters, [-0.1, 0.1, 0], rtol=1e-4)


def test_adam_goes_on_from_its_saved_state() -> None:
    gradients = np.random.default_rng(0).normal(size=(4, 20)).astype(np.float32)
    whole, parts = np.ones(20, np.float32), np.ones(20, np.float32)
    uninterrupted, first = Adam(whole, 0.1), Adam(parts, 0.1)
    for gradient in gradients:
        uninterrupted.step(gradient)
    for gradient in gradients[:2]:
        first.step(gradient)
    second = Adam(parts, 0.1)
    second.m[:], second.v[:], second.steps = first.m, first.v, first.steps
    for gradient in gradients[2:]:
        second.step(gradient)
    np.testing.assert_array_equal(parts, whole)


@pytest.mark.parametrize(
    ("max_norm", "expected"), [(1.0, [0.6, 0.8]), (5.0, [3.0, 4.0]), (50.0, [3.0, 4.0]), (0.0, [3.0, 4.0])]
)
def test_clipping_shortens_only_what_is_longer(max_norm: float, expected: list[float]) -> None:
    gradients = np.array([3, 4], np.float32)
    assert clip_global_norm(gradients, max_norm) == 5
    np.testing.assert_allclose(gradients, expected, rtol=1e-6)


def test_clipping_reports_a_norm_that_is_not_a_number() -> None:
    gradients = np.array([1, np.nan], np.float32)
    assert np.isnan(clip_global_norm(gradients, 1.0))


def test_the_step_size_is_half_after_its_half_life_and_never_below_a_tenth() -> None:
    assert decayed(0.01, 800, 0) == 0.01
    assert decayed(0.01, 800, 800) == 0.005
    assert decayed(0.01, 800, 10**9) == pytest.approx(0.001)
    assert decayed(0.01, 0, 10**9) == 0.01
