"""Games that a training run plays with itself now and then, to be looked at: `games/` of the run, as .kifu."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from understudy.files import remove_if_there
from understudy.games.shogi.checkpoint import judging_all_actions
from understudy.games.shogi.inference import torch_evaluator, with_potential
from understudy.games.shogi.matches import SELF_PLAY_MOVES
from understudy.games.shogi.players import PolicyPlayer, play
from understudy.games.shogi.record import write_record
from understudy.models.live import LiveModel

KEPT = 100


class SampleGames:
    """One game for every `every` updates, with what the network thought of each position; the newest ones stay."""

    def __init__(self, folder: Path, every: int, keep: int = KEPT) -> None:
        self._folder = folder
        self._every = every
        self._keep = keep

    def after_update(self, model: LiveModel) -> Path | None:
        """Play and save a game if it is time for one; the same model plays the same game."""
        updates = model.trainer.updates
        if updates % self._every:
            return None
        network = judging_all_actions(model.network.settings, model.network.parameters)
        evaluate = with_potential(torch_evaluator(network))
        player = PolicyPlayer(evaluate, 1.0, np.random.default_rng([model.base.seed, updates]), f"update {updates}")
        path = self._folder / f"{updates:08d}.kifu"
        self._folder.mkdir(parents=True, exist_ok=True)
        write_record(path, play(player, player, max_moves=SELF_PLAY_MOVES))
        for old in sorted(self._folder.glob("*.kifu"))[: -self._keep]:
            remove_if_there(old)
        return path
