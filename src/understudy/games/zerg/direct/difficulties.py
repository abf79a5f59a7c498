"""The built-in opponents of the direct environment as contestants of `understudy arena`, one for each difficulty."""

from __future__ import annotations

from pathlib import Path

from understudy.games.zerg.direct.bulk import mixed_opponent
from understudy.games.zerg.direct.evaluation import FIRST, play_one
from understudy.games.zerg.starcraft import DIFFICULTIES
from understudy.models.live import LiveModel
from understudy.models.state import read_model


def known(name: str) -> bool:
    """Whether this is a difficulty."""
    return name in DIFFICULTIES


def play(name: str, model: str, first: int, games: int) -> dict[str, str]:
    """Games `first` to `first + games` of a model against every race and plan of a difficulty in turn."""
    live, level = LiveModel(read_model(Path(model))), (DIFFICULTIES.index(name) + 1,)
    numbers = range(FIRST + first, FIRST + first + games)
    return {"results": "".join(play_one(live, number, mixed_opponent(number, level)) for number in numbers)}
