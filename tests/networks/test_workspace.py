from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from understudy.networks.transformer import TransformerDecisionModel
from understudy.networks.workspace import Workspace
from understudy.settings import NetworkSettings


def test_arrays_of_a_pass_do_not_overlap_and_are_those_of_the_pass_before() -> None:
    space = Workspace(np.float32)
    for _ in range(2):
        space.begin()
        first, second, third = space.take(3, 5), space.zeros(7), space.take(2)
        first[...], second[...], third[...] = 1, 2, 3
        assert (first == 1).all()
        assert (second == 2).all()
        assert (third == 3).all()
    space.begin()
    assert np.shares_memory(space.take(3, 5), first)


def test_zeros_are_zero_where_something_was_before() -> None:
    space = Workspace(np.float64)
    for _ in range(3):
        space.begin()
        array = space.zeros(4, 4)
        assert not array.any()
        array[...] = np.nan


def test_scratch_is_used_again() -> None:
    space = Workspace(np.float32)
    for _ in range(2):
        space.begin()
        with space.scratch():
            scratch = space.take(100)
        kept = space.take(100)
    assert np.shares_memory(scratch, kept)


def test_a_pass_larger_than_any_before_gets_its_memory() -> None:
    space = Workspace(np.float32)
    for size in (10, 1000, 100_000):
        space.begin()
        array = space.take(size)
        array[...] = size
        assert len(array) == size


@pytest.mark.parametrize("rows", [2000, 1500])
def test_training_passes_after_the_first_take_no_new_memory(rows: int) -> None:
    rng = np.random.default_rng(0)
    settings = NetworkSettings(policy="transformer", context=16, width=32, heads=4, layers=2)
    network = TransformerDecisionModel(20, 5, settings, rng)
    states, d_logits = rng.standard_normal((2000, 20), np.float32), np.ones((2000, 5), np.float32)

    def train(rows: int) -> None:
        network.forward(states[:rows])
        network.backward(d_logits[:rows], d_logits[:rows, 0])

    train(2000)
    train(2000)
    tracemalloc.start()
    train(rows)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < rows * settings.width * 4 * 4  # less than one layer's activations: only masks
