from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from learning.small import NETWORKS, A, S, assert_same_state, make
from understudy.learning.imitation import Examples, Imitation, imitate
from understudy.learning.trainer import Trainer


def examples(seed: int, rows: int = 200) -> Examples:
    """The action is told by the first feature; the last one is not held by the examples."""
    rng = np.random.default_rng(seed)
    states = rng.random((rows, S), np.float32)
    states[:, -1] = 0
    return Examples(states, (states[:, 0] * A).astype(np.int64), np.arange(0, rows, 20))


def run(trainer: Trainer, epochs: int = 60) -> Imitation:
    chance = np.random.default_rng(3)

    def fill(states: NDArray[np.float32]) -> None:
        states[:, -1] = chance.random(len(states), np.float32)

    return imitate(trainer, examples(0), examples(1, 60), fill=fill, epochs=epochs)


@pytest.mark.parametrize("network", NETWORKS)
def test_what_others_decided_is_learned_and_holds_on_games_not_seen(network: str) -> None:
    trainer = make(network, learning_rate=1e-2, max_grad_norm=0.0)
    done = run(trainer)
    assert done.loss_before == pytest.approx(np.log(A), abs=0.1)
    assert done.loss < 0.5
    assert done.accuracy > 0.8


def test_the_policy_does_not_listen_to_what_the_examples_do_not_hold() -> None:
    trainer = make(learning_rate=1e-2)
    run(trainer)
    states = np.full((2, S), 0.5, np.float32)
    states[:, 0] = 0.9
    states[1, -1] = 1.0
    logits, _ = trainer.network.forward(trainer.normalizer.apply(states))
    assert logits[0].argmax() == logits[1].argmax() == A - 1


def test_the_best_policy_is_kept_and_values_stay_as_they_were() -> None:
    trainer = make(learning_rate=0.5)  # so large a step makes it worse again
    done = run(trainer, epochs=8)
    logits, _ = trainer.network.forward(trainer.normalizer.apply(examples(1, 60).states))
    assert done.loss <= done.loss_before
    assert np.isfinite(logits).all()
    assert trainer.counters()["games"] == 0


def test_the_same_seed_gives_the_same_policy() -> None:
    first, second = make(), make()
    assert run(first, epochs=3) == run(second, epochs=3)
    assert_same_state(first, second)
