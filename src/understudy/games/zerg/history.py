"""The log of a run's games, one JSON line each. The next start continues from it; the table and the plot use it."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from understudy.errors import EpisodeError
from understudy.experience.episode import read_episode
from understudy.experience.journal import orphans, salvage
from understudy.rundir import RunDir
from understudy.settings import StorageSettings

FILE_NAME = "games.jsonl"
_CLOCK_SECONDS = 60.0  # file dates are only this exact


@dataclass(frozen=True)
class PlayedGame:
    """One finished game. `error` is empty unless the game crashed."""

    number: int
    race: str
    difficulty: str
    build: str
    map: str
    result: str
    seconds: float = 0.0
    reward: float = 0.0
    decisions: int = 0
    model_version: int = 0
    trained: bool = True
    error: str = ""
    saved: str = ""
    """The file that the game was saved in."""

    @property
    def won(self) -> bool:
        """Whether the bot won."""
        return self.result == "Victory"


class GameLog:
    """The games of a run, written to disk after every game."""

    def __init__(self, run_dir: str | os.PathLike[str]) -> None:
        self._path = Path(run_dir) / FILE_NAME
        self.games: list[PlayedGame] = []
        known = {f.name for f in dataclasses.fields(PlayedGame)}
        if self._path.exists():
            for line in self._path.read_text(encoding="utf-8").splitlines():
                try:
                    entry = json.loads(line)
                    self.games.append(PlayedGame(**{k: v for k, v in entry.items() if k in known}))
                except (ValueError, TypeError, AttributeError):
                    continue  # an incomplete line from a killed process

    def recover(self, run: RunDir) -> int:
        """Add games that had ended but were not logged when the process was killed; returns their number."""
        known = {game.number for game in self.games}
        since = self._path.stat().st_mtime - _CLOCK_SECONDS if self._path.exists() else 0.0
        lost = sorted((g for g in _finished_games(run, since) if g.number not in known), key=lambda g: g.number)
        for game in lost:
            self.add(game)
        return len(lost)

    def add(self, game: PlayedGame) -> None:
        """Append a game."""
        self.games.append(game)
        facts = dataclasses.asdict(game)
        del facts["saved"]  # the learner moves the file
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a+b") as stream:
            torn = stream.tell() > 0 and not _ends_with_newline(self._path)
            stream.write((b"\n" if torn else b"") + json.dumps(facts).encode() + b"\n")
            stream.flush()
            os.fsync(stream.fileno())


def win_rate_table(games: Sequence[PlayedGame], blocks: int = 5) -> str:
    """Win rates over the course of the games, in a few blocks of equal length."""
    played = [game for game in games if game.result != "Crash"]
    if not played:
        return "No game has been finished."
    size = max(1, -(-len(played) // blocks))
    lines = [f"{'games':>11} {'won':>5} {'lost':>5} {'tied':>5} {'win rate':>9} {'reward':>8} {'length':>7}"]
    for first in range(0, len(played), size):
        block = played[first : first + size]
        won, lost = sum(g.won for g in block), sum(g.result == "Defeat" for g in block)
        reward = sum(g.reward for g in block) / len(block)
        length = sum(g.seconds for g in block) / len(block)
        span = f"{first + 1}-{first + len(block)}"
        lines.append(
            f"{span:>11} {won:>5} {lost:>5} {len(block) - won - lost:>5} {won / len(block):>9.0%} {reward:>+8.2f}"
            f" {int(length) // 60:>4}:{int(length) % 60:02}"
        )
    return "\n".join(lines)


def plot_win_rate(games: Sequence[PlayedGame], path: Path, window: int = 15) -> bool:
    """Draw the win rate of the last games over the games; False when matplotlib is not installed."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415 - an optional door
        from matplotlib.figure import Figure  # noqa: PLC0415
    except ImportError:
        return False
    won = [game.won for game in games if game.result != "Crash"]
    rolling = [100 * sum(won[max(0, n + 1 - window) : n + 1]) / min(window, n + 1) for n in range(len(won))]
    figure = Figure(figsize=(8, 4), layout="constrained")
    axes = figure.add_subplot()
    numbers = range(1, len(won) + 1)
    axes.plot(numbers, rolling, ":", color="C0")  # fewer games than the window
    axes.plot(numbers[window - 1 :], rolling[window - 1 :], color="C0", label=f"win rate of the last {window} games")
    axes.plot([n for n, w in zip(numbers, won, strict=True) if w], [104] * sum(won), "|", color="green", label="won")
    lost = [n for n, w in zip(numbers, won, strict=True) if not w]
    axes.plot(lost, [-4] * len(lost), "|", color="red", label="not won")
    axes.set(xlabel="game", ylabel="games won, %", ylim=(-8, 108))
    axes.grid(axis="y", alpha=0.3)
    figure.legend(loc="outside upper center", ncols=3, frameon=False)
    FigureCanvasAgg(figure).print_png(str(path))  # type: ignore[no-untyped-call]
    return True


def _finished_games(run: RunDir, since: float) -> Iterator[PlayedGame]:
    """The numbered games that were saved after this time and have a result."""
    limits = StorageSettings()
    for journal in list(orphans(run.live)):
        salvage(journal, run.buffer, run.rejected, limits)
    for path in [*run.buffer.glob("*.npz"), *run.archive.glob("*.npz")]:
        try:
            if path.stat().st_mtime < since:
                continue
            episode = read_episode(path, limits)
        except (OSError, EpisodeError):
            continue  # the learner has just moved it, or will reject it
        meta, about = episode.meta, episode.meta.extra
        if meta.result in ("Victory", "Defeat", "Tie") and "number" in about:
            yield PlayedGame(
                number=int(about["number"]),
                race=str(about["race"]),
                difficulty=str(about["difficulty"]),
                build=str(about["build"]),
                map=meta.map,
                result=meta.result,
                seconds=float(about.get("seconds", 0.0)),
                reward=float(episode.rewards.sum()),
                decisions=len(episode),
                model_version=meta.model_version or 0,
            )


def _ends_with_newline(path: Path) -> bool:
    with path.open("rb") as stream:
        stream.seek(-1, os.SEEK_END)
        return stream.read(1) == b"\n"
