"""Small games in NumPy, with what decides in them: enough to see whether the trainer learns with default settings."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.experience.episode import Episode
from understudy.learning.losses import log_softmax
from understudy.learning.trainer import Trainer
from understudy.networks.factory import model_factory
from understudy.settings import NetworkSettings, TrainingSettings

Singles = NDArray[np.float32]
Doubles = NDArray[np.float64]
Integers = NDArray[np.int64]

STEER_LENGTH = 40
BALANCE_LENGTH = 100


def default_trainer(states: int, actions: int, seed: int, **settings: Any) -> Trainer:
    network = model_factory(states, actions, NetworkSettings(), np.random.default_rng(seed))
    return Trainer(network, TrainingSettings(**settings), seed)


def log_policy(trainer: Trainer, states: Singles) -> Singles:
    """log π of every action in states of any shape (…, S)."""
    flat = trainer.normalizer.apply(states.reshape(-1, states.shape[-1]))
    logits, _ = trainer.network.evaluate(flat)
    return log_softmax(logits).reshape(*states.shape[:-1], -1).astype(np.float32)


def exploration(trainer: Trainer) -> float:
    """The share of random decisions that an agent would make with this model."""
    s = trainer.settings
    return float(
        s.exploration_final + (s.exploration - s.exploration_final) * 0.5 ** (trainer.games / s.exploration_half_life)
    )


def draw(trainer: Trainer, states: Singles, rng: np.random.Generator, explore: float) -> tuple[Integers, Singles]:
    """Actions for states of any shape, and the log-probabilities they were drawn with."""
    policy = np.exp(log_policy(trainer, states).astype(np.float64))
    mixed = np.log((1 - explore) * policy + explore / policy.shape[-1])
    actions = (mixed + rng.gumbel(size=mixed.shape)).argmax(axis=-1)
    return actions, np.take_along_axis(mixed, actions[..., None], axis=-1)[..., 0].astype(np.float32)


def best(trainer: Trainer, states: Singles) -> Integers:
    actions: Integers = log_policy(trainer, states).argmax(axis=-1)
    return actions


def steer(
    trainer: Trainer, rng: np.random.Generator, games: int, scale: float = 1.0, offset: float = 0.0
) -> list[Episode]:
    """Push a point to the origin. The reward is minus its distance (at most 2). It never ends, but is cut after 40."""
    S, A, L, R = _empty(games, STEER_LENGTH)
    x, v = rng.uniform(-1, 1, games), np.zeros(games)
    for t in range(STEER_LENGTH):
        S[:, t] = np.column_stack([x, v])
        A[:, t], L[:, t] = draw(trainer, S[:, t], rng, exploration(trainer))
        x, v = _steered(x, v, A[:, t], rng)
        R[:, t] = scale * (offset - np.minimum(np.abs(x), 2))
    finals = np.column_stack([x, v]).astype(np.float32)
    return [Episode(S[g], A[g], R[g], L[g], final_state=finals[g]) for g in range(games)]


def steer_well(trainer: Trainer, games: int = 200) -> float:
    """The mean return of the greedy policy: about −67 untrained, −2.5 at best."""
    rng, total = np.random.default_rng(99), 0.0
    x, v = rng.uniform(-1, 1, games), np.zeros(games)
    for _ in range(STEER_LENGTH):
        x, v = _steered(x, v, best(trainer, np.column_stack([x, v]).astype(np.float32)), rng)
        total -= float(np.minimum(np.abs(x), 2).mean())
    return total


def _steered(x: Doubles, v: Doubles, actions: Integers, rng: np.random.Generator) -> tuple[Doubles, Doubles]:
    v = v + 0.1 * (actions - 1)
    return x + 0.3 * v + 0.02 * rng.standard_normal(len(x)), v


def balance(
    trainer: Trainer, rng: np.random.Generator, games: int, scale: float = 1.0, player: Trainer | None = None
) -> list[Episode]:
    """Keep a point that is pushed away from the origin within 1 of it: a reward for every decision until it is lost."""
    player = player or trainer
    S, A, L, _ = _empty(games, BALANCE_LENGTH + 1)
    x, v = rng.uniform(-0.2, 0.2, (2, games))
    lengths, alive = np.zeros(games, np.int64), np.ones(games, np.bool_)
    for t in range(BALANCE_LENGTH):
        S[:, t] = np.column_stack([x, v])
        A[:, t], L[:, t] = draw(player, S[:, t], rng, exploration(trainer))
        lengths += alive
        x, v = _pushed(x, v, A[:, t])
        alive &= np.abs(x) < 1
    S[:, BALANCE_LENGTH] = np.column_stack([x, v])
    return [
        Episode(S[g, :n], A[g, :n], np.full(n, scale, np.float32), L[g, :n], final_state=S[g, n] if alive[g] else None)
        for g, n in enumerate(lengths)
    ]


def balance_well(trainer: Trainer, games: int = 200) -> float:
    """The mean length of a game of the greedy policy: about 15 untrained, 100 at best."""
    rng = np.random.default_rng(99)
    x, v = rng.uniform(-0.2, 0.2, (2, games))
    alive, total = np.ones(games, np.bool_), 0.0
    for _ in range(BALANCE_LENGTH):
        total += float(alive.mean())
        x, v = _pushed(x, v, best(trainer, np.column_stack([x, v]).astype(np.float32)))
        alive &= np.abs(x) < 1
    return total


def _pushed(x: Doubles, v: Doubles, actions: Integers) -> tuple[Doubles, Doubles]:
    v = v + 0.1 * (2 * actions - 1) + 0.08 * x
    return x + 0.15 * v, v


def _empty(games: int, length: int) -> tuple[Singles, Integers, Singles, Singles]:
    numbers = np.zeros((games, length), np.float32)
    return np.zeros((games, length, 2), np.float32), numbers.astype(np.int64), numbers.copy(), numbers
