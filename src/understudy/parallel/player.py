"""A worker's work: play many matches at once, ask the network for all of them in one batch, and write it all down."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.errors import SettingsError
from understudy.games.game import Game, Singles, open_game
from understudy.learning.losses import chosen, log_softmax
from understudy.learning.normalizer import StateNormalizer
from understudy.models.state import ModelSpec
from understudy.networks.factory import model_factory
from understudy.networks.network import Floats, Network
from understudy.parallel.rollout import Rollout


@dataclass(frozen=True, slots=True)
class PlayerSpec:
    """All that is needed to make the players of a run, in any process."""

    game: str
    matches: int
    model: ModelSpec
    normalize: bool
    seed: int
    seed_offset: int

    def open(self, worker: int, incarnation: int = 0) -> Player:
        """The player of one worker; it needs weights before it can play."""
        game = open_game(self.game, self.matches)
        model = self.model
        network = model_factory(model.state_dim, len(model.actions), model.network, np.random.default_rng(0))
        player = Player(game, network, StateNormalizer(model.state_dim, self.normalize))
        player.worker, player.incarnation = worker, incarnation
        player.seed = self.seed + self.seed_offset * worker
        return player


class Player:
    """Plays the matches of one game with one network, rollout after rollout."""

    def __init__(self, game: Game, network: Network, normalizer: StateNormalizer) -> None:
        require_batches(network)
        self.game = game
        self.network = network
        self.normalizer = normalizer
        self.worker = 0
        self.seed = 0
        self.exploration = 0.0
        self.version = 0
        self.incarnation = 0
        self.generation = -1
        self._number = 0
        B = game.matches
        self._inputs = np.empty((B, game.state_dim), np.float32)
        self._legal = np.ones((B, len(game.actions)), np.bool_)
        self._returns, self._lengths = np.zeros(B, np.float32), np.zeros(B, np.int32)

    def begin(self, generation: int) -> None:
        """Begin all matches anew. The same seed, generation and incarnation give the same matches."""
        sequence = np.random.SeedSequence([self.seed, generation, self.incarnation])
        games, decisions = sequence.spawn(2)
        self.game.reset(games)
        self._rng = np.random.default_rng(decisions)
        self.generation = generation
        self._number = 0
        self._returns[:], self._lengths[:] = 0, 0

    def play(self, rollout: Rollout, go_on: Callable[[], bool] = lambda: True) -> bool:
        """Fill a rollout; False, leaving the matches where they are, as soon as `go_on` says no."""
        t = finals = games = 0
        while t < rollout.shape.steps and finals + self.game.matches <= rollout.shape.finals:
            if not go_on():
                return False
            ended, finals = self._step(rollout, t, finals)
            games += ended
            t += 1
        finals = self._write_tails(rollout, t - 1, finals)
        rollout.stamp(
            steps=t,
            finals=finals,
            version=self.version,
            generation=self.generation,
            incarnation=self.incarnation,
            number=self._number,
            worker=self.worker,
            games=games,
        )
        self._number += 1
        return True

    def _step(self, rollout: Rollout, t: int, finals: int) -> tuple[int, int]:
        """Decide once in every match; how many ended, and how many last positions are written by now."""
        game, states = self.game, rollout.states[t]
        game.observe(states)
        legal = None
        if game.masked:
            game.legal(self._legal)
            rollout.legal[t] = np.packbits(self._legal, axis=1)
            legal = self._legal
        logits, rollout.values[t] = self.network.evaluate(self.normalizer.apply(states, self._inputs))
        actions, rollout.log_probs[t] = draw_all(logits, legal, self.exploration, self._rng)
        sides = game.to_move()
        rollout.actions[t], rollout.sides[t] = actions, sides
        step = game.step(actions)
        rollout.rewards[t] = step.rewards
        self._returns += np.where(sides, -step.rewards, step.rewards)
        self._lengths += 1
        ended = np.logical_or(step.over, step.cut, out=rollout.ended[t])
        count = int(np.count_nonzero(ended))
        if count:
            rollout.returns[t], rollout.lengths[t] = self._returns, self._lengths
            self._returns[ended], self._lengths[ended] = 0, 0
            cut = np.flatnonzero(step.cut)
            after = t * game.matches + cut
            finals = self._write_finals(rollout, finals, step.finals[cut], step.final_sides[cut], after)
        return count, finals

    def _write_tails(self, rollout: Rollout, t: int, finals: int) -> int:
        """The positions of the matches that go on in the next rollout."""
        going = np.flatnonzero(~rollout.ended[t])
        self.game.observe(self._inputs)
        sides = self.game.to_move()[going]
        return self._write_finals(rollout, finals, self._inputs[going], sides, t * self.game.matches + going)

    def _write_finals(
        self, rollout: Rollout, at: int, states: Singles, sides: NDArray[np.int8], after: NDArray[np.int64]
    ) -> int:
        """Write last positions from the place `at` on; the place after them."""
        if not len(after):
            return at
        to = slice(at, at + len(after))
        rollout.final_states[to], rollout.final_sides[to], rollout.final_after[to] = states, sides, after
        _, rollout.final_values[to] = self.network.evaluate(self.normalizer.apply(states))
        return to.stop


def require_batches(network: Network) -> None:
    """Raise SettingsError for a network that must see the states of a match one after the other."""
    if network.sequential:
        raise SettingsError(
            f"network.policy is {network.settings.policy}; self-play decides for many matches at once, each from its "
            "state alone: use mlp."
        )


def draw_all(
    logits: Floats, legal: NDArray[np.bool_] | None, exploration: float, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Draw an action for every row, and the log-probability it was drawn with.

    The policy is a softmax over the legal actions, mixed with `exploration` parts of the uniform policy on them.
    """
    log_probs = log_softmax(logits, legal)
    # Gumbel's trick: the largest of log p + noise is distributed as p.
    noise = rng.standard_exponential(logits.shape, dtype=np.float32)
    np.log(np.maximum(noise, np.float32(1e-30), out=noise), out=noise)
    actions = np.argmax(log_probs - noise, axis=1)
    if not exploration:
        return actions, chosen(log_probs, actions).astype(np.float32)
    allowed = np.ones(logits.shape, np.bool_) if legal is None else legal[:, : logits.shape[1]]
    at_random = rng.random(len(actions)) < exploration
    random_actions = np.argmax(np.where(allowed, rng.random(logits.shape), -1.0), axis=1)
    actions = np.where(at_random, random_actions, actions)
    p = (1 - exploration) * np.exp(chosen(log_probs, actions)) + exploration / allowed.sum(axis=1)
    return actions, np.log(p).astype(np.float32)
