"""Replay: recent games are learned from again, beside fresh ones; those that surprise most and rare kinds more often.

Games are drawn by priority (Schaul et al. 2016): the surprise of a game is the mean size of its advantages when it was
last learned from, and games of a rare kind (opponent and result) count for more. A game drawn more often than the
others has a smaller weight, so that the mean over what is drawn is that over all games. Policies that have changed
since are corrected for where the games are learned from (V-trace). The memory is this process's own: it is bounded in
games, in bytes and in the age of games, and fills again after a restart.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.experience.episode import Episode

_LEAST_SURPRISE = 0.01  # what surprised nobody is still drawn now and then


@dataclass(frozen=True, slots=True)
class ReplayedGame:
    """A game that is learned from again, and how much it counts: at most 1."""

    episode: Episode
    weight: float


@dataclass(slots=True)
class _Remembered:
    episode: Episode
    version: int
    surprise: float
    times: int = 0


class ReplayMemory:
    """The newest games learned from, bounded in number, bytes and versions."""

    def __init__(self, games: int, size: int, versions: int) -> None:
        self._most_games, self._most_bytes, self._most_versions = games, size, versions
        self._games: OrderedDict[str, _Remembered] = OrderedDict()
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._games)

    def times(self, game_id: str) -> int:
        """How often a remembered game was learned from again."""
        return self._games[game_id].times

    def add(self, episodes: Sequence[Episode], surprises: Sequence[float], version: int) -> None:
        """Remember games that a version has learned from."""
        for episode, surprise in zip(episodes, surprises, strict=True):
            self._forget(episode.meta.id)
            self._games[episode.meta.id] = _Remembered(episode, version, surprise)
            self._bytes += episode.nbytes
        while self._games and (len(self._games) > self._most_games or self._bytes > self._most_bytes):
            self._forget(next(iter(self._games)))

    def learned_again(self, games: Sequence[ReplayedGame], surprises: Sequence[float]) -> None:
        """Note that games were learned from again, and how they surprise now."""
        for game, surprise in zip(games, surprises, strict=True):
            if (known := self._games.get(game.episode.meta.id)) is not None:
                known.times += 1
                known.surprise = surprise

    def draw(self, decisions: float, version: int, rng: np.random.Generator) -> list[ReplayedGame]:
        """Different games with about this many decisions in total, by priority; forgets games of too old versions."""
        while self._games and next(iter(self._games.values())).version < version - self._most_versions:
            self._forget(next(iter(self._games)))
        games = list(self._games.values())
        if not games or decisions <= 0:
            return []
        probabilities = self._probabilities(games)
        chosen, length = [], 0
        for index in rng.choice(len(games), len(games), replace=False, p=probabilities).tolist():
            if length + len(games[index].episode) > decisions:
                break
            length += len(games[index].episode)
            chosen.append(index)
        weights = probabilities.min() / probabilities
        return [ReplayedGame(games[index].episode, float(weights[index])) for index in chosen]

    @staticmethod
    def _probabilities(games: Sequence[_Remembered]) -> NDArray[np.float64]:
        kinds = [(game.episode.meta.opponent_id, game.episode.meta.result) for game in games]
        count = Counter(kinds)
        priority = np.array(
            [max(g.surprise, _LEAST_SURPRISE) / np.sqrt(count[kind]) for g, kind in zip(games, kinds, strict=True)]
        )
        probabilities: NDArray[np.float64] = priority / priority.sum()
        return probabilities

    def _forget(self, game_id: str) -> None:
        known = self._games.pop(game_id, None)
        if known is not None:
            self._bytes -= known.episode.nbytes
