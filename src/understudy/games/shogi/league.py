"""The league of a shogi run: the learner's opponents besides itself, which are simple players and its past versions."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from understudy.acting.sampling import draw_all
from understudy.errors import ModelDamaged, ModelMissing
from understudy.games.game import Bools
from understudy.games.saved import generator_of, pack, unpack, unpacking
from understudy.games.shogi.matches import MOST_LEGAL, NOBODY, LeagueEntry, Rival, ShogiMatches, write_states
from understudy.games.shogi.players import GreedyPlayer, RandomPlayer, ShogiPlayer
from understudy.games.shogi.rules import ShogiGame
from understudy.models.state import read_model
from understudy.networks.factory import model_factory
from understudy.networks.network import Network
from understudy.parallel.standings import Standings, versions_in

logger = logging.getLogger(__name__)

SIMPLE = {"greedy": 0.5625, "random": 0.25}
"""The share of matches that each simple rival plays until the learner beats it more often than not."""
PAST = 0.5
"""The share of past versions in the matches left by simple rivals; in the others the learner plays both sides."""
LEAST_MATCHES = 0.5
"""Matches that a simple rival keeps even if it always loses, to notice if the learner forgets how to beat it."""
RING = 12
"""The number of past versions that play, spread evenly over those that the run has kept."""
LATE = 0.3
"""The share of games against rivals that start shortly before the end of an earlier game."""
OPENED = 0.5
"""The share of the other games that begin with random moves, so that unusual positions are learned too."""
GAMES_OF_A_PAST = 64
GAMMA = 0.99
"""The discount of the training and of its shaped rewards: an earlier win is worth more."""


class OneByOne:
    """Lets a player of single games play in several matches, one after the other."""

    def __init__(self, make: Callable[[np.random.Generator], ShogiPlayer]) -> None:
        self._make = make

    def prepare(self, rng: np.random.Generator) -> None:
        """See Rival."""
        self._rng = rng
        self._player = self._make(rng)

    def next_game(self, points: float | None) -> None:
        """See Rival."""

    def snapshot(self) -> Mapping[str, Any]:
        """See Rival. Only the state of its random numbers is needed."""
        return {"rng": self._rng.bit_generator.state}

    def restore(self, saved: Mapping[str, Any]) -> None:
        """See Rival."""
        self.prepare(generator_of(saved["rng"]))

    def answer(self, games: Sequence[ShogiGame]) -> Sequence[int | None]:
        """See Rival."""
        return [self._player.choose(game).move for game in games]


class PastSelf:
    """A past version of the learner, drawn again after every 64 games. Its moves are drawn from its policy.

    Versions that the learner beats about half of the time are drawn more often (`parallel.standings`). A run that
    resumes from a version finds the same earlier versions as a run that was not interrupted.
    """

    def __init__(self, versions: Path) -> None:
        self._versions = versions
        self._network: Network | None = None

    def prepare(self, rng: np.random.Generator) -> None:
        """See Rival. Without any version it plays at random."""
        self._rng = rng
        self._games = 0
        self._standings = Standings()
        self._draw()

    def next_game(self, points: float | None) -> None:
        """See Rival."""
        if points is not None:
            self._standings.count(self._version, points)
        self._games += 1
        if self._games % GAMES_OF_A_PAST == 0:
            self._draw()

    def snapshot(self) -> Mapping[str, Any]:
        """See Rival."""
        return {
            "rng": self._rng.bit_generator.state,
            "games": self._games,
            "version": self._version,
            "standings": self._standings.snapshot(),
        }

    def restore(self, saved: Mapping[str, Any]) -> None:
        """See Rival. A version that is no longer kept is replaced by another one."""
        self._rng, self._games = generator_of(saved["rng"]), int(saved["games"])
        self._standings = Standings(saved["standings"])
        version = str(saved["version"])
        try:
            self._load(version)
        except (ModelMissing, ModelDamaged):
            logger.info(
                "The past version %s is no longer kept: another one plays, so the run is not resumed exactly.", version
            )
            self._draw()

    def _draw(self) -> None:
        ring = ring_of(versions_in(self._versions))
        self._standings.keep_only(ring)
        self._load(self._standings.draw(ring, self._rng) if ring else "")

    def _load(self, version: str) -> None:
        self._version = version
        if not version:
            self._network = None
            return
        if not version.isdecimal():
            raise ModelMissing(f"{version!r} is not a version.")
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


def ring_of(versions: Sequence[int]) -> list[str]:
    """Up to 12 of these versions, evenly spread, including the newest."""
    places = np.unique(np.linspace(0, len(versions) - 1, RING).round().astype(int)) if versions else ()
    return [f"{versions[place]:06d}" for place in places]


class ShogiLeague(ShogiMatches):
    """The matches of a training run. With `versions`, the folder of its model's versions, past versions play too.

    Each game's rival is chosen when the game begins: simple players at first, past versions once those are beaten.
    """

    settings: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "network": {"policy": "resnet", "blocks": 2, "channels": 32},
        "training": {
            "learning_rate": 4e-3,
            "gamma": GAMMA,
            "gae_lambda": 0.75,
            "target_kl": 0.05,
            "epochs": 1,
            "minibatch": 512,
            "normalize_states": False,
            "exploration": 0.0,
        },
        # Learning takes far longer than playing, so they alternate: each uses all cores, and play uses the newest
        # weights.
        "parallel": {"games_per_worker": 32, "batch_size": 2048, "max_staleness": 0, "learner_threads": 0},
    }

    def __init__(self, matches: int, versions: str = "") -> None:
        rivals: list[Rival] = [OneByOne(GreedyPlayer), OneByOne(RandomPlayer)]
        if versions:
            rivals.append(PastSelf(Path(versions)))
        self._standings = Standings()
        super().__init__(
            matches, rivals=[LeagueEntry(rival, 0) for rival in rivals], discount=GAMMA, late=LATE, opened=OPENED
        )

    def join_league(self, share: float, versions: Path) -> bool:
        """See Game.join_league: it has its own rivals."""
        return True

    def reset(self, seed: np.random.SeedSequence) -> None:
        """See Game.reset."""
        self._standings = Standings()
        super().reset(seed)

    def shares(self) -> NDArray[np.float64]:
        """The share of the matches that each rival should have now; in the remaining ones the learner plays both sides.

        A simple rival fades out with p(1 - p), where p is the learner's points per game, as soon as it loses more often
        than it wins. Past versions and the learner itself share the remaining matches.
        """
        points = np.array([self._standings.expected(name) for name in SIMPLE])
        solved = np.where(points > 0.5, 4 * points * (1 - points), 1.0)
        simple = np.maximum(solved * list(SIMPLE.values()), LEAST_MATCHES / self.matches)
        return np.append(simple, [PAST * (1 - simple.sum())] * (len(self._entries) - len(SIMPLE)))

    def next_rival(self, match: int) -> int:
        """See ShogiMatches.next_rival: the rival that is furthest below its share."""
        others = np.delete(self._rival_of, match)
        shares = self.shares()
        lacking = np.append(shares, 1 - shares.sum()) * self.matches
        lacking -= np.bincount(np.where(others == NOBODY, len(shares), others), minlength=len(lacking))
        number = int(lacking.argmax())
        return NOBODY if number == len(shares) else number

    def _first_rivals(self) -> NDArray[np.int64]:
        self._rival_of = np.full(self.matches, NOBODY)
        for match in range(self.matches):
            self._rival_of[match] = self.next_rival(match)
        return self._rival_of

    def _finished(self, rival: int, points: float | None) -> None:
        super()._finished(rival, points)
        if rival < len(SIMPLE) and points is not None:
            self._standings.count(list(SIMPLE)[rival], points)

    def snapshot(self) -> bytes:
        """See Game.snapshot."""
        facts = {"standings": self._standings.snapshot()}
        return pack(facts, {"matches": np.frombuffer(super().snapshot(), np.uint8)})

    def restore(self, saved: bytes) -> Bools:
        """See Game.restore."""
        facts, arrays = unpack(saved)
        with unpacking():
            self._standings = Standings(facts["standings"])
            matches = arrays["matches"].tobytes()
        return super().restore(matches)
