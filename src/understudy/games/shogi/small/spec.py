"""Animal shogi and minishogi as games of Understudy."""

from __future__ import annotations

from understudy.games.shogi.small.variant import ANIMAL, MINI
from understudy.games.spec import GameSpec, ResultAxis

_AXES = (ResultAxis("opponent", "Opponent"), ResultAxis("colour", "Colour"))

ANIMAL_SHOGI = GameSpec(
    name=ANIMAL.name,
    title=ANIMAL.title,
    matches="understudy.games.shogi.small.matches:AnimalShogi",
    evaluator="understudy.games.shogi.small.yardsticks:evaluate_animal",
    axes=_AXES,
    commands="understudy.games.shogi.small.check:add_animal_check",
    check="animal-check",
)
MINISHOGI = GameSpec(
    name=MINI.name,
    title=MINI.title,
    matches="understudy.games.shogi.small.matches:Minishogi",
    evaluator="understudy.games.shogi.small.yardsticks:evaluate_mini",
    axes=_AXES,
    commands="understudy.games.shogi.small.check:add_mini_check",
    check="mini-check",
)
