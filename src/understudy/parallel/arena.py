"""Games between two contestants, in batches: two matches with the same start and sides exchanged make a pair."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from understudy.acting.sampling import draw_all, probabilities
from understudy.errors import SettingsError
from understudy.games.game import Bools, Game, Singles, open_game
from understudy.games.spec import find_game, resolve
from understudy.ledger.arena import ArenaGame
from understudy.models.live import LiveModel
from understudy.models.state import read_model

RANDOM = "random"
_MOST_STEPS = 100_000
_POINTS = {"W": 1.0, "T": 0.5, "L": 0.0}
_TINY = 1e-30


@dataclass(frozen=True, slots=True)
class ArenaPlayer:
    """Somebody who plays: one model, several that vote, or an opponent that the game brings (`scripted`)."""

    name: str
    models: tuple[str, ...] = ()
    scripted: str = ""


class ArenaSeat(Protocol):
    """A contestant in many matches of one game."""

    def decide(self, states: Singles, legal: Bools | None) -> NDArray[np.int64]:
        """An action for every match, also for those where the other one is to move."""
        ...

    def forget(self, which: Bools) -> None:
        """These matches have ended."""
        ...


def play_pairs(game: str, one: ArenaPlayer, other: ArenaPlayer, pairs: Sequence[int]) -> list[ArenaGame]:
    """Play the two games of each of these pairs. The same arguments give the same games."""
    opened = open_game(game, len(pairs))
    try:
        if opened.players == 2:
            return [
                *_play(game, opened, (one, other), pairs),
                *_play(game, opened, (other, one), pairs),
            ]
    finally:
        opened.close()
    return _compare(game, one, other, pairs)


def _play(name: str, game: Game, seats: tuple[ArenaPlayer, ArenaPlayer], pairs: Sequence[int]) -> list[ArenaGame]:
    """One match of each pair, the first contestant moving first."""
    n, seed = len(pairs), [pairs[0], len(pairs)]
    game.reset(np.random.SeedSequence(seed))
    players = [_seat(name, game, contestant, [*seed, place]) for place, contestant in enumerate(seats)]
    states, legal = np.zeros((n, game.state_dim), np.float32), np.ones((n, len(game.actions)), np.bool_)
    results: dict[int, int] = {}
    for _ in range(_MOST_STEPS):
        game.observe(states)
        if game.masked:
            game.legal(legal)
        sides = game.to_move()
        decisions = [player.decide(states, legal if game.masked else None) for player in players]
        step = game.step(np.where(sides == 0, decisions[0], decisions[1]))
        ended = step.over | step.cut
        for match in np.flatnonzero(ended).tolist():
            won = 0 if step.cut[match] else int(np.sign(step.rewards[match]))
            results.setdefault(match, won if sides[match] == 0 else -won)
        if len(results) == n:
            break
        for player in players:
            player.forget(ended)
    return [(seats[0].name, seats[1].name, pair, results.get(match, 0)) for match, pair in enumerate(pairs)]


def _compare(name: str, one: ArenaPlayer, other: ArenaPlayer, pairs: Sequence[int]) -> list[ArenaGame]:
    """A game of one player: both play the same evaluation games, and who does better wins."""
    evaluator = find_game(name).evaluator
    if evaluator is None:
        raise SettingsError(f"{name} has one player and no evaluator: versions of it cannot meet.")
    played: list[list[float]] = []
    for contestant in (one, other):
        if len(contestant.models) != 1:
            raise SettingsError(f"{contestant.name} cannot play {name}: it needs one model file.")
        results = ""
        for pair in pairs:  # each pair has two games
            results += str(resolve(evaluator)(model=contestant.models[0], first=2 * pair, games=2)["results"])
        played.append([_POINTS[result] for result in results])
    found: list[ArenaGame] = []
    for number, (ours, theirs) in enumerate(zip(*played, strict=True)):
        result, pair = int(np.sign(ours - theirs)), pairs[number // 2]
        found.append((one.name, other.name, pair, result) if number % 2 == 0 else (other.name, one.name, pair, -result))
    return found


def _seat(name: str, game: Game, contestant: ArenaPlayer, seed: list[int]) -> ArenaSeat:
    rng = np.random.default_rng(seed)
    if contestant.scripted == RANDOM:
        return _Scripted(_at_random, rng, len(game.actions))
    if contestant.scripted:
        return _Scripted(resolve(find_game(name).rivals[contestant.scripted]), rng, len(game.actions))
    return _Models(game, contestant, rng)


def _at_random(states: Singles, legal: Bools, rng: np.random.Generator) -> NDArray[np.int64]:
    chosen: NDArray[np.int64] = np.argmax(np.where(legal, rng.random(legal.shape), -1.0), axis=1)
    return chosen


class _Scripted:
    """An opponent that is a function of states, legal actions and random numbers."""

    def __init__(self, decide: Any, rng: np.random.Generator, actions: int) -> None:
        self._decide, self._rng, self._actions = decide, rng, actions

    def decide(self, states: Singles, legal: Bools | None) -> NDArray[np.int64]:
        """See ArenaSeat."""
        mask = np.ones((len(states), self._actions), np.bool_) if legal is None else legal
        return np.asarray(self._decide(states, mask, self._rng), np.int64)

    def forget(self, which: Bools) -> None:
        """See ArenaSeat."""


class _Models:
    """Draws actions from the policy of a model; of several, from the mean of their policies: they vote."""

    def __init__(self, game: Game, contestant: ArenaPlayer, rng: np.random.Generator) -> None:
        self._rng = rng
        self._models = [LiveModel(read_model(Path(path))) for path in contestant.models]
        for model in self._models:
            spec = model.base.spec
            if (spec.state_dim, len(spec.actions)) != (game.state_dim, len(game.actions)):
                raise SettingsError(
                    f"{contestant.name} does not play {game.name}: it has {spec.state_dim} features and "
                    f"{len(spec.actions)} actions, the game {game.state_dim} and {len(game.actions)}."
                )
        self._in_play = [model.network.in_play(game.matches) for model in self._models]

    def decide(self, states: Singles, legal: Bools | None) -> NDArray[np.int64]:
        """See ArenaSeat."""
        found = [
            play.decide(model.trainer.normalizer.apply(states))[0]
            for model, play in zip(self._models, self._in_play, strict=True)
        ]
        if len(found) == 1:
            return draw_all(found[0], legal, 0.0, self._rng)[0]
        mean = np.mean([probabilities(logits, legal, 0.0) for logits in found], axis=0)
        return draw_all(np.log(np.maximum(mean, _TINY)), legal, 0.0, self._rng)[0]

    def forget(self, which: Bools) -> None:
        """See ArenaSeat."""
        for play in self._in_play:
            play.forget(which)
