"""`understudy match`: plays two players, prints every game and the score so far, and stops early if a test decides."""

from __future__ import annotations

import argparse
import shutil
import sys
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from understudy.errors import SettingsError
from understudy.games.shogi.actions import BLACK, WHITE
from understudy.games.shogi.clock import Clocks
from understudy.games.shogi.errors import EngineError, IllegalAnswer
from understudy.games.shogi.opponents import is_engine, make_player
from understudy.games.shogi.players import outcome, play_match
from understudy.games.shogi.record import GameRecord
from understudy.games.shogi.record_files import write_record
from understudy.games.shogi.rules import Ending
from understudy.games.shogi.score import ContestScore
from understudy.games.shogi.usi_client import UsiPlayer
from understudy.models.sprt import Sprt

_GAMES, _MOST_GAMES = 20, 2000  # without and with a sequential test


def run_match(options: argparse.Namespace) -> int:
    """Play the match that the command line asks for. Ctrl-C ends it and shows the result so far."""
    if options.option and not (is_engine(options.first) or is_engine(options.second)):
        raise SettingsError("--option is for USI engines; neither player is one.")
    test = Sprt.asked(options.sprt)
    games = options.games or (_GAMES if test is None else _MOST_GAMES)
    games += games % 2 if test else 0  # the test counts pairs of games
    clocks = None if options.clock is None else Clocks.parse(options.clock, options.tolerance)
    with ExitStack() as stack:
        first = make_player(options.first, options, options.seed + 1, stack, clocks, seat=1)
        second = make_player(options.second, options, options.seed + 2, stack, clocks, seat=2)
        progress = MatchProgress(games, test, options.save)
        rng = np.random.default_rng(options.seed)
        stopped, broken = False, ""
        try:
            play_match(
                first,
                second,
                games,
                rng,
                max_moves=options.max_moves,
                on_game=progress.take_in,
                clocks=clocks,
                decided=progress.decided,
                on_error=progress.tell,
            )
        except KeyboardInterrupt:
            stopped = True
        except EngineError as error:
            broken = f"The match ended early: {error}"
    progress.clear()
    for player, lost in zip((first, second), progress.time_losses, strict=True):
        if isinstance(player, UsiPlayer):
            _show_times(player, lost if clocks else None, options.tolerance)
    print(progress.summary(first.name, second.name, stopped=stopped))
    if broken:
        print(f"understudy: {broken}", file=sys.stderr)
    return 130 if stopped else int(bool(broken))


class MatchProgress:
    """The games of a match so far, and the line that shows them.

    On a terminal the line is overwritten; elsewhere one is printed after each pair of games.
    """

    def __init__(self, games: int, test: Sprt | None = None, folder: Path | None = None) -> None:
        self._games, self._test, self._folder = games, test, folder
        self._results: list[float] = []  # of the first player: 1, 0, −1
        self._shown = 0  # characters of the line on the terminal
        self.time_losses = [0, 0]
        """Games that the first and the second player lost on time."""

    @property
    def score(self) -> ContestScore:
        """The score of the first player."""
        return ContestScore(*(self._results.count(result) for result in (1, 0, -1)))

    @property
    def pairs(self) -> list[float]:
        """For each complete pair, the share of its points."""
        results = self._results
        return [(one + other + 2) / 4 for one, other in zip(results[::2], results[1::2], strict=False)]

    def decided(self) -> bool:
        """Whether the test, if there is one, has reached a bound."""
        return self._test is not None and self._test.decided(self.pairs) is not None

    def take_in(self, number: int, record: GameRecord) -> None:
        """Count a finished game, save it if requested, and show it."""
        result = record.result
        assert result is not None
        self._results.append(result.for_player(BLACK if number % 2 else WHITE))
        if result.winner is not None and result.ending is Ending.TIME:
            self.time_losses[(1 - result.winner + number - 1) % 2] += 1  # the first player is Black in games 1, 3, …
        if self._folder is not None:
            self._folder.mkdir(parents=True, exist_ok=True)
            write_record(self._folder / f"{number:04d}.kifu", record)
        self.clear()
        print(f"game {number:>3}: {' - '.join(record.names)}: {outcome(result)}, {len(record.moves)} moves", flush=True)
        self._show()

    def tell(self, error: IllegalAnswer) -> None:
        """Show why an illegal move lost a game."""
        self.clear()
        print(error, flush=True)

    def line(self) -> str:
        """Games, score, Elo with its 95 % interval, and the state of the test."""
        if self._test is None:
            return f"{len(self._results)}/{self._games} games: {self.score}"
        return f"{self.score}, {self._test.progress(self.pairs)}"

    def clear(self) -> None:
        """Remove the line from the terminal."""
        if self._shown:
            print(f"\r{'':{self._shown}}\r", end="", flush=True)
        self._shown = 0

    def _show(self) -> None:
        if sys.stdout.isatty():
            line = self.line()[: shutil.get_terminal_size().columns - 1]  # a wrapped line could not be overwritten
            print(line, end="", flush=True)
            self._shown = len(line)
        elif len(self._results) % 2 == 0:
            print(self.line(), flush=True)

    def summary(self, first: str, second: str, *, stopped: bool) -> str:
        """The score, the result of the test, and why the match ended."""
        if not self._results:
            return "The match was stopped before a game was over."
        lines = [f"{first} against {second}: {self.score}"]
        if self._test is not None:
            lines.append(self._test.verdict(first, second, self.pairs))
            if self.decided():
                lines.append("The match ended as soon as this was decided, so its Elo tends to be too far from zero.")
            elif not stopped:
                lines.append("More games would be needed: --games N.")
        if stopped:
            lines.append("The match was stopped by hand.")
        return "\n".join(lines)


def _show_times(player: UsiPlayer, lost: int | None, tolerance: float) -> None:
    allowed = f" (and {tolerance:g} s of tolerance)" if tolerance else ""
    late = "" if player.limit is None else f", {player.late} of them later than the {player.limit:g} s allowed{allowed}"
    late += "" if lost is None else f", {lost} games lost on time{allowed}"
    print(f"{player.name}: {player.answers} moves{late}; the slowest took {player.slowest:.2f} s")
