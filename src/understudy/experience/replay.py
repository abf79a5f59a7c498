"""Replay: recent games are learned from again beside new ones; surprising games and games of rare kinds more often.

Games are drawn by priority (Schaul et al. 2016). The surprise of a game is the mean absolute advantage when it was last
learned from; games of a rare kind (opponent and result) count for more. A game that is drawn more often gets a smaller
weight, so that the weighted mean over the drawn games equals the mean over all games. V-trace corrects for the change
of the policy since the game. The memory belongs to this process: it is bounded in games, in bytes and in the age of
games, and fills again after a restart.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.experience.episode import Episode

_LEAST_SURPRISE = 0.01  # games without surprise are still drawn occasionally


@dataclass(frozen=True, slots=True)
class ReplayedGame:
    """A game to learn from again, and its weight: at most 1."""

    episode: Episode
    weight: float


@dataclass(slots=True)
class _Remembered:
    episode: Episode
    version: int
    surprise: float
    times: int = 0


class ReplayMemory:
    """The newest games that were learned from, bounded in number, bytes and versions."""

    def __init__(self, games: int, size: int, versions: int) -> None:
        self._most_games, self._most_bytes, self._most_versions = games, size, versions
        self._games: OrderedDict[str, _Remembered] = OrderedDict()
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._games)

    def times(self, game_id: str) -> int:
        """How often a remembered game was used again."""
        return self._games[game_id].times

    def add(self, episodes: Sequence[Episode], surprises: Sequence[float], version: int) -> None:
        """Remember games that this version has learned from."""
        for episode, surprise in zip(episodes, surprises, strict=True):
            self._forget(episode.meta.id)
            self._games[episode.meta.id] = _Remembered(episode, version, surprise)
            self._bytes += episode.nbytes
        while self._games and (len(self._games) > self._most_games or self._bytes > self._most_bytes):
            self._forget(next(iter(self._games)))

    def learned_again(self, games: Sequence[ReplayedGame], surprises: Sequence[float]) -> None:
        """Note that games were used again, with their new surprise."""
        for game, surprise in zip(games, surprises, strict=True):
            if (known := self._games.get(game.episode.meta.id)) is not None:
                known.times += 1
                known.surprise = surprise

    def draw(self, decisions: float, version: int, rng: np.random.Generator) -> list[ReplayedGame]:
        """Draw different games with about this many decisions in total, by priority; drops games of versions that are
        too old."""
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
