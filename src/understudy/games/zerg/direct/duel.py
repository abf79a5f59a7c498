"""Two models against each other, Zerg against Zerg on the simulation: which of them plays better?

Both have the same brain and features, use the default opening, and draw their strategies from their policies without
extra exploration. They swap seats after each game and go on to the next of the training maps after two.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from understudy.acting.sampling import draw
from understudy.games.zerg.direct.bulk import MAPS
from understudy.games.zerg.direct.mirror import MirrorGame
from understudy.machine.priority import ONE_BLAS_THREAD
from understudy.models.live import LiveModel
from understudy.models.state import read_model

FIRST = 80_000_000  # seed of the first game; training and the other evaluations use lower ones
_CHUNK = 5  # games that a process plays before it reports

Policy = Callable[[NDArray[np.float32]], int]


class DuelScore(NamedTuple):
    """Results of one model against another."""

    won: int
    tied: int
    lost: int

    @property
    def share(self) -> float:
        """Games won of games played; a tie is not won."""
        return self.won / sum(self)


def policy_of(model: LiveModel, seed: int) -> Policy:
    """Strategies drawn from a model's policy, for one game."""
    rng = np.random.default_rng(seed)
    model.network.begin_episode()

    def decide(state: NDArray[np.float32]) -> int:
        logits, _ = model.network.step(model.trainer.normalizer.apply(state))
        return draw(logits, None, 0.0, rng.random()).action

    return decide


def play(policies: tuple[Policy, Policy], *, map_seed: int, seed: int) -> str:
    """One game; the result as the first policy sees it."""
    game = MirrorGame(map_seed=map_seed, seed=seed)
    while True:
        states = game.states()
        turn, _ = game.play([policy(state) for policy, state in zip(policies, states, strict=True)])
        if turn.result:
            return turn.result


def duel(
    new: Path, old: Path, games: int, *, processes: int = 2, say: Callable[[DuelScore], None] | None = None
) -> DuelScore:
    """The score of the model file `new` against `old`; `say` gets the score so far after every few games."""
    os.environ.update(ONE_BLAS_THREAD)  # for the processes
    numbers = range(FIRST, FIRST + games)
    chunks = [numbers[i : i + _CHUNK] for i in range(0, games, _CHUNK)]
    results: Counter[str] = Counter()
    with ProcessPoolExecutor(processes, get_context("spawn"), _load, (new, old)) as pool:
        for chunk in pool.map(_play_chunk, chunks):
            results.update(chunk)
            if say is not None:
                say(_score(results))
    return _score(results)


def _score(results: Counter[str]) -> DuelScore:
    return DuelScore(results["Victory"], results["Tie"], results["Defeat"])


_models: list[LiveModel] = []  # in a process of the pool: the new one and the old one


def _load(new: Path, old: Path) -> None:
    _models[:] = [LiveModel(read_model(path)) for path in (new, old)]


def _play_chunk(numbers: Iterable[int]) -> list[str]:
    return [_play_number(number) for number in numbers]


def _play_number(number: int) -> str:
    """Game `number` as the new model sees it; it sits first in every other one."""
    new, old = (policy_of(model, 2 * number + place) for place, model in enumerate(_models))
    first = number % 2 == 0
    result = play((new, old) if first else (old, new), map_seed=number // 2 % MAPS, seed=number)
    return result if first else {"Victory": "Defeat", "Defeat": "Victory"}.get(result, result)
