"""Supervised learning from game records: positions with the move played and the result teach the network."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional

from understudy.errors import ModelMismatch
from understudy.games.shogi.actions import ACTIONS, PolicyOutputMapper
from understudy.games.shogi.batch import SHAPE, observe
from understudy.games.shogi.checkpoint import Checkpoint, load_checkpoint, new_network, save_checkpoint
from understudy.games.shogi.errors import GameError
from understudy.games.shogi.network.res_tower import ActorCriticResTower
from understudy.games.shogi.record import GameRecord
from understudy.games.shogi.record_files import gather
from understudy.games.shogi.rules import MAX_MOVES, Ending, ShogiGame
from understudy.learning.optimizers import Adam, clip_global_norm
from understudy.settings import NetworkSettings

VALUE_WEIGHT = 0.5
MAX_GRAD_NORM = 1.0
_WIN, _DRAW, _LOSS, _UNKNOWN = 0, 1, 2, -100  # torch's cross-entropy ignores −100


class Lesson(NamedTuple):
    """How well the network did on some positions before it learned from each."""

    policy_loss: float
    value_loss: float
    accuracy: float
    """Share of positions in which the most probable legal move was the one played."""


class Position(NamedTuple):
    """A position in a record: the record, and the number of moves before it."""

    record: int
    ply: int


def learn_games(
    paths: Sequence[Path],
    checkpoint: Path,
    settings: NetworkSettings,
    *,
    epochs: int = 4,
    minibatch: int = 256,
    learning_rate: float = 1e-3,
    seed: int = 0,
    say: Callable[[str], None] = lambda _: None,
) -> list[Lesson]:
    """Train the network of `checkpoint`, or a new one, and save it after each pass; returns one Lesson for each pass.

    The same records, seed and number of passes give the same network, whether or not training was interrupted between
    them.
    """
    records = gather(paths, say)
    if not records:
        raise GameError(f"There is no game to learn from in {', '.join(map(str, paths))}.")
    network, adam, done = _continue(checkpoint, settings, learning_rate, seed)
    positions = [Position(r, ply) for r, record in enumerate(records) for ply in range(len(record.moves))]
    say(f"{len(records)} games, {len(positions)} positions, {network.parameters.size:,} parameters")
    lessons = []
    for number in range(done + 1, done + epochs + 1):
        rng = np.random.default_rng([seed, number])
        steps = [
            (len(actions), _learn(network, adam, planes, legal, actions, outcomes))
            for planes, legal, actions, outcomes in _minibatches(records, positions, minibatch, rng)
        ]
        sizes = np.array([size for size, _ in steps])
        lesson = Lesson(*np.average(np.array([s for _, s in steps]), axis=0, weights=sizes).tolist())
        lessons.append(lesson)
        arrays = {"adam_m": adam.m, "adam_v": adam.v}
        save_checkpoint(checkpoint, Checkpoint(network, arrays, {"passes": number, "adam_steps": adam.steps}))
        say(
            f"pass {number}: policy loss {lesson.policy_loss:.3f}, value loss {lesson.value_loss:.3f}, "
            f"move found {lesson.accuracy:.1%}; saved {checkpoint}"
        )
    return lessons


def _continue(path: Path, settings: NetworkSettings, rate: float, seed: int) -> tuple[ActorCriticResTower, Adam, int]:
    if not path.exists():
        network = new_network(settings, seed)
        return network, Adam(network.parameters, rate), 0
    loaded = load_checkpoint(path)
    adam = Adam(loaded.network.parameters, rate)
    if "adam_m" in loaded.arrays:
        if loaded.arrays["adam_m"].shape != adam.m.shape or "adam_steps" not in loaded.counters:
            raise ModelMismatch(f"Adam's state in {path} does not fit the network in it.")
        adam.m[:], adam.v[:] = loaded.arrays["adam_m"], loaded.arrays["adam_v"]
        adam.steps = loaded.counters["adam_steps"]
    return loaded.network, adam, loaded.counters.get("passes", 0)


_Batch = tuple[NDArray[np.float32], NDArray[np.bool_], NDArray[np.int64], NDArray[np.int64]]


def _minibatches(
    records: Sequence[GameRecord], positions: Sequence[Position], size: int, rng: np.random.Generator
) -> Iterator[_Batch]:
    """Planes, legal actions, the action played and the outcome for its player, in random order.

    Every minibatch replays its games: this is cheap beside the network, and needs no memory for all positions.
    """
    order = rng.permutation(len(positions))
    for start in range(0, len(order), size):
        chosen = sorted(positions[i] for i in order[start : start + size])
        yield _lay_out(records, chosen)


def _lay_out(records: Sequence[GameRecord], chosen: Sequence[Position]) -> _Batch:
    n, mapper = len(chosen), PolicyOutputMapper()
    planes, legal = np.empty((n, *SHAPE), np.float32), np.empty((n, ACTIONS), np.bool_)
    actions, outcomes = np.empty(n, np.int64), np.full(n, _UNKNOWN, np.int64)
    game, at = ShogiGame(), -1
    for row, position in enumerate(chosen):
        record = records[position.record]
        if position.record != at:
            game, at = ShogiGame(record.start, max(MAX_MOVES, len(record.moves) + 1)), position.record
        for usi in record.moves[len(game.moves) : position.ply]:
            game.push(game.move_of_usi(usi))
        observe([game], planes[row : row + 1], legal[row : row + 1])
        actions[row] = mapper.shogi_move_to_policy_index(record.moves[position.ply], game.turn)
        if record.result is not None and record.result.ending is not Ending.MAX_MOVES:  # a cut-off game is no draw
            outcomes[row] = {1.0: _WIN, 0.0: _DRAW, -1.0: _LOSS}[record.result.for_player(game.turn)]
    return planes, legal, actions, outcomes


def _learn(
    network: ActorCriticResTower,
    adam: Adam,
    planes: NDArray[np.float32],
    legal: NDArray[np.bool_],
    actions: NDArray[np.int64],
    outcomes: NDArray[np.int64],
) -> Lesson:
    """One gradient step on the cross-entropy of the moves played and of win, draw and loss."""
    boards = torch.from_numpy(planes)
    logits, wdl = network.judge(boards)
    logits = logits.masked_fill(~torch.from_numpy(legal), -torch.inf)
    targets = torch.from_numpy(actions)
    policy_loss = functional.cross_entropy(logits, targets)
    known = bool((outcomes != _UNKNOWN).any())
    value_loss = functional.cross_entropy(wdl, torch.from_numpy(outcomes)) if known else torch.zeros(())
    network.backward_from(policy_loss + VALUE_WEIGHT * value_loss, boards)
    clip_global_norm(network.gradients, MAX_GRAD_NORM)
    adam.step(network.gradients)
    accuracy = (logits.argmax(1) == targets).float().mean()
    return Lesson(policy_loss.item(), value_loss.item(), accuracy.item())
