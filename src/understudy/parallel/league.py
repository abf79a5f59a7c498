"""A league: in some matches of self-play, a past version plays the other side, in any game for two players.

The version is drawn by prioritised fictitious self-play (`parallel/standings.py`): versions that the learner beats
about half of the time teach most.

In matches of the league the learner and the past version alternate: a step of the learner is followed by one of the
past version. In a new match the side that is due moves first, so each side moves first in about half of the matches.

A game with its own opponents, or with shaped rewards, runs its own league (`Game.join_league`).
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.acting.sampling import draw_all
from understudy.errors import ModelDamaged, ModelMismatch, ModelMissing, SettingsError
from understudy.games.game import Bools, Game, Sides, Singles, Step, open_game
from understudy.games.saved import generator_of, pack, unpack, unpacking
from understudy.models.live import LiveModel
from understudy.models.state import read_model
from understudy.parallel.standings import Standings, versions_in

logger = logging.getLogger(__name__)

GAMES_OF_A_RIVAL = 64  # games after which another version is drawn


def with_league(name: str, matches: int, share: float, versions: Path) -> Game:
    """Matches of a game. In a share of those of a two-player game, the versions in a folder play the other side."""
    opened = open_game(name, matches)
    against = round(share * matches)
    if opened.players != 2 or not against or opened.join_league(share, versions):
        return opened
    opened.close()
    if against == matches:
        raise SettingsError(f"parallel.league_share leaves no match of {matches} in which the learner plays itself.")
    return League(open_game(name, matches - against), open_game(name, against), versions)


class League(Game):
    """Matches of self-play, then matches against past versions."""

    def __init__(self, own: Game, league: Game, versions: Path) -> None:
        super().__init__(own.matches + league.matches)
        self._own, self._league, self._versions = own, league, versions
        self.name, self.players, self.masked = own.name, own.players, own.masked
        self.state_dim, self.actions = own.state_dim, own.actions
        self.features_hash, self.features = own.features_hash, own.features
        self._split = own.matches
        self._side = np.zeros(league.matches, np.int8)  # the learner's side
        self._states = np.zeros((league.matches, self.state_dim), np.float32)
        self._legal = np.ones((league.matches, len(self.actions)), np.bool_)
        self._rival: LiveModel | None = None
        self._version = 0
        self._games = 0
        self._standings = Standings()

    def model_settings(self) -> Mapping[str, Mapping[str, Any]]:
        """See Game.model_settings."""
        return self._own.model_settings()

    def reset(self, seed: np.random.SeedSequence) -> None:
        """See Game.reset."""
        own, league, lots = seed.spawn(3)
        self._own.reset(own)
        self._league.reset(league)
        self._rng = np.random.default_rng(lots)
        self._side = self._league.to_move().copy()
        self._standings, self._games = Standings(), 0
        self._draw()

    def observe(self, out: Singles) -> None:
        """See Game.observe."""
        self._own.observe(out[: self._split])
        self._league.observe(out[self._split :])

    def legal(self, out: Bools) -> None:
        """See Game.legal."""
        self._own.legal(out[: self._split])
        self._league.legal(out[self._split :])

    def to_move(self) -> Sides:
        """See Game.to_move; in matches of the league it is always the learner's turn."""
        return np.concatenate((self._own.to_move(), self._side))

    def step(self, actions: NDArray[np.int64]) -> Step:
        """See Game.step. The past version's answer is part of the step."""
        own = self._own.step(actions[: self._split])
        first = _copied(self._league.step(actions[self._split :]))
        ended = first.over | first.cut
        self._count(ended, first.rewards)
        self._side[ended] = 1 - self._league.to_move()[ended]  # the past version moves first
        answer = self._answer()
        rewards = np.where(ended, first.rewards, first.rewards + self._seen_by_learner(answer))
        after = ~ended & (answer.over | answer.cut)
        self._count(after, rewards)
        over_again = answer.over | answer.cut
        self._side[over_again] = self._league.to_move()[over_again]  # the learner moves first
        finals = np.where((first.cut & ended)[:, None], first.finals, answer.finals)
        final_sides = np.where(first.cut & ended, first.final_sides, answer.final_sides)
        parts = (
            (own.rewards, rewards),
            (own.over, np.where(ended, first.over, answer.over)),
            (own.cut, np.where(ended, first.cut, answer.cut)),
            (own.finals, finals),
            (own.final_sides, final_sides),
        )
        self._change_rival()
        return Step(*(np.concatenate(part) for part in parts))

    def begin_anew(self, which: Bools) -> Bools:
        """See Game.begin_anew."""
        own = self._own.begin_anew(which[: self._split])
        league = self._league.begin_anew(which[self._split :])
        self._side[league] = self._league.to_move()[league]
        return np.concatenate((own, league))

    def snapshot(self) -> bytes | None:
        """See Game.snapshot."""
        saved = [self._own.snapshot(), self._league.snapshot()]
        if saved[0] is None or saved[1] is None:
            return None
        facts = {
            "rng": self._rng.bit_generator.state,
            "version": self._version,
            "games": self._games,
            "standings": self._standings.snapshot(),
        }
        own, league = (np.frombuffer(part or b"", np.uint8) for part in saved)
        return pack(facts, {"own": own, "league": league, "side": self._side})

    def restore(self, saved: bytes) -> Bools:
        """See Game.restore. A version that is no longer kept is replaced by another one."""
        facts, arrays = unpack(saved)
        with unpacking():
            own, league = arrays["own"].tobytes(), arrays["league"].tobytes()
            self._rng = generator_of(facts["rng"])
            self._games = int(facts["games"])
            self._standings = Standings(facts["standings"])
            version = int(facts["version"])
            np.copyto(self._side, arrays["side"] & 1)
        going = np.concatenate((self._own.restore(own), self._league.restore(league)))
        lost = ~going[self._split :]
        self._side[lost] = self._league.to_move()[lost]
        if not self._load(version):
            self._draw()
        return going

    def close(self) -> None:
        """See Game.close."""
        self._own.close()
        self._league.close()

    # ---- the past version -------------------------------------------------------------------------------------------

    def _answer(self) -> Step:
        """The past version moves in all matches; without a version, moves are random."""
        if self._league.masked:
            self._league.legal(self._legal)
        self._league.observe(self._states)
        if self._rival is None:
            actions = np.argmax(np.where(self._legal, self._rng.random(self._legal.shape), -1.0), axis=1)
        else:
            logits, _ = self._in_play.decide(self._rival.trainer.normalizer.apply(self._states))
            actions, _ = draw_all(logits, self._legal if self._league.masked else None, 0.0, self._rng)
        self._movers = self._league.to_move().copy()
        step = _copied(self._league.step(actions))
        if self._rival is not None:
            self._in_play.forget(step.over | step.cut)
        return step

    def _seen_by_learner(self, answer: Step) -> Singles:
        return np.where(self._movers == self._side, answer.rewards, -answer.rewards).astype(np.float32)

    def _count(self, ended: Bools, rewards: Singles) -> None:
        """Count the learner's points against this version in the matches that have ended."""
        if not ended.any():
            return
        for reward in rewards[ended]:
            self._standings.count(str(self._version), (1 + float(np.sign(reward))) / 2)
        self._games += int(ended.sum())

    def _change_rival(self) -> None:
        if self._games >= GAMES_OF_A_RIVAL:
            self._games = 0
            self._draw()

    def _draw(self) -> None:
        """Draw a version; while there is none, moves are random."""
        kept = [str(version) for version in versions_in(self._versions)]
        self._standings.keep_only(kept)
        while kept:
            name = self._standings.draw(kept, self._rng)
            if self._load(int(name)):
                return
            kept.remove(name)
        self._load(0)

    def _load(self, version: int) -> bool:
        """Load a version as opponent, 0 for none; False if its file cannot be used."""
        self._version, self._rival = version, None
        if not version:
            return True
        try:
            self._rival = LiveModel(read_model(self._versions / f"{version:06d}.npz"))
        except (ModelMissing, ModelDamaged, ModelMismatch) as error:
            logger.info("Version %d does not play in the league: %s", version, error)
            return False
        self._in_play = self._rival.network.in_play(self._league.matches)
        return True


def _copied(step: Step) -> Step:
    return Step(step.rewards.copy(), step.over.copy(), step.cut.copy(), step.finals.copy(), step.final_sides.copy())
