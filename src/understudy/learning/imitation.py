"""Imitation: supervised training of the policy on examples of what somebody else decided."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from understudy.learning.batch import Samples
from understudy.learning.losses import chosen, log_softmax, policy_gradient, softmax, through_softmax
from understudy.learning.optimizers import clip_global_norm
from understudy.learning.trainer import Trainer
from understudy.networks.network import Floats, Integers


class Examples(NamedTuple):
    """States (N, S) and the action taken in each; `starts` are the rows at which games begin."""

    states: NDArray[np.float32]
    actions: Integers
    starts: Integers


class Imitation(NamedTuple):
    """How it went. Losses are −E[log π(a)] of examples that were not trained on; `accuracy` is on those, too."""

    loss_before: float
    loss: float
    accuracy: float
    epochs: int


def imitate(
    trainer: Trainer,
    examples: Examples,
    held_out: Examples,
    *,
    fill: Callable[[NDArray[np.float32]], None],
    epochs: int = 40,
    patience: int = 3,
) -> Imitation:
    """Train the policy on the examples until those held out are no longer predicted better; the best is kept.

    `fill` writes into states what the examples do not hold, anew for every pass. The value head is left as it is.
    """
    rng = np.random.default_rng([trainer.seed, 1])
    fill(examples.states)
    fill(held_out.states)
    trainer.normalizer.update(examples.states)
    before = best = _score(trainer, held_out)
    kept, since, done = trainer.state_arrays(), 0, 0
    while done < epochs and since < patience:
        done += 1
        fill(examples.states)
        _one_pass(trainer, examples, rng)
        now = _score(trainer, held_out)
        if now[0] < best[0]:
            best, kept, since = now, trainer.state_arrays(), 0
        else:
            since += 1
    trainer.restore(kept, trainer.counters())
    return Imitation(before[0], best[0], best[1], done)


def _one_pass(trainer: Trainer, examples: Examples, rng: np.random.Generator) -> None:
    network, n = trainer.network, len(examples.actions)
    nothing = np.zeros(n, np.float32)
    samples = Samples(
        states=trainer.normalizer.apply(examples.states),
        actions=examples.actions,
        legal=None,
        old_log_probs=nothing,
        advantages=np.ones(n, np.float32),
        targets=nothing,
        starts=examples.starts if network.sequential else None,
    )
    for part in samples.minibatches(trainer.settings.minibatch, rng):
        logits, values = network.forward(part.states, part.starts)
        policy = softmax(logits)
        loss = policy_gradient(policy.log_probs, part.actions, part.advantages)  # all advantages 1: likelihood
        _, d_logits = through_softmax(policy, part.actions, loss.d_log_probs)
        network.backward(d_logits, np.zeros_like(values))
        clip_global_norm(network.gradients, trainer.settings.max_grad_norm)
        trainer.adam.step(network.gradients)


def _score(trainer: Trainer, examples: Examples) -> tuple[float, float]:
    """(loss, accuracy)."""
    starts = examples.starts if trainer.network.sequential else None
    logits, _ = trainer.network.forward(trainer.normalizer.apply(examples.states), starts)
    log_probs: Floats = log_softmax(logits)
    hits = float((log_probs.argmax(axis=1) == examples.actions).mean())
    return -float(chosen(log_probs, examples.actions).mean()), hits
