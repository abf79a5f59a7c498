"""Sample games: a training run sometimes plays against itself for people to watch; saved in `games/` as .kifu."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from understudy.files.atomic import remove_if_there
from understudy.games.shogi.checkpoint import judging_all_actions
from understudy.games.shogi.inference import Evaluator, torch_evaluator, with_potential
from understudy.games.shogi.matches import SELF_PLAY_MOVES
from understudy.games.shogi.players import MoveChoice, PolicyPlayer, play
from understudy.games.shogi.record import GameRecord
from understudy.games.shogi.record_files import write_record
from understudy.games.shogi.rules import ShogiGame
from understudy.games.shogi.thoughts import Thought, thought_of
from understudy.games.spec import SelfPlaySetup
from understudy.models.live import LiveModel
from understudy.rundir import RunDir
from understudy.settings import Settings

KEPT = 100


def setup(run: RunDir, settings: Settings) -> SelfPlaySetup:
    """Self-play setup of shogi: past versions of the model as opponents, and sample games for people."""
    samples = SampleGames(run.games, settings.parallel.checkpoint_updates)
    return SelfPlaySetup(str(run.versions), samples.after_update)


class SampleGames:
    """Plays and saves one game every `every` updates, with the policy and value of each position; keeps the newest."""

    def __init__(self, folder: Path, every: int, keep: int = KEPT) -> None:
        self._folder = folder
        self._every = every
        self._keep = keep

    def after_update(self, model: LiveModel) -> Path | None:
        """Play and save a game if one is due; the same model plays the same game."""
        updates = model.trainer.updates
        if updates % self._every:
            return None
        network = judging_all_actions(model.network.settings, model.network.parameters)
        evaluate = with_potential(torch_evaluator(network))
        record = play_aloud(evaluate, np.random.default_rng([model.base.seed, updates]), f"update {updates}")
        path = self._folder / f"{updates:08d}.kifu"
        self._folder.mkdir(parents=True, exist_ok=True)
        write_record(path, record)
        for old in sorted(self._folder.glob("*.kifu"))[: -self._keep]:
            remove_if_there(old)
        return path


def play_aloud(evaluate: Evaluator, rng: np.random.Generator, name: str) -> GameRecord:
    """A game of the policy against itself, drawn move by move, with its policy and value for every position."""
    player = _ThinkingAloud(evaluate, rng, name)
    record = play(player, player, max_moves=SELF_PLAY_MOVES)
    return dataclasses.replace(record, thoughts=tuple(player.thoughts))


class _ThinkingAloud:
    """The policy as a player that records its policy and value."""

    def __init__(self, evaluate: Evaluator, rng: np.random.Generator, name: str) -> None:
        self.name = name
        self.thoughts: list[Thought] = []
        self._evaluate = evaluate
        self._player = PolicyPlayer(self._keep, 1.0, rng, name)

    def choose(self, game: ShogiGame) -> MoveChoice:
        """See ShogiPlayer.choose."""
        choice = self._player.choose(game)
        logits, wdl = self._kept
        self.thoughts.append(thought_of(game, logits[0], wdl[0], choice.move))
        return choice

    def _keep(self, planes: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        self._kept = self._evaluate(planes)
        return self._kept
