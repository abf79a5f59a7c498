"""Opponents that never change; a training run measures its strength against them."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from understudy.games.shogi.small.matches import opened
from understudy.games.shogi.small.players import (
    ENGINE,
    OPENING_MOVES,
    EnginePlayer,
    NetworkPlayer,
    SmallGreedyPlayer,
    SmallPlayer,
    SmallRandomPlayer,
    play_game,
)
from understudy.games.shogi.small.search import evaluator_of
from understudy.games.shogi.small.variant import ANIMAL, MINI, Variant
from understudy.games.shogi.usi_process import find_engines

LEVELS = (-20, -10, -5, 0, 5)
"""Skill levels of fairy-stockfish, with a fixed number of nodes: a busy machine must not make it weaker."""
_NODES = 1000
_LETTERS = {1.0: "W", 0.0: "T", -1.0: "L"}


def engine_name(level: int) -> str:
    """The display name of fairy-stockfish at a skill level."""
    return f"{ENGINE} {level}"


def yardsticks(variant: Variant) -> list[str]:
    """The opponents available on this machine, the weakest first.

    Fairy-stockfish plays only minishogi: its animal shogi does not allow a lion to be left in check.
    """
    engines = [] if variant.lion or ENGINE not in find_engines() else [engine_name(level) for level in LEVELS]
    return ["random", "greedy", *engines]


def opponent(variant: Variant, name: str, rng: np.random.Generator) -> AbstractContextManager[SmallPlayer]:
    """A yardstick by name."""
    if name == "random":
        return nullcontext(SmallRandomPlayer(rng))
    if name == "greedy":
        return nullcontext(SmallGreedyPlayer(rng))
    level = int(name.removeprefix(ENGINE))
    return EnginePlayer(variant, f"nodes {_NODES}", {"Skill Level": level})


def evaluate(variant: Variant, model: str, first: int, games: int) -> dict[str, Any]:
    """See GameSpec.evaluator: plays the most probable move against each yardstick in turn, with both colours."""
    network = evaluator_of(Path(model))
    names = yardsticks(variant)[:4]
    results, axes = "", []
    for number in range(first, first + games):
        turn, place = divmod(number, len(names))
        side, rng = turn % 2, np.random.default_rng([number, 0])
        ours = NetworkPlayer(network, temperature=0.25, rng=np.random.default_rng([number, 1]))
        with opponent(variant, names[place], np.random.default_rng([number, 2])) as theirs:
            black, white = (ours, theirs) if side == 0 else (theirs, ours)
            game = play_game(black, white, opened(variant, rng, OPENING_MOVES))
        results += _LETTERS[game.for_player(side)]
        axes.append({"opponent": names[place], "colour": ("Black", "White")[side]})
    return {"results": results, "axes": axes}


evaluate_animal = partial(evaluate, ANIMAL)
evaluate_mini = partial(evaluate, MINI)
