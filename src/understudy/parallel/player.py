"""Player: plays many matches at once, evaluates the network for all of them in one batch, and records the decisions."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.acting.sampling import draw_all
from understudy.errors import MatchesDamaged
from understudy.games.game import Game, Singles
from understudy.games.saved import generator_of, pack, unpack, unpacking
from understudy.learning.normalizers import StateNormalizer, ValueNormalizer
from understudy.models.state import ModelSpec
from understudy.networks.factory import model_factory
from understudy.networks.network import Network
from understudy.parallel.checked_game import CheckedGame
from understudy.parallel.league import with_league
from understudy.parallel.rollout import NO_RESULT, Rollout

logger = logging.getLogger(__name__)

STAGGER = 1000
"""Every match is restarted once within this many steps; otherwise matches of equal length would all end together."""


@dataclass(frozen=True, slots=True)
class PlayerSpec:
    """Everything needed to make the players of a run in any process."""

    game: str
    matches: int
    model: ModelSpec
    normalize: bool
    seed: int
    seed_offset: int
    league_share: float = 0.0
    versions: str = ""
    """The folder of the run's versions, for the league."""

    def open(self, worker: int, incarnation: int = 0, saved: bytes | None = None) -> Player:
        """The player of one worker; it needs weights before it can play and, without saved matches, a call of `begin`.

        If the saved matches cannot be used, it logs that and needs `begin` too.
        """
        game = with_league(self.game, self.matches, self.league_share, Path(self.versions))
        model = self.model
        network = model_factory(model.state_dim, len(model.actions), model.network, np.random.default_rng(0))
        player = Player(game, network, StateNormalizer(model.state_dim, self.normalize))
        player.worker, player.incarnation = worker, incarnation
        player.seed = self.seed + self.seed_offset * worker
        if saved is not None:
            try:
                player.restore(saved)
            except MatchesDamaged as error:
                logger.warning("Worker %d begins new matches: %s", worker, error)
        return player


class Player:
    """Plays the matches of one game with one network, rollout after rollout."""

    def __init__(self, game: Game, network: Network, normalizer: StateNormalizer) -> None:
        self.game = game
        self._game = CheckedGame(game)
        self.network = network
        self.normalizer = normalizer
        self.values = ValueNormalizer(enabled=not network.bounded_value)
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
        self._steps = 0
        self._anew_at = np.zeros(B, np.int64)
        self._in_play = network.in_play(B)
        self._before = np.zeros((B, network.reach, game.state_dim), np.float32)  # the newest last
        self._before_lengths = np.zeros(B, np.int64)

    def begin(self, generation: int) -> None:
        """Begin new matches. The same seed, generation and incarnation give the same matches."""
        sequence = np.random.SeedSequence([self.seed, generation, self.incarnation])
        games, decisions, phases = sequence.spawn(3)
        self._game.reset(games)
        self._rng = np.random.default_rng(decisions)
        self.generation = generation
        self._number = 0
        self._returns[:], self._lengths[:], self._before_lengths[:] = 0, 0, 0
        self._steps = 0
        self._anew_at[:] = staggered(len(self._anew_at), np.random.default_rng(phases))

    def snapshot(self) -> bytes | None:
        """The matches and the states of their generators, for `restore`; None if the game cannot save its matches."""
        matches = self.game.snapshot()
        if matches is None:
            return None
        facts = {
            "rng": self._rng.bit_generator.state,
            "generation": self.generation,
            "incarnation": self.incarnation,
            "number": self._number,
            "steps": self._steps,
        }
        arrays: dict[str, NDArray[Any]] = {"matches": np.frombuffer(matches, np.uint8)}
        return pack(facts, arrays | self._kept_arrays())

    def _kept_arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays that are kept for each match."""
        return {
            "returns": self._returns,
            "lengths": self._lengths,
            "anew_at": self._anew_at,
            "before": self._before,
            "before_lengths": self._before_lengths,
        }

    def restore(self, saved: bytes) -> None:
        """Continue from a snapshot of such a player. Raises MatchesDamaged if that is impossible; then call `begin`."""
        facts, arrays = unpack(saved)
        with unpacking():
            matches = arrays["matches"].tobytes()
            rng = generator_of(facts["rng"])
            generation, incarnation, number, steps = (
                int(facts[name]) for name in ("generation", "incarnation", "number", "steps")
            )
            for name, mine in self._kept_arrays().items():
                np.copyto(mine, arrays[name])
        going = self.game.restore(matches)
        self._returns[~going], self._lengths[~going], self._before_lengths[~going] = 0, 0, 0
        self._rng, self._number, self._steps = rng, number, steps
        self.generation, self.incarnation = generation, incarnation

    def play(self, rollout: Rollout, go_on: Callable[[], bool] = lambda: True) -> bool:
        """Fill a rollout; False, leaving the matches where they are, as soon as `go_on` returns False."""
        t = finals = games = 0
        rollout.before[:], rollout.before_lengths[:] = self._before, self._before_lengths
        self._in_play.begin(self.normalizer.apply(self._before), self._before_lengths)
        while t < rollout.shape.steps and finals + self.game.matches <= rollout.shape.finals:
            if not go_on():
                self._remember(rollout, t)
                return False
            ended, finals = self._step(rollout, t, finals)
            games += ended
            t += 1
        finals = self._write_tails(rollout, t - 1, finals)
        if not self._in_play.remembers:  # all at once is faster
            self._value_finals(rollout, slice(finals))
        self._remember(rollout, t)
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
        """Decide once in every match; returns how many ended, and how many final positions have been written so far."""
        game, states = self._game, rollout.states[t]
        game.observe(states)
        legal = None
        if self.game.masked:
            game.legal(self._legal)
            rollout.legal[t] = np.packbits(self._legal, axis=1)
            legal = self._legal
        logits, outputs = self._in_play.decide(self.normalizer.apply(states, self._inputs))
        rollout.values[t] = self.values.expand(outputs)
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
            after = t * self.game.matches + cut
            finals = self._write_finals(rollout, finals, step.finals[cut], step.final_sides[cut], after)
            self._in_play.forget(ended)
        self._steps += 1
        if self._steps < STAGGER:
            finals = self._stagger(rollout, t, finals)
        return count, finals

    def _stagger(self, rollout: Rollout, t: int, finals: int) -> int:
        """Restart the matches that are due in this step. They are cut off and do not count as a result."""
        due = (self._anew_at == self._steps) & ~rollout.ended[t]
        if not due.any():
            return finals
        self._game.observe(self._inputs)
        states, sides = self._inputs.copy(), self._game.to_move().copy()
        restarted = np.flatnonzero(self._game.begin_anew(due) & ~rollout.ended[t])
        rollout.ended[t, restarted], rollout.lengths[t, restarted] = True, NO_RESULT
        self._returns[restarted], self._lengths[restarted] = 0, 0
        cut = t * self.game.matches + restarted
        finals = self._write_finals(rollout, finals, states[restarted], sides[restarted], cut)
        self._in_play.forget(rollout.ended[t])
        return finals

    def _remember(self, rollout: Rollout, steps: int) -> None:
        """Keep the last states of the running matches, as many as the network looks back."""
        reach = self._before.shape[1]
        if not reach or not steps:
            return
        ends = rollout.ended[:steps]
        since = np.where(ends.any(axis=0), ends[::-1].argmax(axis=0), steps + self._before_lengths)
        seen = np.concatenate((self._before, rollout.states[:steps].swapaxes(0, 1)), axis=1)
        self._before[:] = seen[:, seen.shape[1] - reach :]
        np.minimum(since, reach, out=self._before_lengths)

    def _write_tails(self, rollout: Rollout, t: int, finals: int) -> int:
        """Write the positions of the matches that continue in the next rollout."""
        going = np.flatnonzero(~rollout.ended[t])
        self._game.observe(self._inputs)
        sides = self._game.to_move()[going]
        return self._write_finals(rollout, finals, self._inputs[going], sides, t * self.game.matches + going)

    def _write_finals(
        self, rollout: Rollout, at: int, states: Singles, sides: NDArray[np.int8], after: NDArray[np.int64]
    ) -> int:
        """Write final positions from index `at` on; returns the index after them."""
        if not len(after):
            return at
        to = slice(at, at + len(after))
        rollout.final_states[to], rollout.final_sides[to], rollout.final_after[to] = states, sides, after
        if self._in_play.remembers:  # the memory of the earlier states is still available now
            self._value_finals(rollout, to)
        return to.stop

    def _value_finals(self, rollout: Rollout, which: slice) -> None:
        states, matches = rollout.final_states[which], rollout.final_after[which] % self.game.matches
        outputs = self._in_play.value(self.normalizer.apply(states), matches)
        rollout.final_values[which] = self.values.expand(outputs)


def staggered(matches: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """The step at which each match is restarted: evenly spread, in random order."""
    return ((rng.permutation(matches) + rng.random(matches)) * STAGGER / matches).astype(np.int64)
