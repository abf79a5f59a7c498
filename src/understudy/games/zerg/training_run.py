"""What `python run_with_training.py` runs: games, a learner beside them, and a line of output for each game."""

from __future__ import annotations

import argparse
import shutil
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from understudy.errors import LearnerError, UnderstudyError, missing_library
from understudy.extras import how_to_install
from understudy.flags import nearest, print_anywhere
from understudy.games.zerg.challenges import Challenge, next_challenge
from understudy.games.zerg.defaults import evaluated, with_what_was_given, zerg_agent, zerg_settings
from understudy.games.zerg.game_processes import process_pool
from understudy.games.zerg.history import GameLog, PlayedGame, plot_win_rate, win_rate_table
from understudy.games.zerg.one_game import GameSetup, find_starcraft, play_one
from understudy.games.zerg.run_options import parse_options
from understudy.learner.last_evaluation import compare_with_first
from understudy.learner.process import BackgroundParallelLearner
from understudy.learner.reports import statistics_table
from understudy.machine.home import have_a_home
from understudy.machine.signals import interrupt_on_end_signals
from understudy.rundir import RunDir

if TYPE_CHECKING:
    from understudy.games.zerg.direct.practice import Practice

CRASHES_THAT_STOP = 5
STATISTICS_EVERY = 5
PRACTICE_NUMBERS = 1_000_000  # the first number of games on the direct environment; live games have low ones
EVALUATION_SECONDS = (5.0, 120.0)  # shortest and longest evaluation at the end
EVALUATION_PART = 0.3  # as a share of the session, within these limits
_BAR = 10


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a training session; the exit code is 0 after a normal end, 1 after too many crashes."""
    print_anywhere()
    have_a_home()
    try:
        return TrainingRun(parse_options(arguments), interrupt_on_end_signals()).run()
    except UnderstudyError as error:
        print(f"run_with_training: {error}", file=sys.stderr)
        return 1
    except ModuleNotFoundError as error:
        if (library := missing_library(error)) is None:
            raise
        print(f"run_with_training: the library {library!r} is missing. {how_to_install(library)}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:  # during compilation, or a second one while the learner finishes
        print("\nStopped. Games that were not learned from wait for the next start.", file=sys.stderr)
        return 130


class TrainingRun:
    """One session: from the start of the learner to the summary."""

    def __init__(self, options: argparse.Namespace, asked_to_end: threading.Event) -> None:
        starcraft = _place_to_play(options)  # checked before anything is created
        settings = with_what_was_given(evaluated(zerg_settings(options.policy, options.algorithm)))
        self._options = options
        self._asked_to_end = asked_to_end
        self._run_dir = Path(options.run_dir)
        self._history = GameLog(self._run_dir)
        run = RunDir.at(self._run_dir)
        run.create()
        self._recovered = self._history.recover(run)
        self._began_with = len(self._history.games)
        self._crashes = 0
        self._setup = GameSetup(
            run_dir=str(self._run_dir),
            starcraft=starcraft,
            starcraft_map=options.map if starcraft else "",
            policy=options.policy,
            algorithm=options.algorithm,
            explore=not options.no_exploration,
            try_out=bool(starcraft) or not options.practice,  # practice games explore, so these games play the policy
            time_limit=options.time_limit,
        )
        # Report a model that does not fit once, not in every game.
        zerg_agent(self._run_dir, settings=settings, online_training=False).close()
        if options.practice:  # this run uses the whole machine on purpose; training must not wait until it is idle
            settings = replace(settings, resources=replace(settings.resources, training_patience=0.0))
        self._settings = settings
        self._learner = BackgroundParallelLearner(
            run_dir=self._run_dir,
            settings=settings,
            verbose=not options.quiet,
        )

    def run(self) -> int:
        """Play until the games or the minutes are used up, Ctrl-C, or too many crashes in a row."""
        self._greet()
        if not self._setup.starcraft:
            from understudy.games.zerg.direct.batch import compile_simulation  # noqa: PLC0415 - an optional door

            compile_simulation()
        self._deadline = None if self._options.minutes is None else time.monotonic() + 60 * self._options.minutes
        self._began = time.monotonic()
        self._start_learner()
        code = 0
        self._practice = self._start_practice()
        try:
            self._play_games()
            if self._crashes >= CRASHES_THAT_STOP:
                last = self._history.games[-1]
                print(f"Stopped: {self._crashes} games in a row crashed. The last one: {last.error}", file=sys.stderr)
                code = 1
        except KeyboardInterrupt:
            print("\nStopping: the current game is saved, and the learner finishes the waiting games ...", flush=True)
        finally:
            self._finish()
        return code

    def _evaluation_seconds(self) -> float:
        """The time limit of the evaluation at the end, which should not make a short session much longer."""
        least, most = EVALUATION_SECONDS
        return min(max(EVALUATION_PART * (time.monotonic() - self._began), least), most)

    def _greet(self) -> None:
        if self._setup.starcraft:
            print(f"[INFO] Playing on StarCraft II in {self._setup.starcraft}")
        else:
            print("[INFO] Playing on the proving ground (the real game: set SC2PATH to its folder)")
        print("[INFO] A line for each game: opponent: result, length, reward | model, learner")
        if self._began_with:
            print(f"[INFO] Continuing: {self._began_with} games were played here before")
        if self._recovered:
            print(f"[INFO] {self._recovered} of them had ended but were not logged when the last run was killed")

    def _start_learner(self) -> None:
        """Start the learner. If that fails, the games are played anyway, and the bot learns after each of them."""
        try:
            self._learner.start()
        except (LearnerError, OSError) as error:
            print(f"[WARNING] Failed to start background learner: {error}", file=sys.stderr)
            print("[WARNING] Background parallel learner not available: the bot learns by itself after each game")
            return
        print("[OK] Background parallel learner initialized and started")
        print("[INFO] Experience replay training will run in background")
        print(f"[INFO] Monitoring directory: {(self._run_dir / 'data' / 'buffer').absolute()}", flush=True)

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
        """Play several games at a time, each in its own process; if one dies, only its game is lost."""
        count = self._options.instances
        under_way: dict[Future[PlayedGame], Challenge] = {}
        with process_pool(count) as pool:
            for number in numbers:
                challenge = self._challenge(number)
                under_way[pool.submit(play_one, challenge, self._setup)] = challenge
                if len(under_way) >= count:
                    self._collect(under_way, FIRST_COMPLETED)
                if self._crashes >= CRASHES_THAT_STOP:
                    break
            while under_way:
                self._collect(under_way, FIRST_COMPLETED)

    def _collect(self, under_way: dict[Future[PlayedGame], Challenge], until: str) -> None:
        done, _ = wait(under_way, return_when=until)
        for future in done:
            challenge = under_way.pop(future)
            try:
                self._note(future.result())
            except BrokenProcessPool as error:
                self._note(_crashed(challenge, f"its process died: {error}"))

    def _numbers(self) -> Iterator[int]:
        """Numbers of the games to play, continuing from the last session."""
        games = self._options.games
        first = number = 1 + max((game.number for game in self._history.games), default=-1)
        while games == 0 or number < first + games:
            if self._asked_to_end.is_set():
                raise KeyboardInterrupt
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
        """Start games on the direct environment beside the others, for more experience."""
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

    def _note(self, game: PlayedGame) -> None:
        self._history.add(game)
        self._crashes = self._crashes + 1 if game.result == "Crash" else 0
        print(self._line(game), flush=True)
        if game.saved and not self._options.quiet:
            print(f"[TRAINING] ✓ Experience data saved: {game.saved}", flush=True)
        played = len(self._history.games) - self._began_with
        if played % STATISTICS_EVERY == 0:
            print(statistics_table(self._learner.get_stats()), flush=True)

    def _line(self, game: PlayedGame) -> str:
        """The output line of a game: progress, opponent, result, model and learner."""
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
        run = RunDir.at(self._run_dir)
        if sentence := compare_with_first(run, self._settings, _say, self._evaluation_seconds()):
            print(sentence)
        print(win_rate_table(self._history.games))
        plot = self._run_dir / "win_rate.png"
        if self._history.games and plot_win_rate(self._history.games, plot):
            print(f"Plot: {plot.absolute()}")
        elif self._history.games:
            print("No plot: matplotlib is not installed.")
        print(f"Model version {stats['model_version']} in {(self._run_dir / 'models').absolute()}", flush=True)


def _say(text: str) -> None:
    print(f"[INFO] {text}", flush=True)


def _place_to_play(options: argparse.Namespace) -> str | None:
    """The folder of StarCraft II, or None for the proving ground. An unknown map is an error."""
    starcraft = None if options.game == "proving-ground" else find_starcraft()
    if starcraft is None and options.game == "starcraft":
        raise UnderstudyError("StarCraft II was not found; set SC2PATH to its folder, or --game proving-ground.")
    if not options.map:
        return starcraft
    if starcraft is None and not options.map.isdigit():
        raise UnderstudyError(
            f"There is no map {options.map!r} on the proving ground; --map takes a number there, which makes a map."
        )
    if starcraft is not None:
        maps = sorted(path.stem for path in (Path(starcraft) / "Maps").rglob("*.SC2Map"))
        if options.map not in maps:
            near = nearest(options.map, maps) or "; it has: " + (", ".join(maps[:8]) or "none")
            raise UnderstudyError(f"StarCraft II has no map {options.map!r} in {Path(starcraft) / 'Maps'}{near}")
    return starcraft


def _fitted(parts: Sequence[str], width: int) -> str:
    """The parts of a line, wrapped to a second line if the terminal is too narrow."""
    lines = [parts[0]]
    for number, part in enumerate(parts[1:]):
        between = "  " if number == 0 else " | "
        fits = len(lines[-1]) + len(between) + len(part) <= width
        lines[-1:] = [lines[-1] + between + part] if fits else [lines[-1], f"    {part}"]
    return "\n".join(lines)


def _crashed(challenge: Challenge, reason: str) -> PlayedGame:
    place = f"ProvingGround-{challenge.map_seed}"
    return PlayedGame(
        challenge.number, challenge.race, challenge.difficulty, challenge.build, place, "Crash", error=reason
    )
