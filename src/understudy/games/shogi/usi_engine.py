"""A checkpoint as a USI engine, for any shogi program with a board."""

from __future__ import annotations

import itertools
import math
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

import cshogi

from understudy import __version__
from understudy.errors import UnderstudyError
from understudy.files.printable import in_one_line
from understudy.games.shogi.checkpoint import load_checkpoint
from understudy.games.shogi.errors import GameError
from understudy.games.shogi.inference import BACKENDS, Evaluator, make_evaluator, with_potential
from understudy.games.shogi.rules import Ending, ShogiGame, game_of_position
from understudy.games.shogi.search import LEAVES, Limits, Search, SearchResult, centipawns

NETWORK_DELAY = (
    300  # ms: the way to the clock and back, and a busy machine; a late move loses, a shorter thought hardly
)
MOST_DELAY = 10_000
_LONGEST_ANSWER = 300
_RESERVE = 4  # such delays
MOST_NODES = 300_000  # of one search, which takes about 2.8 KB of memory for each
_MOST_DIGITS = 12  # of a number in a command; a program with a board sends milliseconds
_UNLIMITED = 1 << 20  # moves: the program with the board decides when a game is too long


class UsiEngine:
    """Reads commands line by line. A search runs in a thread of its own, so that `stop` and `quit` are heard."""

    def __init__(self, load: Callable[[str], tuple[Evaluator, str]], output: TextIO | None = None) -> None:
        """`load` makes the evaluator, given the name of a backend, when the program asks whether we are ready."""
        self._load = load
        self._output = output or sys.stdout
        self._talk = threading.Lock()
        self._game = ShogiGame(max_moves=_UNLIMITED)
        self._search: Search | None = None
        self._thinking: threading.Thread | None = None
        self._stop = threading.Event()
        self._options = {"Nodes": "800", "Backend": "fastest", "NetworkDelay": str(NETWORK_DELAY)}

    def run(self, lines: TextIO) -> None:
        """Obey until `quit` or the end of the lines."""
        for line in lines:
            words = line.split()
            if words[:1] == ["quit"]:
                break
            if words:
                try:
                    self._obey(words, line.strip())
                except UnderstudyError as error:
                    self._say(f"info string {in_one_line(str(error))[:_LONGEST_ANSWER]}")
                except Exception as error:  # noqa: BLE001 - no line ends the engine: that would lose the game
                    self._say(f"info string {type(error).__name__} while obeying {words[0][:20]!r}")
        self._finish()

    def _obey(self, words: list[str], line: str) -> None:
        match words[0]:
            case "usi":
                self._introduce()
            case "isready":
                self._prepare()
                self._say("readyok")
            case "setoption":
                self._set_option(words)
            case "position":
                self._finish()
                self._game = game_of_position(line, _UNLIMITED)
            case "go":
                self._finish()
                self._go(words[1:])
            case "stop" | "ponderhit" | "gameover":
                self._finish()

    def _introduce(self) -> None:
        self._say(f"id name Understudy {__version__}", "id author The Understudy authors")
        self._say(f"option name Nodes type spin default 800 min 1 max {MOST_NODES}")
        self._say(f"option name NetworkDelay type spin default {NETWORK_DELAY} min 0 max {MOST_DELAY}")
        self._say(f"option name Backend type combo default fastest var fastest var {' var '.join(BACKENDS)}")
        self._say("usiok")

    def _set_option(self, words: list[str]) -> None:
        # setoption name NAME value VALUE
        if len(words) != 5 or words[1] != "name" or words[3] != "value":
            return
        name, value = words[2], words[4]
        most = {"Nodes": MOST_NODES, "NetworkDelay": MOST_DELAY}.get(name)
        if most is not None:
            number = _number(value)
            if number is None or number < 0:
                raise GameError(f"{name} must be a whole number, not {value[:20]!r}.")
            value = str(min(max(number, int(name == "Nodes")), most))
        if name in self._options:
            self._options[name] = value
            if name == "Backend":
                self._search = None

    def _prepare(self) -> Search:
        if self._search is None:
            evaluate, about = self._load(self._options["Backend"])
            self._search = Search(evaluate)
            self._search.think(ShogiGame(), Limits(nodes=16))  # the first calls are slow: not on the game's clock
            self._say(f"info string {about}")
        return self._search

    def _go(self, words: list[str]) -> None:
        if words[:1] == ["mate"]:
            self._say("checkmate notimplemented")
            return
        result = self._game.result
        if result is not None and result.ending in (Ending.MATE, Ending.DECLARATION):
            self._say("bestmove win" if result.winner == self._game.turn else "bestmove resign")
            return
        search = self._prepare()
        self._stop = threading.Event()
        waits = "infinite" in words or "ponder" in words
        limits = self._limits(_numbers(words), waits)
        # A search that nobody limited may not answer before it is told to stop, even when it has finished.
        self._thinking = threading.Thread(target=self._think, args=(search, self._game, limits, waits))
        self._thinking.start()

    def _limits(self, given: dict[str, int], waits: bool) -> Limits:
        if waits:
            return Limits(nodes=MOST_NODES, stop=self._stop)
        if "nodes" in given:
            return Limits(nodes=min(max(given["nodes"], 1), MOST_NODES), stop=self._stop)
        seconds = thinking_seconds(given, self._game.turn, int(self._options["NetworkDelay"]))
        nodes = int(self._options["Nodes"])
        return Limits(nodes, math.inf if seconds is None else time.monotonic() + seconds, self._stop)

    def _think(self, search: Search, game: ShogiGame, limits: Limits, waits: bool) -> None:
        begun = time.monotonic()

        def show(thought: SearchResult) -> None:
            elapsed = max(time.monotonic() - begun, 1e-3)
            self._say(
                f"info depth {len(thought.line)} nodes {thought.nodes} time {int(1000 * elapsed)} "
                f"nps {int(thought.nodes / elapsed)} score cp {centipawns(thought.value)} "
                f"pv {' '.join(cshogi.move_to_usi(move) for move in thought.line)}"
            )

        try:
            thought = search.think(game, limits, show)
        except Exception as error:  # noqa: BLE001 - a program that waits for a move gets one
            self._say(f"info string The search failed: {type(error).__name__}")
            self._say(f"bestmove {cshogi.move_to_usi(game.legal_moves[0])}")
            return
        if waits:
            self._stop.wait()
        show(thought)
        self._say(f"bestmove {cshogi.move_to_usi(thought.move)}")

    def _finish(self) -> None:
        """End the search that is under way, which then says its best move."""
        self._stop.set()
        if self._thinking is not None:
            self._thinking.join()
            self._thinking = None

    def _say(self, *lines: str) -> None:
        with self._talk:
            for line in lines:
                print(line, file=self._output, flush=True)


def thinking_seconds(given: dict[str, int], turn: int, delay: int) -> float | None:
    """How long to think with the times of a `go` command, all in milliseconds; None if it names none."""
    side = "bw"[turn]
    left, increment, byoyomi = given.get(f"{side}time", 0), given.get(f"{side}inc", 0), given.get("byoyomi", 0)
    if "movetime" in given:
        byoyomi = max(byoyomi, given["movetime"])
    if not given.keys() & {f"{side}time", f"{side}inc", "byoyomi", "movetime"}:
        return None
    # Without byoyomi an answer that was held up eats into the clock: enough for a few of them is never thought away,
    # and below that half of the increment fills it up again.
    spare = left if byoyomi else max(left - _RESERVE * delay, 0)
    wanted = byoyomi + (increment if spare else increment / 2) + spare / 40
    allowed = byoyomi + increment + left - delay  # what is thought beyond this loses the game
    return max(min(wanted, allowed), 1) / 1000


def _numbers(words: list[str]) -> dict[str, int]:
    found = ((name, _number(word)) for name, word in itertools.pairwise(words))
    return {name: number for name, number in found if number is not None}


def _number(word: str) -> int | None:
    digits = word.removeprefix("-")
    return int(word) if digits.isascii() and digits.isdecimal() and len(digits) <= _MOST_DIGITS else None


def engine_of(checkpoint: Path) -> UsiEngine:
    """The engine that plays a checkpoint. The file is read at once, so that a wrong one is an error here."""
    loaded = load_checkpoint(checkpoint)

    def evaluator(backend: str) -> tuple[Evaluator, str]:
        evaluate, about = make_evaluator(loaded.network, backend, LEAVES)
        return with_potential(evaluate) if loaded.shaped else evaluate, about

    return UsiEngine(evaluator)
