"""The newest recorded games of a run, for checks of a candidate."""

from __future__ import annotations

from understudy.errors import EpisodeError
from understudy.experience.episode import Episode, Expected, read_episode
from understudy.rundir import RunDir
from understudy.settings import StorageSettings

_MOST_GAMES, _MOST_DECISIONS = 100, 20_000


def newest_games(run: RunDir, expected: Expected) -> list[Episode]:
    """The newest games of archive and buffer that fit, newest first, within limits of number and size."""
    found: list[Episode] = []
    decisions = 0
    # Names begin with the time of the game.
    paths = sorted((*run.archive.glob("game_*.npz"), *run.buffer.glob("game_*.npz")), key=lambda p: p.name)[::-1]
    for path in paths[: 2 * _MOST_GAMES]:
        try:
            episode = read_episode(path, StorageSettings(), expected)
        except (OSError, EpisodeError):  # moved by the learner, or recorded before a change of the bot
            continue
        found.append(episode)
        decisions += len(episode.actions)
        if len(found) >= _MOST_GAMES or decisions >= _MOST_DECISIONS:
            break
    return found
