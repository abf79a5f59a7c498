"""How good is a model? Games of the fixed mix on the direct environment, the same ones for every model."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from understudy.acting.sampling import best, draw
from understudy.games.zerg.direct.bulk import MAPS, mixed_opponent
from understudy.games.zerg.direct.game import Opponent, StrategyGame
from understudy.models.live import LiveModel
from understudy.models.state import read_model

FIRST = 60_000_000  # number of the first evaluation game; training uses lower ones, `zerg-check` higher ones

_LETTERS = {"Victory": "W", "Defeat": "L", "Tie": "T"}


def evaluate(model: str, first: int, games: int, *, sample: bool = False) -> dict[str, str]:
    """The job of a worker: {"results": "WLTW…"} of a model file in evaluation games `first` to `first + games`.

    Each decision is the most probable one; with `sample` it is drawn, as an untrained policy plays. The same model and
    numbers give the same games.
    """
    live = LiveModel(read_model(Path(model)))
    numbers = range(FIRST + first, FIRST + first + games)
    return {"results": "".join(play_one(live, number, mixed_opponent(number), sample=sample) for number in numbers)}


def evaluate_as_played(model: str, first: int, games: int) -> dict[str, str]:
    """The same with decisions drawn from the policy, as the bot draws them in its games."""
    return evaluate(model, first, games, sample=True)


def play_one(live: LiveModel, number: int, opponent: Opponent, *, sample: bool = False) -> str:
    """One game of a model; W, L or T."""
    game = StrategyGame(opponent, map_seed=number % MAPS, seed=number)
    chance = np.random.default_rng(number)
    live.network.begin_episode()
    while True:
        logits, _ = live.network.step(live.trainer.normalizer.apply(game.state()))
        choice = draw(logits, None, 0.0, chance.random()) if sample else best(logits, None)
        turn = game.play(choice.action)
        if turn.result:
            return _LETTERS[turn.result]
