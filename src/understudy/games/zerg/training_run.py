"""What `python run_with_training.py` does: games, a learner beside them, and a line about each game."""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from understudy.errors import UnderstudyError, missing_library
from understudy.games.zerg.challenges import Challenge, next_challenge
from understudy.games.zerg.defaults import evaluated, zerg_agent, zerg_settings
from understudy.games.zerg.game_processes import players
from understudy.games.zerg.history import GameRecord, History, plot_win_rate, win_rate_table
from understudy.games.zerg.one_game import GameSetup, find_starcraft, play_one
from understudy.games.zerg.run_options import parse_options
from understudy.learner.process import BackgroundParallelLearner
from understudy.learner.reports import statistics_table
from understudy.rundir import RunDir

if TYPE_CHECKING:
    from understudy.games.zerg.direct.practice import Practice

CRASHES_THAT_STOP = 5
STATISTICS_EVERY = 5
PRACTICE_NUMBERS = 1_000_000  # the first number of games on the direct environment; live games have low ones
_BAR = 10


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a training session and return its exit code: 0 when it ended as asked, 1 when it had to stop."""
    options = parse_options(arguments)
    try:
        return TrainingRun(options).run()
    except UnderstudyError as error:
        print(f"run_with_training: {error}", file=sys.stderr)
        return 1
    except ModuleNotFoundError as error:
        if (library := missing_library(error)) is None:
            raise
        print(f"run_with_training: this needs {library!r}: pip install 'understudy[zerg,plot]'.", file=sys.stderr)
        return 1
    except KeyboardInterrupt:  # while the simulation is compiled, or a second one while the learner finishes
        print("\nStopped. What was played and not learned from waits for the next start.", file=sys.stderr)
        return 130


class TrainingRun:
    """One session: from the start of the learner to the summary."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self._run_dir = Path(options.run_dir)
        self._history = History(self._run_dir)
        run = RunDir.at(self._run_dir)
        run.create()
        self._recovered = self._history.recover(run)
        self._began_with = len(self._history.games)
        self._crashes = 0
        starcraft = None if options.game == "proving-ground" else find_starcraft()
        if options.game == "starcraft" and starcraft is None:
            raise UnderstudyError("StarCraft II was not found; set SC2PATH to its folder, or --game proving-ground.")
        self._setup = GameSetup(
            run_dir=str(self._run_dir),
            starcraft=starcraft,
            starcraft_map=options.map if starcraft else "",
            policy=options.policy,
            algorithm=options.algorithm,
            explore=not options.no_exploration,
            try_out=bool(starcraft) or not options.practice,  # those who practise do that; these games show the policy
            time_limit=options.time_limit,
        )
        settings = evaluated(zerg_settings(options.policy, options.algorithm))
        # A model that does not fit is said here, not by every game.
        zerg_agent(self._run_dir, settings=settings, online_training=False).close()
        if options.practice:  # it fills the machine on purpose: a batch that waits for an idle one comes too late
            settings = replace(settings, resources=replace(settings.resources, training_patience=0.0))
        self._learner = BackgroundParallelLearner(
            run_dir=self._run_dir,
            settings=settings,
            verbose=options.verbose,
        )

    def run(self) -> int:
        """Play until the games or the minutes are used up, Ctrl-C, or too many crashes in a row."""
        self._greet()
        if not self._setup.starcraft:
            from understudy.games.zerg.direct.batch import compile_simulation  # noqa: PLC0415 - an optional door

            compile_simulation()
        self._deadline = None if self._options.minutes is None else time.monotonic() + 60 * self._options.minutes
        self._learner.start()
        print("[OK] Background parallel learner started")
        code = 0
        self._practice = self._start_practice()
        try:
            self._play_games()
            if self._crashes >= CRASHES_THAT_STOP:
                last = self._history.games[-1]
                print(f"Stopped: {self._crashes} games in a row crashed. The last one: {last.error}", file=sys.stderr)
                code = 1
        except KeyboardInterrupt:
            print("\nStopping: the game under way is kept, and the learner finishes what waits. ...", flush=True)
        finally:
            self._finish()
        return code

    def _greet(self) -> None:
        if self._setup.starcraft:
            print(f"[INFO] Playing on StarCraft II in {self._setup.starcraft}")
        else:
            print("[INFO] Playing on the proving ground (the real game: set SC2PATH to its folder)")
        print(f"[INFO] Monitoring directory: {(self._run_dir / 'data' / 'buffer').absolute()}")
        print("[INFO] A line for each game: opponent: result, length, reward | model, learner")
        if self._began_with:
            print(f"[INFO] Continuing: {self._began_with} games were played here before")
        if self._recovered:
            print(
                f"[INFO] {self._recovered} of them had ended, but were not written down, when the last run was killed"
            )

    def _play_games(self) -> None:
        numbers = self._numbers()
        if self._options.instances == 1:
            for number in numbers:
                self._note(play_one(self._challenge(number), self._setup))
                if self._crashes >= CRASHES_THAT_STOP:
                    return
        else:
            self._play_side_by_side(numbers)

    def _play_side_by_side(self, numbers: Iterator[int]) -> None:
        """Several games at a time, each in a process of its own; a process that dies costs its game, not the run."""
        count = self._options.instances
        under_way: dict[Future[GameRecord], Challenge] = {}
        with players(count) as pool:
            for number in numbers:
                challenge = self._challenge(number)
                under_way[pool.submit(play_one, challenge, self._setup)] = challenge
                if len(under_way) >= count:
                    self._collect(under_way, FIRST_COMPLETED)
                if self._crashes >= CRASHES_THAT_STOP:
                    break
            while under_way:
                self._collect(under_way, FIRST_COMPLETED)

    def _collect(self, under_way: dict[Future[GameRecord], Challenge], until: str) -> None:
        done, _ = wait(under_way, return_when=until)
        for future in done:
            challenge = under_way.pop(future)
            try:
                self._note(future.result())
            except BrokenProcessPool as error:
                self._note(_crashed(challenge, f"its process died: {error}"))

    def _numbers(self) -> Iterator[int]:
        """Numbers of the games to play: they go on where the last session ended."""
        games = self._options.games
        first = number = 1 + max((game.number for game in self._history.games), default=-1)
        while games == 0 or number < first + games:
            if self._deadline is not None and time.monotonic() > self._deadline:
                return
            yield number
            number += 1

    def _challenge(self, number: int) -> Challenge:
        options = self._options
        results = [(game.difficulty, game.result) for game in self._history.games]
        map_seed = int(options.map) if options.map.isdigit() else None
        return next_challenge(
            number, results, race=options.race, difficulty=options.difficulty, map_seed=map_seed, seed=options.seed
        )

    def _start_practice(self) -> list[Practice]:
        """Games on the direct environment beside the others: more experience in the same minutes."""
        if self._setup.starcraft or not self._options.practice:
            return []
        from understudy.games.zerg.direct.practice import Practice  # noqa: PLC0415 - the simulation is an optional door

        played = len(self._history.games)
        return [
            Practice(
                str(self._run_dir),
                first=PRACTICE_NUMBERS + 100_000 * player + 100 * played,
                policy=self._setup.policy,
                algorithm=self._setup.algorithm,
                explore=self._setup.explore,
            )
            for player in range(self._options.practice)
        ]

    def _note(self, game: GameRecord) -> None:
        self._history.add(game)
        self._crashes = self._crashes + 1 if game.result == "Crash" else 0
        print(self._line(game), flush=True)
        played = len(self._history.games) - self._began_with
        if played % STATISTICS_EVERY == 0:
            print(statistics_table(self._learner.get_stats()), flush=True)

    def _line(self, game: GameRecord) -> str:
        """About a game: how far the run is, who, how it went, what played, and what the learner does."""
        stats = self._learner.get_stats()
        session = self._history.games[self._began_with :]
        wins, count, total = sum(g.won for g in session), len(session), self._options.games
        filled = _BAR * count // total if total else 0
        progress = f"[{'#' * filled}{'.' * (_BAR - filled)}] {count}/{total}" if total else f"{count} games"
        length = f"{int(game.seconds) // 60}:{int(game.seconds) % 60:02}"
        fate = f"{game.result} in {length}, {game.reward:+.2f}" if not game.error else f"Crash: {game.error}"
        parts = (
            f"[GAME {game.number + 1}] {progress}",
            f"{game.race} {game.difficulty} {game.build}: {fate}",
            f"v{game.model_version}, {stats['state']}, {stats['buffer_files']} waiting",
            f"{wins} won",
        )
        return _fitted(parts, shutil.get_terminal_size((120, 24)).columns)

    def _finish(self) -> None:
        for practice in self._practice:
            practice.stop()
        stats = self._learner.stop(drain=True)
        session = self._history.games[self._began_with :]
        print(statistics_table(stats))
        won, crashed = sum(g.won for g in session), sum(g.result == "Crash" for g in session)
        print(f"\nThis session: {len(session)} games, {won} won, {crashed} crashed.")
        print(f"All sessions: {len(self._history.games)} games.")
        print(win_rate_table(self._history.games))
        plot = self._run_dir / "win_rate.png"
        if self._history.games and plot_win_rate(self._history.games, plot):
            print(f"Plot: {plot.absolute()}")
        elif self._history.games:
            print("No plot: matplotlib is not installed.")
        print(f"Model version {stats['model_version']} in {(self._run_dir / 'models').absolute()}", flush=True)


def _fitted(parts: Sequence[str], width: int) -> str:
    """The parts of a line, on a second one as far as the terminal is too narrow for them."""
    lines = [parts[0]]
    for number, part in enumerate(parts[1:]):
        between = "  " if number == 0 else " | "
        fits = len(lines[-1]) + len(between) + len(part) <= width
        lines[-1:] = [lines[-1] + between + part] if fits else [lines[-1], f"    {part}"]
    return "\n".join(lines)


def _crashed(challenge: Challenge, reason: str) -> GameRecord:
    place = f"ProvingGround-{challenge.map_seed}"
    return GameRecord(
        challenge.number, challenge.race, challenge.difficulty, challenge.build, place, "Crash", error=reason
    )
