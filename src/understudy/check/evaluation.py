"""`understudy evaluate`: the score of a policy, with its 95 % interval. Nothing is learned or recorded."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.acting.sampling import best_all, draw_all
from understudy.errors import ModelMismatch, SettingsError
from understudy.games.game import Bools, Game, open_game
from understudy.games.spec import find_game, play_evaluation, registered_games, resolve
from understudy.ledger.connection import Ledger
from understudy.models.intervals import mean_interval, wilson
from understudy.models.live import LiveModel
from understudy.models.state import ModelState
from understudy.models.store import ModelStore
from understudy.networks.in_play import InPlay
from understudy.parallel.checked_game import CheckedGame
from understudy.rundir import RunDir

_AT_ONCE = 64  # matches
_MOST_STEPS = 100_000  # decisions in a match; an environment without a time limit may never end
FIRST_SEED = 2_000_003
"""The seed of the first game; the same games for every version."""


@dataclass(frozen=True, slots=True)
class Score:
    """How good a policy is. `score` is a mean return or, if `won` is set, a share of games won; `low` and `high` bound
    its 95 % interval."""

    game: str
    version: int
    games: int
    score: float
    low: float
    high: float
    won: int | None = None
    lost: int | None = None
    against: str | None = None
    unfinished: int = 0

    def __str__(self) -> str:
        interval = f"95 % interval {self.low:.4g} to {self.high:.4g}"
        about = f"Version {self.version} in {self.game}"
        if self.won is None:
            cut = f"; {self.unfinished} stopped after {_MOST_STEPS:,} decisions" if self.unfinished else ""
            return f"{about}: mean return {self.score:.4g} in {self.games} games ({interval}){cut}."
        against = "" if self.against is None else f" against {self.against}"
        low, high = f"{self.low:.1%}", f"{self.high:.1%}"
        return (
            f"{about}: won {self.won} of {self.games} games{against}, {self.score:.1%} (95 % interval {low} to {high})."
        )


def evaluate(
    run: RunDir,
    games: int = 100,
    game: str | None = None,
    *,
    version: int | None = None,
    sample: bool = False,
    seed: int = 0,
) -> Score:
    """Play games with a version of the model, by default the one that bots load.

    If the game has an evaluator, and `sample` and `seed` are not used, the evaluator plays. Otherwise a game for one
    player gives a mean return. In a game for two players, the opponent is random, and the policy plays each side in
    half of the games. The policy takes its most probable action, or draws one with `sample`.
    """
    if games < 1:
        raise SettingsError(f"{games} games cannot be played; at least 1.")
    path, state = ModelStore(run.model, run.ledger).stored(version)
    name = game or game_of(run, state)
    spec = find_game(name)
    if spec.evaluator is not None and not sample and not seed:
        return _of_results(spec.shown, state.version, play_evaluation(spec.evaluator, path, 0, games)[0], None)
    matches = open_game(name, min(games, _AT_ONCE))
    try:
        _require_fit(matches, state)
        play = Play(matches, LiveModel(state), sample, seed + FIRST_SEED)
        if matches.players == 2:
            return _against_random(play, name, state.version, games)
        returns, unfinished = play.returns(games)
        low, high = mean_interval(returns)
        return Score(name, state.version, games, float(np.mean(returns)), low, high, unfinished=unfinished)
    finally:
        matches.close()


def report(score: Score, *, as_json: bool) -> int:
    """Print a score; returns exit code 0."""
    print(json.dumps(dataclasses.asdict(score)) if as_json else score)
    return 0


def game_of(run: RunDir, state: ModelState) -> str:
    """The game that a run was trained on, as self-play noted it; else the game whose features the model has."""
    if run.ledger.exists():
        with Ledger(run.ledger, read_only=True) as ledger:
            for published in ledger.versions(newest=20):
                if "game" in published.stats:
                    return str(published.stats["game"])
    for name, spec in registered_games().items():
        if state.features is not None and spec.features is not None and _features(spec.features) == state.features:
            return name
    raise SettingsError("It is not known which game this run plays: name it with --game NAME or --env ID.")


def _features(reference: object) -> tuple[str, ...]:
    found = resolve(reference) if isinstance(reference, str) else reference
    return tuple(found() if callable(found) else found)  # type: ignore[arg-type]


def _require_fit(matches: Game, state: ModelState) -> None:
    spec = state.spec
    if (matches.state_dim, matches.actions) != (spec.state_dim, spec.actions):
        raise ModelMismatch(
            f"The model has {spec.state_dim} features and actions {', '.join(spec.actions)}; {matches.name} has "
            f"{matches.state_dim} features and actions {', '.join(matches.actions)}."
        )


def _against_random(play: Play, name: str, version: int, games: int) -> Score:
    sides = [0] * (games - games // 2) + [1] * (games // 2)
    returns, unfinished = play.returns(games, sides)
    results = "".join("W" if result > 0 else "L" if result < 0 else "T" for result in returns)
    return dataclasses.replace(_of_results(name, version, results, "a random player"), unfinished=unfinished)


def _of_results(name: str, version: int, results: str, against: str | None) -> Score:
    won, games = results.count("W"), len(results)
    return Score(name, version, games, won / games, *wilson(won, games), won, results.count("L"), against)


class Play:
    """Plays matches, many at once. Each match counts once, however long it is.

    The other side is played by `other`, which draws its actions from its policy, or by a random player.
    """

    def __init__(
        self, matches: Game, model: LiveModel, sample: bool, seed: int, other: LiveModel | None = None
    ) -> None:
        self._matches, self._model, self._sample, self._seed = matches, model, sample, seed
        self._other = other

    def returns(self, games: int, sides: Sequence[int] | None = None) -> tuple[list[float], int]:
        """The return of each game for the policy, which plays these sides, or both; and the number of games that did
        not end."""
        found: list[float] = []
        unfinished = 0
        while len(found) < games:
            count = min(games - len(found), self._matches.matches)
            own = None if sides is None else np.resize(sides[len(found) : len(found) + count], self._matches.matches)
            totals, playing = self._play(np.random.SeedSequence([self._seed, len(found)]), own, count)
            found += totals[:count].tolist()
            unfinished += int(playing[:count].sum())
        return found, unfinished

    def _play(
        self, seed: np.random.SeedSequence, own: NDArray[np.int64] | None, count: int
    ) -> tuple[NDArray[np.float64], Bools]:
        matches, normalizer = CheckedGame(self._matches), self._model.trainer.normalizer
        size, masked = self._matches.matches, self._matches.masked
        of_game, of_choice = seed.spawn(2)
        matches.reset(of_game)
        rng = np.random.default_rng(of_choice)
        states = np.empty((size, self._matches.state_dim), np.float32)
        legal = np.ones((size, len(self._matches.actions)), np.bool_)
        totals, playing = np.zeros(size), np.arange(size) < count
        in_play = _in_play(self._model, size)
        others = None if self._other is None else _in_play(self._other, size)
        for _ in range(_MOST_STEPS):
            matches.observe(states)
            if masked:
                matches.legal(legal)
            logits, _values = in_play.decide(normalizer.apply(states))
            actions = draw_all(logits, legal, 0.0, rng)[0] if self._sample else best_all(logits, legal)
            mine = np.ones(size, np.bool_)
            if own is not None:
                mine = matches.to_move() == own
                theirs = np.zeros_like(logits)
                if self._other is not None and others is not None:
                    theirs = others.decide(self._other.trainer.normalizer.apply(states))[0]
                actions = np.where(mine, actions, draw_all(theirs, legal, 0.0, rng)[0])
            step = matches.step(actions)
            totals += np.where(playing, np.where(mine, step.rewards, -step.rewards), 0)
            ended = step.over | step.cut
            in_play.forget(ended)
            if others is not None:
                others.forget(ended)
            playing &= ~ended
            if not playing.any():
                break
        return totals, playing


def _in_play(model: LiveModel, size: int) -> InPlay:
    """A network that plays `size` matches, all of them at their start."""
    network = model.network
    in_play = network.in_play(size)
    in_play.begin(np.zeros((size, network.reach, network.state_dim), np.float32), np.zeros(size, np.int64))
    return in_play
