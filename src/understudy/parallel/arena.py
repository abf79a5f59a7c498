"""Games between two contestants, in batches: two matches with the same start and sides exchanged form a pair."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from understudy.acting.sampling import draw_all, probabilities
from understudy.errors import GameFailed, SettingsError
from understudy.games.game import Bools, Game, Singles, open_game
from understudy.games.spec import Reference, find_game, play_evaluation, resolve
from understudy.ledger.arena import ArenaGame
from understudy.models.live import LiveModel
from understudy.models.state import read_model

RANDOM = "random"
_MOST_STEPS = 100_000
_POINTS = {"W": 1.0, "T": 0.5, "L": 0.0}
_TINY = 1e-30


@dataclass(frozen=True, slots=True)
class ArenaPlayer:
    """A contestant: one model, several models that vote, or an opponent that the game provides by name (`scripted`)."""

    name: str
    models: tuple[str, ...] = ()
    scripted: str = ""


class ArenaSeat(Protocol):
    """A contestant in many matches of one game."""

    def decide(self, states: Singles, legal: Bools, asked: Bools) -> NDArray[np.int64]:
        """(B,) an action for the matches in `asked`, −1 to resign; arbitrary for the others."""
        ...

    def forget(self, which: Bools) -> None:
        """Clear the memory of these matches, which have ended."""
        ...

    def close(self) -> None:
        """Called when there are no more matches."""
        ...


def can_meet(game: str, one: ArenaPlayer, other: ArenaPlayer) -> bool:
    """Whether these two contestants can play against each other.

    In a game for one player, versions are compared on its evaluation games, or on games against an external opponent
    (`Contestants.play`).
    """
    if _players(game) == 2:
        return True
    spec = find_game(game)
    if one.models and other.models:
        return spec.evaluator is not None
    return bool(one.models or other.models) and spec.contestants is not None and spec.contestants.play is not None


def play_pairs(game: str, one: ArenaPlayer, other: ArenaPlayer, pairs: Sequence[int]) -> list[ArenaGame]:
    """Play the two games of each of these pairs. The same arguments give the same games, if programs are repeatable."""
    if _players(game) == 2:
        return [
            *_play(game, (one, other), pairs),
            *_play(game, (other, one), pairs),
        ]
    return _compare(game, one, other, pairs)


@functools.cache
def _players(name: str) -> int:
    game = open_game(name, 1)
    try:
        return game.players
    finally:
        game.close()


def _even_matches(name: str, count: int) -> Game:
    contestants = find_game(name).contestants
    if contestants is None or contestants.matches is None:
        return open_game(name, count)
    made: Game = resolve(contestants.matches)(count)
    return made


def _play(name: str, seats: tuple[ArenaPlayer, ArenaPlayer], pairs: Sequence[int]) -> list[ArenaGame]:
    """Play one match of each pair, with the first contestant moving first."""
    n, seed = len(pairs), [pairs[0], len(pairs)]
    with contextlib.ExitStack() as stack:
        game = stack.enter_context(contextlib.closing(_even_matches(name, n)))
        game.reset(np.random.SeedSequence(seed))
        players = []
        for place, contestant in enumerate(seats):
            players.append(_seat(name, game, contestant, [*seed, place]))
            stack.callback(players[-1].close)
        results = _results(game, players)
    return [(seats[0].name, seats[1].name, pair, results.get(match, 0)) for match, pair in enumerate(pairs)]


def _results(game: Game, players: Sequence[ArenaSeat]) -> dict[int, int]:
    """Play one match each to its end: 1 if the first player won, 0 for a draw or a cut-off game, −1 if it lost."""
    n = game.matches
    states, legal = np.zeros((n, game.state_dim), np.float32), np.ones((n, len(game.actions)), np.bool_)
    results: dict[int, int] = {}
    for _ in range(_MOST_STEPS):
        game.observe(states)
        if game.masked:
            game.legal(legal)
        sides = game.to_move()
        open_matches = np.array([match not in results for match in range(n)])
        actions = legal.argmax(axis=1)  # arbitrary for matches that have ended
        for side, player in enumerate(players):
            asked = open_matches & (sides == side)
            if asked.any():
                actions = np.where(asked, player.decide(states, legal, asked), actions)
        for match in np.flatnonzero(actions < 0).tolist():
            results[match] = -1 if sides[match] == 0 else 1
            actions[match] = legal[match].argmax()
        step = game.step(actions)
        ended = step.over | step.cut
        for match in np.flatnonzero(ended).tolist():
            won = 0 if step.cut[match] else int(np.sign(step.rewards[match]))
            results.setdefault(match, won if sides[match] == 0 else -won)
        if len(results) == n:
            break
        for player in players:
            player.forget(ended)
    return results


def _compare(name: str, one: ArenaPlayer, other: ArenaPlayer, pairs: Sequence[int]) -> list[ArenaGame]:
    """A game for one player: both play the same evaluation games, and the better result wins.

    Against an external opponent, the results are those of the games against it.
    """
    if not (one.models and other.models):
        version, opponent = (one, other) if one.models else (other, one)
        played = [_play_alone(name, version, pairs, opponent.scripted)]
        played.append([1 - points for points in played[0]])
        ours_first = version is one
    else:
        played, ours_first = [_play_alone(name, contestant, pairs) for contestant in (one, other)], True
    found: list[ArenaGame] = []
    for number, (ours, theirs) in enumerate(zip(*(played if ours_first else played[::-1]), strict=True)):
        result, pair = int(np.sign(ours - theirs)), pairs[number // 2]
        found.append((one.name, other.name, pair, result) if number % 2 == 0 else (other.name, one.name, pair, -result))
    return found


def _play_alone(name: str, contestant: ArenaPlayer, pairs: Sequence[int], opponent: str = "") -> list[float]:
    """The points of two games for each pair: evaluation games, or games against an external opponent."""
    spec = find_game(name)
    if len(contestant.models) != 1:
        raise SettingsError(f"{contestant.name} cannot play {name}: it needs one model file.")
    if opponent:
        if spec.contestants is None or spec.contestants.play is None:
            raise SettingsError(f"Versions of {name} cannot play {opponent}.")
        play: Reference = functools.partial(resolve(spec.contestants.play), opponent)
    elif spec.evaluator is None:
        raise SettingsError(f"{name} has one player and no evaluator: versions of it cannot meet.")
    else:
        play = spec.evaluator
    results = ""
    for pair in pairs:  # each pair has two games
        results += play_evaluation(play, contestant.models[0], 2 * pair, 2)[0]
    return [_POINTS[result] for result in results]


def _seat(name: str, game: Game, contestant: ArenaPlayer, seed: list[int]) -> ArenaSeat:
    rng, spec = np.random.default_rng(seed), find_game(name)
    if contestant.models:
        return _Models(game, contestant, rng)
    if contestant.scripted == RANDOM:
        return _Scripted(_at_random, rng)
    if contestant.scripted in spec.rivals:
        return _Scripted(resolve(spec.rivals[contestant.scripted]), rng)
    if spec.contestants is None or spec.contestants.seat is None:
        raise SettingsError(f"{contestant.name} cannot play {name}.")
    made: ArenaSeat = resolve(spec.contestants.seat)(contestant.scripted, game, rng)
    return made


def _at_random(states: Singles, legal: Bools, rng: np.random.Generator) -> NDArray[np.int64]:
    chosen: NDArray[np.int64] = np.argmax(np.where(legal, rng.random(legal.shape), -1.0), axis=1)
    return chosen


class _Scripted:
    """An opponent that is a function of states, legal actions and a random generator."""

    def __init__(self, decide: Any, rng: np.random.Generator) -> None:
        self._decide, self._rng = decide, rng

    def decide(self, states: Singles, legal: Bools, asked: Bools) -> NDArray[np.int64]:
        """See ArenaSeat."""
        actions = np.asarray(self._decide(states, legal, self._rng), np.int64)
        if actions.shape != (len(states),):
            raise GameFailed(
                f"The scripted opponent returned an array of shape {actions.shape}; it must return one action for each "
                f"of the {len(states)} matches."
            )
        return actions

    def forget(self, which: Bools) -> None:
        """See ArenaSeat."""

    def close(self) -> None:
        """See ArenaSeat."""


class _Models:
    """Draws actions from a model's policy, or from the mean policy of several models (vote)."""

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

    def decide(self, states: Singles, legal: Bools, asked: Bools) -> NDArray[np.int64]:
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

    def close(self) -> None:
        """See ArenaSeat."""
