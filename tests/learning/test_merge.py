from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from understudy.learning.merge import Learned, merged

NAMES = ("parameters", "adam_m", "adam_v", "normalizer_count", "normalizer_sums", "normalizer_squares")


def learned(steps: int = 0, adam_steps: int = 0, **arrays: list[float] | NDArray[np.float64]) -> Learned:
    """A model of which only the given arrays differ from zero."""
    zeros = {name: np.zeros(1 if name == "normalizer_count" else 2) for name in NAMES}
    counters = {"updates": steps // 10, "games": steps // 10, "steps": steps, "adam_steps": adam_steps}
    return Learned(zeros | {name: np.array(array) for name, array in arrays.items()}, counters)


def weights(head: list[float], trained: list[float]) -> list[float]:
    """What becomes of weights that began as 1, 1."""
    base = learned(parameters=[1.0, 1.0])
    result: list[float] = (
        merged(learned(10, parameters=head), base, learned(10, parameters=trained)).arrays["parameters"].tolist()
    )
    return result


def test_what_the_head_has_not_learned_is_added_in_full() -> None:
    assert weights(head=[3.0, 1.0], trained=[1.0, 2.0]) == [3.0, 2.0]


def test_a_step_that_the_head_has_made_already_counts_half_and_less_if_it_went_further() -> None:
    assert weights(head=[3.0, 1.0], trained=[3.0, 1.0]) == [4.0, 1.0]
    assert weights(head=[7.0, 1.0], trained=[3.0, 1.0]) == [7.5, 1.0]


def test_a_step_back_is_made_as_if_it_had_come_later() -> None:
    assert weights(head=[3.0, 1.0], trained=[0.0, 1.0]) == [2.0, 1.0]


def test_a_head_that_only_has_other_settings_takes_the_whole_step() -> None:
    assert weights(head=[1.0, 1.0], trained=[3.0, -2.0]) == [3.0, -2.0]


def test_moments_lie_between_the_two_by_what_each_learned_from_and_adams_clock_goes_with_them() -> None:
    base = learned(100, 40, adam_m=[9.0, 9.0], adam_v=[9.0, 9.0])
    head = learned(130, 60, adam_m=[1.0, -1.0], adam_v=[4.0, 0.0])
    trained = learned(110, 44, adam_m=[5.0, 1.0], adam_v=[0.0, 8.0])
    both = merged(head, base, trained)
    np.testing.assert_allclose(both.arrays["adam_m"], [2.0, -0.5])
    np.testing.assert_allclose(both.arrays["adam_v"], [3.0, 2.0])
    assert both.counters == {"updates": 14, "games": 14, "steps": 140, "adam_steps": 56}


def test_moments_stay_bounded_however_many_trainers_overlap() -> None:
    head, bases = learned(), [learned()] * 8
    for update in range(400):
        base = bases[update % 8]
        gradient = np.array([1.0, -1.0])
        moved = 0.1 * base.arrays["adam_m"] + 0.9 * gradient
        trained = Learned({**base.arrays, "adam_m": moved}, {**base.counters, "steps": base.counters["steps"] + 10})
        head = bases[update % 8] = merged(head, base, trained)
    np.testing.assert_allclose(head.arrays["adam_m"], [1.0, -1.0], atol=0.01)


def sums(states: NDArray[np.float64], steps: int, kept: float = 1.0, before: Learned | None = None) -> Learned:
    """The statistics after these states; of those before, a share is kept."""
    arrays = {
        "normalizer_count": np.array([float(len(states))]),
        "normalizer_sums": states.sum(axis=0),
        "normalizer_squares": np.square(states).sum(axis=0),
    }
    if before is not None:
        arrays = {name: array + kept * before.arrays[name] for name, array in arrays.items()}
    return learned(steps, **arrays)


@pytest.mark.parametrize("kept", [1.0, 0.9])
def test_statistics_of_states_are_those_of_all_states_seen_and_fade_as_in_a_row(kept: float) -> None:
    rng = np.random.default_rng(0)
    old, one, two = (rng.normal(size=(rows, 2)) for rows in (100, 10, 10))
    base = sums(old, 100)
    head, trained = sums(one, 110, kept, base), sums(two, 110, kept, base)
    in_a_row, both = sums(two, 120, kept, head), merged(head, base, trained)
    for name in ("normalizer_count", "normalizer_sums", "normalizer_squares"):
        np.testing.assert_allclose(both.arrays[name], in_a_row.arrays[name])


def test_an_array_without_a_rule_is_blended_and_one_that_an_older_model_lacks_is_taken_over() -> None:
    base, head, trained = learned(0), learned(10, novel=[1.0]), learned(10, novel=[3.0])
    assert merged(head, base, trained).arrays["novel"].tolist() == [2.0]
    assert merged(learned(10), base, trained).arrays["novel"].tolist() == [3.0]
    assert merged(head, base, learned(10)).arrays["novel"].tolist() == [1.0]


def test_the_range_of_rewards_is_the_widest_that_either_side_has_seen() -> None:
    base = learned(reward_range=[1.0, 1.0, 0.0])
    head, trained = learned(10, reward_range=[5.0, 1.0, 0.0]), learned(10, reward_range=[1.0, 2.0, 1.0])
    assert merged(head, base, trained).arrays["reward_range"].tolist() == [5.0, 2.0, 1.0]
