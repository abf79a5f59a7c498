"""Opponents that never change. A training run measures its strength against them, from its first version on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from understudy.games.shogi.actions import BLACK
from understudy.games.shogi.arena_players import contestant
from understudy.games.shogi.checkpoint import load_checkpoint
from understudy.games.shogi.inference import torch_evaluator
from understudy.games.shogi.matches import SELF_PLAY_MOVES
from understudy.games.shogi.players import POLICY_TEMPERATURE, PolicyPlayer, opening, play
from understudy.games.shogi.usi_process import find_engines

ENGINE = "fairy-stockfish"
LEVELS = (-20, -10, -5, 0)
_NODES = 1000  # nodes, not time: a busy machine must not make an engine weaker
_LETTERS = {1.0: "W", 0.0: "T", -1.0: "L"}


def fixed_opponents() -> dict[str, str]:
    """The opponents on this machine, the weakest first: a display name, and the name for `understudy arena`."""
    found = {"random": "random", "greedy": "greedy"}
    if ENGINE in find_engines():
        found |= {f"{ENGINE} {level}": f"{ENGINE}@nodes {_NODES},Skill Level={level}" for level in LEVELS}
    return found


def evaluate(model: str, first: int, games: int) -> dict[str, Any]:
    """See GameSpec.evaluator: the policy without search plays each of them in turn, with both colours."""
    evaluate_planes = torch_evaluator(load_checkpoint(Path(model)).network)
    against = fixed_opponents()
    results, axes = "", []
    for number in range(first, first + games):
        turn, place = divmod(number, len(against))
        name, colour = list(against)[place], turn % 2
        lots, ours, theirs = (np.random.default_rng([number, part]) for part in range(3))
        policy = PolicyPlayer(evaluate_planes, POLICY_TEMPERATURE, ours)
        with contestant(against[name], theirs) as opponent:
            black, white = (policy, opponent) if colour == BLACK else (opponent, policy)
            record = play(black, white, max_moves=SELF_PLAY_MOVES, moves=opening(lots))
        assert record.result is not None
        results += _LETTERS[record.result.for_player(colour)]
        axes.append({"opponent": name, "colour": ("Black", "White")[colour]})
    return {"results": results, "axes": axes}
