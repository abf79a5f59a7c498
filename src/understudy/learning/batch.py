"""Episodes concatenated into a batch, and its minibatches."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from understudy.errors import EpisodeError
from understudy.networks.network import Floats, Integers

if TYPE_CHECKING:
    from understudy.experience.episode import Episode
    from understudy.experience.replay import ReplayedGame


@dataclass(frozen=True, slots=True)
class Batch:
    """N decisions of E episodes. `states` also has the final states of games that were cut off, each after its game.

    An episode that is part of a game may have earlier states of that game before its first decision; the network sees
    them, but nothing is learned from them.
    """

    states: NDArray[np.float32]  # (M, S), M ≥ N
    state_starts: Integers  # (E,) the start of each episode in `states`
    decisions: Integers  # (N,) the rows of `states` that are decisions
    cut: Integers  # the episodes that were cut off; their final states are the rows `finals`
    finals: Integers
    starts: Integers  # (E,) the start of each episode among the decisions
    actions: Integers
    rewards: NDArray[np.float32]
    log_probs: NDArray[np.float32]  # 0 where not recorded
    recorded: NDArray[np.bool_]
    legal: NDArray[np.bool_] | None
    games: int  # games that ended in it; fewer than E if games are learned from in parts
    numbers: Integers | None = None  # (N,) number of each decision, from 0 in each game; None if games are in parts
    sides: NDArray[np.float32] | None = None  # (N,) ±1, the player who decided in a two-player zero-sum game
    final_sides: NDArray[np.float32] | None = None  # (E,) ±1, the player to move after each episode
    values: NDArray[np.float32] | None = None  # (M,) of `states`, by the weights to update, if those weights played
    trial: NDArray[np.bool_] | None = None  # (N,) decisions in which a trial kept to its action
    weights: NDArray[np.float32] | None = None  # (N,) weight of each decision; new ones come first and have weight 1
    fresh: int | None = None  # number of decisions that are learned from for the first time, if not all

    @property
    def new(self) -> slice:
        """The decisions that are learned from for the first time."""
        return slice(0, self.fresh)

    @property
    def new_states(self) -> slice:
        """The states of these games."""
        if self.fresh is None:
            return slice(None)
        return slice(0, int(self.state_starts[np.searchsorted(self.starts, self.fresh)]))

    def of_decisions(self, rows: NDArray[Any]) -> NDArray[Any]:
        """The rows of an array (M, …) over all states that belong to decisions, (N, …)."""
        n = len(self.decisions)
        return rows[:n] if self.decisions[-1] == n - 1 else rows[self.decisions]  # a view if final states come last

    def pieces(self, size: int, whole_episodes: bool) -> Iterator[tuple[slice, Integers, slice]]:
        """All states in nearly equal pieces of about `size`: rows, starts within them, and which are decisions."""
        n = len(self.states)
        ends = np.append(self.state_starts, n) if whole_episodes else np.arange(n + 1)
        for lo, hi in itertools.pairwise(ends[_cuts(ends, size)].tolist()):
            starts = self.state_starts[(lo <= self.state_starts) & (self.state_starts < hi)] - lo
            first, last = np.searchsorted(self.decisions, (lo, hi)).tolist()
            yield slice(lo, hi), starts, slice(first, last)

    def bootstraps(self, values: Floats) -> Floats:
        """(E,) the value after each episode, from the values of `states`; 0 for a finished game."""
        after = np.zeros(len(self.starts), values.dtype)
        after[self.cut] = values[self.finals]
        return after


def lay_out(
    episodes: Sequence[Episode], state_dim: int, n_actions: int, replayed: Sequence[ReplayedGame] = ()
) -> Batch:
    """Concatenate valid episodes, replayed games last; raises EpisodeError if they do not fit the network."""
    first = len(episodes)
    episodes = [*episodes, *(game.episode for game in replayed)]
    lengths = np.array([len(e.actions) for e in episodes])
    if not lengths.all() or not first:
        raise EpisodeError("An update needs at least one game, and at least one decision in every game.")
    is_cut = np.array([e.final_state is not None for e in episodes])
    state_ends = np.cumsum(lengths + is_cut)
    states = np.concatenate(
        [part for e in episodes for part in ((e.states,) if e.final_state is None else (e.states, e.final_state[None]))]
    )
    is_decision = np.ones(len(states), np.bool_)
    is_decision[state_ends[is_cut] - 1] = False
    log_probs = [np.zeros(len(e.actions), np.float32) if e.log_probs is None else e.log_probs for e in episodes]
    batch = Batch(
        states=states,
        state_starts=state_ends - lengths - is_cut,
        decisions=np.flatnonzero(is_decision),
        cut=np.flatnonzero(is_cut),
        finals=state_ends[is_cut] - 1,
        starts=np.cumsum(lengths) - lengths,
        actions=np.concatenate([e.actions for e in episodes]),
        rewards=np.concatenate([e.rewards for e in episodes]),
        log_probs=np.concatenate(log_probs),
        recorded=np.repeat([e.log_probs is not None for e in episodes], lengths),
        legal=_legal(episodes, n_actions),
        games=first,
        numbers=np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths),
        trial=_trial(episodes),
        weights=np.repeat(np.array([1.0] * first + [game.weight for game in replayed], np.float32), lengths)
        if replayed
        else None,
        fresh=int(lengths[:first].sum()) if replayed else None,
    )
    check_fit(batch, state_dim, n_actions)
    return batch


@dataclass(frozen=True, slots=True)
class Samples:
    """Decisions and what to learn from them; with `starts`, whole episodes.

    With `rows`, only these rows of `states` are decisions. The other rows are context for a network that looks back.
    """

    states: Floats
    actions: Integers
    legal: NDArray[np.bool_] | None
    old_log_probs: Floats
    advantages: Floats
    targets: Floats
    starts: Integers | None
    rows: Integers | None = None

    def minibatches(self, size: int, rng: np.random.Generator) -> Iterator[Samples]:
        """All samples once, shuffled, in nearly equal minibatches of about `size` rows; episodes are not split."""
        if self.rows is not None and self.starts is not None:
            yield from self._episodes(self.rows, self.starts, size, rng)
            return
        n = len(self.actions)
        if self.starts is None:
            order, ends = rng.permutation(n), np.arange(n + 1)
        else:
            lengths = np.diff(self.starts, append=n)
            units = rng.permutation(len(lengths))
            ends = np.concatenate(([0], np.cumsum(lengths[units])))
            order = np.repeat(self.starts[units] - ends[:-1], lengths[units]) + np.arange(n)
        # Arrays with one number per row are shuffled once as a whole: minibatches are small, so the number of calls
        # matters.
        actions, old_log_probs = self.actions.take(order), self.old_log_probs.take(order)
        advantages, targets = self.advantages.take(order), self.targets.take(order)
        for first, last in itertools.pairwise(_cuts(ends, size).tolist()):
            rows = slice(ends[first], ends[last])
            yield Samples(
                states=self.states.take(order[rows], axis=0),  # faster than indexing
                actions=actions[rows],
                legal=None if self.legal is None else self.legal.take(order[rows], axis=0),
                old_log_probs=old_log_probs[rows],
                advantages=advantages[rows],
                targets=targets[rows],
                starts=None if self.starts is None else ends[first:last] - ends[first],
            )

    def _episodes(self, rows: Integers, starts: Integers, size: int, rng: np.random.Generator) -> Iterator[Samples]:
        """The same if episodes have rows that are not decisions; minibatches have about `size` decisions."""
        ends = np.append(starts[1:], len(self.states))
        bounds = np.append(np.searchsorted(rows, starts), len(rows))  # where episodes begin among the decisions
        counts = np.diff(bounds)
        units = rng.permutation(len(starts))
        totals = np.concatenate(([0], np.cumsum(counts[units])))
        for first, last in itertools.pairwise(_cuts(totals, size).tolist()):
            chosen = units[first:last]
            taken, begun = _ranges(starts[chosen], ends[chosen])
            order, _ = _ranges(bounds[chosen], bounds[chosen + 1])
            yield Samples(
                states=self.states[taken],
                actions=self.actions[order],
                legal=None if self.legal is None else self.legal[order],
                old_log_probs=self.old_log_probs[order],
                advantages=self.advantages[order],
                targets=self.targets[order],
                starts=begun,
                rows=rows[order] - np.repeat(starts[chosen] - begun, counts[chosen]),
            )

    def thinned(self, rows: int) -> Samples:
        """About `rows` samples, evenly spread, if there are at least twice as many and rows are independent."""
        every = len(self.actions) // rows
        return self if every < 2 or self.starts is not None else self.part(slice(0, None, every))

    def part(self, rows: slice) -> Samples:
        """A slice of the samples, as views; only if rows are independent."""
        return Samples(
            states=self.states[rows],
            actions=self.actions[rows],
            legal=None if self.legal is None else self.legal[rows],
            old_log_probs=self.old_log_probs[rows],
            advantages=self.advantages[rows],
            targets=self.targets[rows],
            starts=self.starts,
        )


def _ranges(firsts: Integers, lasts: Integers) -> tuple[Integers, Integers]:
    """The numbers from each first up to its last, one range after the other, and the start of each range."""
    lengths = lasts - firsts
    begun = np.cumsum(lengths) - lengths
    return np.arange(int(lengths.sum())) + np.repeat(firsts - begun, lengths), begun


def _cuts(ends: Integers, size: int) -> Integers:
    """Choose boundaries from `ends` (0 first), so that the parts are nearly equal and have about `size` rows."""
    n = int(ends[-1])
    return np.unique(np.searchsorted(ends, np.linspace(0, n, -(-n // size) + 1).astype(np.int64)))


def _legal(episodes: Sequence[Episode], n_actions: int) -> NDArray[np.bool_] | None:
    if all(e.legal is None for e in episodes):
        return None
    return np.concatenate(
        [np.ones((len(e.actions), n_actions), np.bool_) if e.legal is None else e.legal for e in episodes]
    )


def _trial(episodes: Sequence[Episode]) -> NDArray[np.bool_] | None:
    if all(e.trial is None for e in episodes):
        return None
    return np.concatenate([np.zeros(len(e.actions), np.bool_) if e.trial is None else e.trial for e in episodes])


def check_fit(batch: Batch, state_dim: int, n_actions: int) -> None:
    """Raise EpisodeError for games of another network: an action out of range or masked would train a wrong one."""
    if batch.states.shape[1] != state_dim:
        raise EpisodeError(
            f"These games have states of {batch.states.shape[1]} numbers; the network takes {state_dim}."
        )
    low, high = int(batch.actions.min()), int(batch.actions.max())
    if low < 0 or high >= n_actions:
        raise EpisodeError(f"These games have actions from {low} to {high}; the network knows 0 to {n_actions - 1}.")
    if batch.legal is None:
        return
    if batch.legal.shape[1] != n_actions:
        raise EpisodeError(f"These games have masks of {batch.legal.shape[1]} actions; the network knows {n_actions}.")
    illegal = np.flatnonzero(~batch.legal[np.arange(len(batch.actions)), batch.actions])
    if len(illegal):
        game = int(np.searchsorted(batch.starts, illegal[0], side="right")) - 1
        step = illegal[0] - batch.starts[game]
        raise EpisodeError(f"Game {game} of the batch took an action at step {step} that its mask marks as illegal.")
