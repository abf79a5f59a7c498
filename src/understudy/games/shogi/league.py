"""Whom the learner plays in training beside itself: simple players, and its own past."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from understudy.acting.sampling import draw_all
from understudy.errors import ModelDamaged, ModelMissing
from understudy.games.saved import generator_of
from understudy.games.shogi.matches import MOST_LEGAL, LeagueEntry, ShogiMatches, write_states
from understudy.games.shogi.players import GreedyPlayer, RandomPlayer, ShogiPlayer
from understudy.games.shogi.rules import ShogiGame
from understudy.models.state import read_model
from understudy.networks.factory import model_factory
from understudy.networks.network import Network

logger = logging.getLogger(__name__)

GREEDY, RANDOM, PAST = 0.5625, 0.25, 0.0625
"""Shares of the matches; in the rest the learner plays both sides."""
LATE = 0.3
"""The share of games against rivals that begin shortly before the end of an earlier one."""
GAMES_OF_A_PAST = 64
GAMMA = 0.99
"""The discount, of the training and of its shaped rewards: a win is worth more the sooner it comes."""


class OneByOne:
    """A player of single games as a rival in many."""

    def __init__(self, make: Callable[[np.random.Generator], ShogiPlayer]) -> None:
        self._make = make

    def prepare(self, rng: np.random.Generator) -> None:
        """See Rival."""
        self._rng = rng
        self._player = self._make(rng)

    def next_game(self) -> None:
        """See Rival."""

    def snapshot(self) -> Mapping[str, Any]:
        """See Rival. Such a player has nothing but its lots."""
        return {"rng": self._rng.bit_generator.state}

    def restore(self, saved: Mapping[str, Any]) -> None:
        """See Rival."""
        self.prepare(generator_of(saved["rng"]))

    def answer(self, games: Sequence[ShogiGame]) -> Sequence[int | None]:
        """See Rival."""
        return [self._player.choose(game).move for game in games]


class PastSelf:
    """One of the versions that the run has kept, drawn again after every 64 games; its moves are drawn, too.

    A run that goes on from a version finds the same ones before it as the run that was not interrupted.
    """

    def __init__(self, versions: Path) -> None:
        self._versions = versions
        self._network: Network | None = None

    def prepare(self, rng: np.random.Generator) -> None:
        """See Rival. Without any version it plays at random."""
        self._rng = rng
        self._games = 0
        self._draw()

    def next_game(self) -> None:
        """See Rival."""
        self._games += 1
        if self._games % GAMES_OF_A_PAST == 0:
            self._draw()

    def snapshot(self) -> Mapping[str, Any]:
        """See Rival."""
        return {"rng": self._rng.bit_generator.state, "games": self._games, "version": self._version}

    def restore(self, saved: Mapping[str, Any]) -> None:
        """See Rival. A version that is no longer kept is replaced by another one."""
        self._rng, self._games = generator_of(saved["rng"]), int(saved["games"])
        version = str(saved["version"])
        try:
            self._load(version)
        except (ModelMissing, ModelDamaged):
            logger.info(
                "The past version %s is no longer kept: another one plays, and the run is not the same.", version
            )
            self._draw()

    def _draw(self) -> None:
        kept = sorted(path.stem for path in self._versions.glob("*.npz") if path.stem.isdecimal())
        self._load(kept[self._rng.integers(len(kept))] if kept else "")

    def _load(self, version: str) -> None:
        self._version = version
        if not version:
            self._network = None
            return
        if not version.isdecimal():
            raise ModelMissing(f"{version!r} is no version.")
        state = read_model(self._versions / f"{version}.npz")
        spec = state.spec
        self._network = model_factory(spec.state_dim, len(spec.actions), spec.network, np.random.default_rng(0))
        self._network.parameters[:] = state.arrays["parameters"]

    def answer(self, games: Sequence[ShogiGame]) -> Sequence[int | None]:
        """See Rival."""
        if self._network is None:
            return [game.legal_moves[self._rng.integers(len(game.legal_moves))] for game in games]
        states = np.empty((len(games), ShogiMatches.state_dim), np.float32)
        write_states(games, states)
        logits, _ = self._network.evaluate(states)
        counts = np.array([len(game.legal_moves) for game in games])
        places, _ = draw_all(logits, np.arange(MOST_LEGAL) < counts[:, None], 0.0, self._rng)
        return [game.legal_moves[place] for game, place in zip(games, places.tolist(), strict=True)]


class ShogiLeague(ShogiMatches):
    """The matches of a training run. `versions` is the folder of its model's versions: then past ones play too."""

    settings: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "network": {"policy": "resnet", "blocks": 2, "channels": 32},
        "training": {
            "learning_rate": 4e-3,
            "gamma": GAMMA,
            "gae_lambda": 0.75,
            "epochs": 1,
            "minibatch": 512,
            "normalize_states": False,
            "exploration": 0.0,
        },
        # Learning takes far longer than playing: both in turn, with all cores each, on the newest weights.
        "parallel": {"games_per_worker": 32, "batch_size": 2048, "max_staleness": 0, "learner_threads": 0},
    }

    def __init__(self, matches: int, versions: str = "") -> None:
        entries = [
            LeagueEntry(OneByOne(GreedyPlayer), int(GREEDY * matches)),
            LeagueEntry(OneByOne(RandomPlayer), int(RANDOM * matches)),
        ]
        if versions:
            entries.append(LeagueEntry(PastSelf(Path(versions)), int(PAST * matches)))
        super().__init__(matches, rivals=entries, discount=GAMMA, late=LATE)

    def join_league(self, share: float, versions: Path) -> bool:
        """See Game.join_league: it has rivals of its own."""
        return True
