"""Rollout: T decisions in each of B matches, in one block of memory of fixed size.

The block is a slot of a shared-memory ring, or plain memory in sequential mode; the code is the same. A match continues
from one rollout to the next. Where a rollout ends, the last position of each match is among the finals, for
bootstrapping.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import DTypeLike, NDArray

from understudy.games.game import Game
from understudy.learning.batch import Batch
from understudy.settings import ParallelSettings

_ALIGNMENT = 64
NO_RESULT = 0
"""The length of a match that the run itself cut off and restarted: its return so far is not a result."""
_HEADER = ("steps", "finals", "version", "generation", "incarnation", "number", "worker", "games")


@dataclass(frozen=True, slots=True)
class RolloutShape:
    """The size of a rollout: at most `steps` decisions in each of `matches`."""

    steps: int
    matches: int
    state_dim: int
    n_actions: int
    masked: bool
    two_players: bool
    reach: int = 0
    """The number of earlier states stored for each match: as many as the network looks back."""

    @classmethod
    def of(cls, game: Game, settings: ParallelSettings, reach: int = 0) -> RolloutShape:
        """The shape with as many steps as make up `batch_size` decisions."""
        steps = -(-settings.batch_size // game.matches)
        return cls(steps, game.matches, game.state_dim, len(game.actions), game.masked, game.players == 2, reach)

    @property
    def finals(self) -> int:
        """Capacity for final positions. A rollout ends early if the next step might need more."""
        return 4 * self.matches

    def fields(self) -> dict[str, tuple[DTypeLike, tuple[int, ...]]]:
        """Name, type and shape of every array in the block."""
        T, B, F = self.steps, self.matches, self.finals
        packed = -(-self.n_actions // 8) if self.masked else 0
        return {
            "header": (np.int64, (len(_HEADER),)),
            "states": (np.float32, (T, B, self.state_dim)),
            "actions": (np.int32, (T, B)),
            "rewards": (np.float32, (T, B)),
            "log_probs": (np.float32, (T, B)),
            "values": (np.float32, (T, B)),
            "returns": (np.float32, (T, B)),
            "lengths": (np.int32, (T, B)),
            "ended": (np.bool_, (T, B)),
            "sides": (np.int8, (T, B)),
            "legal": (np.uint8, (T, B, packed)),
            "final_states": (np.float32, (F, self.state_dim)),
            "final_values": (np.float32, (F,)),
            "final_sides": (np.int8, (F,)),
            "final_after": (np.int64, (F,)),
            "before": (np.float32, (B, self.reach, self.state_dim)),
            "before_lengths": (np.int64, (B,)),
        }

    @property
    def nbytes(self) -> int:
        """The size of the block."""
        return sum(_padded(math.prod(shape) * np.dtype(kind).itemsize) for kind, shape in self.fields().values())


class Rollout:
    """Named views of a block of memory. The owner must drop the rollout before it frees the block."""

    states: NDArray[np.float32]  # (T, B, S)
    actions: NDArray[np.int32]  # (T, B)
    rewards: NDArray[np.float32]  # (T, B)
    log_probs: NDArray[np.float32]  # (T, B) of the policy that acted, exploration included
    values: NDArray[np.float32]  # (T, B) predicted by the network that acted
    returns: NDArray[np.float32]  # (T, B) where a match ended, its total rewards for the first player
    lengths: NDArray[np.int32]  # (T, B) where a match ended, its number of decisions, or NO_RESULT
    ended: NDArray[np.bool_]  # (T, B) over, cut off, or restarted by the run after this decision
    sides: NDArray[np.int8]  # (T, B) the player who decided
    legal: NDArray[np.uint8]  # (T, B, ⌈A/8⌉) bits
    final_states: NDArray[np.float32]  # (F, S) final positions of matches that were cut off or continue
    final_values: NDArray[np.float32]  # (F,) predicted by the network that acted
    final_sides: NDArray[np.int8]  # (F,)
    final_after: NDArray[np.int64]  # (F,) the decision before each, as t·B + b
    before: NDArray[np.float32]  # (B, R, S) the last states of running matches before this rollout, the newest last
    before_lengths: NDArray[np.int64]  # (B,) the number of these states
    header: NDArray[np.int64]

    def __init__(self, shape: RolloutShape, memory: memoryview | NDArray[np.uint8] | None = None) -> None:
        self.shape = shape
        block = np.zeros(shape.nbytes, np.uint8) if memory is None else np.frombuffer(memory, np.uint8)
        offset = 0
        for name, (kind, extent) in shape.fields().items():
            size = math.prod(extent) * np.dtype(kind).itemsize
            setattr(self, name, block[offset : offset + size].view(kind).reshape(extent))
            offset += _padded(size)

    def stamp(self, **values: int) -> None:
        """Write entries of the header."""
        for name, value in values.items():
            self.header[_HEADER.index(name)] = value

    def __getitem__(self, name: str) -> int:
        """An entry of the header: steps, finals, version, generation, incarnation, number, worker or games."""
        return int(self.header[_HEADER.index(name)])

    @property
    def decisions(self) -> int:
        """The number of decisions in it."""
        return self["steps"] * self.shape.matches

    def results(self) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
        """Returns and lengths of the matches that ended in it, except those that the run restarted."""
        T = self["steps"]
        ended = self.ended[:T] & (self.lengths[:T] != NO_RESULT)
        return self.returns[:T][ended], self.lengths[:T][ended]

    def detach(self) -> None:
        """Drop the views, so that the memory can be closed."""
        for name in self.shape.fields():
            delattr(self, name)

    def copy(self) -> Rollout:
        """A copy in separate memory."""
        mine = Rollout(self.shape)
        for name in self.shape.fields():
            np.copyto(getattr(mine, name), getattr(self, name))
        return mine


def as_batch(rollouts: Sequence[Rollout], version: int = -1) -> Batch:
    """Concatenate rollouts match by match. Parts of a match that ended, or that the rollout cut, become episodes.

    Final positions come after all decisions, which suits networks that see one state at a time. For others (`reach`
    above 0), they come after their episodes, and the states before the rollout come first. `version` is that of the
    weights that learn: if the same weights played, their values of the states are known.
    """
    batch = _end_to_end(rollouts, version)
    return _with_states_before(batch, rollouts) if rollouts[0].shape.reach else batch


def _end_to_end(rollouts: Sequence[Rollout], version: int) -> Batch:
    parts = [_Part(rollout) for rollout in rollouts]
    decisions = sum(len(part.actions) for part in parts)
    offsets = np.cumsum([0, *(len(part.actions) for part in parts)])
    starts = np.concatenate([part.starts + offset for part, offset in zip(parts, offsets, strict=False)])
    last = np.concatenate([part.final_after + offset for part, offset in zip(parts, offsets, strict=False)])
    cut = np.searchsorted(starts, last, side="right") - 1
    sides = final_sides = None
    if rollouts[0].shape.two_players:
        sides = 1 - 2 * np.concatenate([part.sides for part in parts]).astype(np.float32)
        final_sides = np.ones(len(starts), np.float32)
        final_sides[cut] = 1 - 2 * np.concatenate([part.final_sides for part in parts]).astype(np.float32)
    return Batch(
        states=_all_states(parts),
        state_starts=starts,
        decisions=np.arange(decisions),
        cut=cut,
        finals=np.arange(decisions, decisions + len(last)),
        starts=starts,
        actions=np.concatenate([part.actions for part in parts]).astype(np.int64),
        rewards=np.concatenate([part.rewards for part in parts]),
        log_probs=np.concatenate([part.log_probs for part in parts]),
        recorded=np.ones(decisions, np.bool_),
        legal=np.concatenate([part.legal for part in parts]) if rollouts[0].shape.masked else None,
        games=sum(rollout["games"] for rollout in rollouts),
        sides=sides,
        final_sides=final_sides,
        values=_all_values(parts) if all(rollout["version"] == version for rollout in rollouts) else None,
    )


def _with_states_before(batch: Batch, rollouts: Sequence[Rollout]) -> Batch:
    """The same batch with the states of each episode together: those before it, its own, and its final position."""
    n, starts = len(batch.actions), batch.starts
    lengths = np.diff(starts, append=n)
    before, is_cut = np.zeros_like(lengths), np.zeros_like(lengths)
    decisions = np.repeat([r["steps"] for r in rollouts], [r.shape.matches for r in rollouts])  # of each match
    of_match = np.searchsorted(starts, np.cumsum(decisions) - decisions)  # the first episode of each match
    before[of_match] = np.concatenate([rollout.before_lengths for rollout in rollouts])
    is_cut[batch.cut] = 1
    state_starts = np.cumsum(before + lengths + is_cut) - (before + lengths + is_cut)
    rows = np.arange(n) + np.repeat(state_starts + before - starts, lengths)
    finals = (state_starts + before + lengths)[batch.cut]
    states = np.empty((n + int(before.sum()) + len(finals), batch.states.shape[1]), np.float32)
    states[rows], states[finals] = batch.states[:n], batch.states[n:]
    seen = [(rollout.before[b], at) for rollout in rollouts for b, at in enumerate(rollout.before_lengths.tolist())]
    for (past, count), start in zip(seen, state_starts[of_match].tolist(), strict=True):
        states[start : start + count] = past[len(past) - count :]
    values = None
    if batch.values is not None:
        values = np.zeros(len(states), np.float32)
        values[rows], values[finals] = batch.values[:n], batch.values[n:]
    return dataclasses.replace(
        batch, states=states, state_starts=state_starts, decisions=rows, finals=finals, values=values
    )


class _Part:
    """One rollout, match by match."""

    def __init__(self, rollout: Rollout) -> None:
        T, B, F = rollout["steps"], rollout.shape.matches, rollout["finals"]
        self.states = rollout.states[:T].swapaxes(0, 1)  # (B, T, S), not copied
        taken = rollout.actions, rollout.rewards, rollout.log_probs, rollout.values, rollout.sides
        self.actions, self.rewards, self.log_probs, self.values, self.sides = (
            array[:T].T.reshape(-1) for array in taken
        )
        begins = np.ones((B, T), np.bool_)
        begins[:, 1:] = rollout.ended[: T - 1].T
        self.starts = np.flatnonzero(begins)
        step, match = np.divmod(rollout.final_after[:F], B)
        self.final_after = match * T + step
        self.final_states, self.final_sides = rollout.final_states[:F], rollout.final_sides[:F]
        self.final_values = rollout.final_values[:F]
        if rollout.shape.masked:
            packed = rollout.legal[:T].swapaxes(0, 1).reshape(T * B, -1)
            self.legal = np.unpackbits(packed, axis=1, count=rollout.shape.n_actions).view(np.bool_)


def _all_states(parts: Sequence[_Part]) -> NDArray[np.float32]:
    """The states of all decisions, then the final positions; copied only once, because they may be large."""
    decisions = sum(len(part.actions) for part in parts)
    states = np.empty((decisions + sum(len(p.final_states) for p in parts), parts[0].states.shape[-1]), np.float32)
    at, final_at = 0, decisions
    for part in parts:
        states[at : at + len(part.actions)].reshape(part.states.shape)[...] = part.states
        states[final_at : final_at + len(part.final_states)] = part.final_states
        at, final_at = at + len(part.actions), final_at + len(part.final_states)
    return states


def _all_values(parts: Sequence[_Part]) -> NDArray[np.float32]:
    """In the order of the states."""
    return np.concatenate([*(part.values for part in parts), *(part.final_values for part in parts)])


def follow_on(earlier: Rollout, later: Rollout) -> bool:
    """Whether the same worker played `later` directly after `earlier`."""
    same = all(earlier[name] == later[name] for name in ("worker", "incarnation", "generation"))
    return same and later["number"] == earlier["number"] + 1


def in_order(rollouts: Sequence[Rollout]) -> bool:
    """Whether these rollouts of one worker are consecutive."""
    return all(follow_on(a, b) for a, b in itertools.pairwise(rollouts))


def _padded(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT
