"""A checkpoint as a USI engine, for any shogi program with a user interface."""

from __future__ import annotations

import dataclasses
import itertools
import math
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

import cshogi
import numpy as np

from understudy import __version__
from understudy.errors import UnderstudyError
from understudy.files.printable import in_one_line
from understudy.games.shogi.book import Book, book_move, read_book
from understudy.games.shogi.checkpoint import load_checkpoint
from understudy.games.shogi.errors import GameError
from understudy.games.shogi.evaluation_cache import EvaluationCache
from understudy.games.shogi.inference import Evaluator, make_evaluator, with_potential
from understudy.games.shogi.mate import mate_of, root_mate
from understudy.games.shogi.rules import Ending, ShogiGame, game_of_position
from understudy.games.shogi.search import LEAVES, Limits, Search, SearchResult, SearchSettings, centipawns
from understudy.games.shogi.usi_info import checkmate, info_lines
from understudy.games.shogi.usi_settings import MOST_NODES, NEVER, EngineSettings

NODES = 800  # of a search without any other limit
_LONGEST_ANSWER = 300
_RESERVE = 4  # network delays that are kept in reserve on the clock
_MATE_BYTES = 600  # bytes per position that the mate search visits
_EVERY = 1.0  # seconds between two reports
_MOST_DIGITS = 12  # digits of a number in a command; user interfaces send milliseconds
_UNLIMITED = 1 << 20  # moves; the user interface decides when a game is too long


@dataclasses.dataclass(frozen=True, slots=True)
class _Order:
    """A parsed `go` command."""

    given: dict[str, int]
    """The numbers of the command, by the word before each."""
    waits: bool = False
    """Whether to answer only after `stop`, even if the search has ended."""
    ponders: bool = False
    """Whether to think in the opponent's time until `ponderhit` or `stop`."""
    stop: threading.Event = dataclasses.field(default_factory=threading.Event)
    hit: threading.Event = dataclasses.field(default_factory=threading.Event)
    """Set when the opponent has played the expected move."""
    pause: threading.Event = dataclasses.field(default_factory=threading.Event)
    """Set to end the search in the opponent's time."""


class UsiEngine:
    """Reads commands line by line. Searches run in a separate thread, so that `stop` and `quit` are handled at once."""

    def __init__(self, load: Callable[[str], tuple[Evaluator, str]], output: TextIO | None = None) -> None:
        """`load` makes the evaluator from the name of a backend; it is called at the command `isready`."""
        self._load = load
        self._output = output or sys.stdout
        self._talk = threading.Lock()
        self._game = ShogiGame(max_moves=_UNLIMITED)
        self._evaluate: Evaluator | None = None
        self._search: Search | None = None
        self._book: Book | None = None
        self._thinking: threading.Thread | None = None
        self._order = _Order({})
        self._rng = np.random.default_rng()
        self._settings = EngineSettings()

    def run(self, lines: TextIO) -> None:
        """Execute commands until `quit` or the end of the lines."""
        for line in lines:
            words = line.split()
            if words[:1] == ["quit"]:
                break
            if words:
                try:
                    self._obey(words, line.strip())
                except UnderstudyError as error:
                    self._say(f"info string {in_one_line(str(error))[:_LONGEST_ANSWER]}")
                except Exception as error:  # noqa: BLE001 - no command may end the engine: that would lose the game
                    self._say(f"info string {type(error).__name__} while executing {words[0][:20]!r}")
        self._finish()

    def _obey(self, words: list[str], line: str) -> None:
        match words[0]:
            case "usi":
                self._introduce()
            case "isready":
                self._prepare()
                self._say("readyok")
            case "setoption":
                self._set_option(line)
            case "usinewgame":
                self._finish()
                if self._search is not None:
                    self._search.forget()
            case "position":
                self._finish()
                self._game = game_of_position(line, _UNLIMITED)
            case "go":
                self._finish()
                self._go(words[1:])
            case "ponderhit":
                self._order.hit.set()
                self._order.pause.set()
            case "stop" | "gameover":
                self._finish()

    def _introduce(self) -> None:
        self._say(f"id name Understudy {__version__}", "id author The Understudy authors")
        self._say(*(option.line() for option in self._settings.listed.values()), "usiok")

    def _set_option(self, line: str) -> None:
        head, _, value = line.partition(" value ")
        words = head.split()
        if len(words) < 3 or words[1] != "name":
            raise GameError("An option is set by `setoption name NAME value VALUE`.")
        self._finish()
        name, value = " ".join(words[2:]), value.strip()
        self._settings.set(name, "" if value == "<empty>" else value)
        self._search = None
        if name == "Backend":
            self._evaluate = None
        if name == "BookFile":
            self._book = None
            if (path := self._settings.book) is not None:
                self._book = read_book(path)
                self._say(f"info string The book has {len(self._book):,} positions.")

    def _prepare(self) -> Search:
        if self._evaluate is None:
            self._evaluate, about = self._load(self._settings.text("Backend"))
            Search(self._evaluate).think(ShogiGame(), Limits(nodes=16))  # warm-up, off the clock
            self._say(f"info string {about}")
        if self._search is None:
            nodes = 0 if self._settings.level else self._settings.number("MateNodes")
            settings = SearchSettings(
                root_mate=root_mate(nodes) if nodes else None,
                cache=EvaluationCache(self._settings.number("USI_Hash")),
            )
            self._search = Search(self._evaluate, settings, self._rng)
        return self._search

    def _go(self, words: list[str]) -> None:
        if words[:1] == ["mate"]:
            self._order = _Order({"mate": _number(words[1]) or 0} if len(words) > 1 else {})
            self._start(self._look_for_mate, self._game, self._order)
            return
        result = self._game.result
        if result is not None and result.ending in (Ending.MATE, Ending.DECLARATION):
            self._say("bestmove win" if result.winner == self._game.turn else "bestmove resign")
            return
        given = _numbers(words)
        self._order = _Order(given, waits="infinite" in words, ponders="ponder" in words)
        plays = not (self._order.waits or self._order.ponders or given.keys() & {"nodes", "depth"})
        if plays and self._plays_from_book():
            return
        search = self._prepare()
        draw = self._settings.draw_value(self._game.turn)
        if search.settings.draw_value != draw:
            search.settings = dataclasses.replace(search.settings, draw_value=draw)
            search.forget()
        self._start(self._think, search, self._game, self._order)

    def _start(self, work: Callable[..., None], *about: object) -> None:
        self._thinking = threading.Thread(target=work, args=about)
        self._thinking.start()

    def _plays_from_book(self) -> bool:
        if self._book is None or len(self._game.moves) >= self._settings.number("BookMoves"):
            return False
        found = book_move(self._book, self._game, self._rng)
        if found is None:
            return False
        self._say(
            f"info string book, played {found.times} times", f"info depth 1 score cp {found.value} pv {found.usi}"
        )
        self._say(f"bestmove {found.usi}")
        return True

    def _limits(self, order: _Order, turn: int) -> Limits:
        given, most = order.given, self._settings.number("Nodes")
        if level := self._settings.level:
            most = min(most or level.nodes, level.nodes)
        if order.waits:
            return Limits(nodes=MOST_NODES, stop=order.stop)
        if "nodes" in given:
            return Limits(nodes=min(max(given["nodes"], 1), MOST_NODES), stop=order.stop)
        if "depth" in given:
            return Limits(nodes=most or MOST_NODES, stop=order.stop)
        seconds = thinking_seconds(given, turn, self._settings.number("NetworkDelay"))
        if seconds is None:
            return Limits(nodes=most or NODES, stop=order.stop)
        return Limits(most or MOST_NODES, time.monotonic() + seconds, order.stop)

    def _think(self, search: Search, game: ShogiGame, order: _Order) -> None:
        begun = told = time.monotonic()
        lines, depth = self._settings.number("MultiPV"), order.given.get("depth", 0)
        cache = search.settings.cache
        assert cache is not None

        def show(thought: SearchResult) -> None:
            self._say(*info_lines(thought, game, time.monotonic() - begun, cache.full))

        def look(thought: SearchResult) -> None:
            nonlocal told
            if time.monotonic() - told >= _EVERY:
                told = time.monotonic()
                show(thought)
            if depth and len(thought.line) >= depth:
                order.stop.set()

        try:
            if order.ponders:
                thought = search.think(game, Limits(MOST_NODES, stop=order.pause), look, lines=lines, every=_EVERY)
                order.pause.wait()
            if not order.ponders or order.hit.is_set():
                limits = self._limits(order, game.turn)
                thought = search.think(game, limits, look, lines=lines, every=0.02 if depth else _EVERY)
        except Exception as error:  # noqa: BLE001 - a program that waits for a move must get one
            self._say(f"info string The search failed: {type(error).__name__}")
            self._say(f"bestmove {cshogi.move_to_usi(game.legal_moves[0])}")
            return
        if order.waits:
            order.stop.wait()
        show(thought)
        self._say(f"bestmove {self._answer(thought, plays=not order.waits)}")

    def _answer(self, thought: SearchResult, *, plays: bool) -> str:
        resigns = self._settings.number("ResignValue")
        if plays and resigns < NEVER and centipawns(thought.value) <= -resigns:
            return "resign"
        level = self._settings.level
        move = thought.drawn(level.temperature, self._rng) if level else thought.move
        expected = thought.line[1:2] if self._settings.ponder and move == thought.move else ()
        return " ponder ".join(cshogi.move_to_usi(one) for one in (move, *expected))

    def _look_for_mate(self, game: ShogiGame, order: _Order) -> None:
        begun = time.monotonic()
        milliseconds = order.given.get("mate")
        until = math.inf if not milliseconds else begun + milliseconds / 1000
        nodes = (self._settings.number("USI_Hash") << 20) // _MATE_BYTES
        answer = mate_of(game, nodes, Limits(deadline=until, stop=order.stop))
        seconds = max(time.monotonic() - begun, 1e-3)
        self._say(f"info time {int(1000 * seconds)} nodes {answer.nodes} nps {int(answer.nodes / seconds)}")
        self._say(checkmate(answer))

    def _finish(self) -> None:
        """End the search in progress, which then prints its best move."""
        self._order.stop.set()
        self._order.pause.set()
        if self._thinking is not None:
            self._thinking.join()
            self._thinking = None

    def _say(self, *lines: str) -> None:
        with self._talk:
            for line in lines:
                print(line, file=self._output, flush=True)


def thinking_seconds(given: dict[str, int], turn: int, delay: int) -> float | None:
    """How long to think with the times of a `go` command, all in milliseconds; None if it gives no times."""
    side = "bw"[turn]
    left, increment, byoyomi = given.get(f"{side}time", 0), given.get(f"{side}inc", 0), given.get("byoyomi", 0)
    if "movetime" in given:
        byoyomi = max(byoyomi, given["movetime"])
    if not given.keys() & {f"{side}time", f"{side}inc", "byoyomi", "movetime"}:
        return None
    # Without byoyomi, a delayed answer uses up the clock. A reserve for a few delays is kept; below it, half of the
    # increment is saved until the reserve is full again.
    spare = left if byoyomi else max(left - _RESERVE * delay, 0)
    wanted = byoyomi + (increment if spare else increment / 2) + spare / 40
    allowed = byoyomi + increment + left - delay  # thinking longer than this loses the game
    return max(min(wanted, allowed), 1) / 1000


def _numbers(words: list[str]) -> dict[str, int]:
    found = ((name, _number(word)) for name, word in itertools.pairwise(words))
    return {name: number for name, number in found if number is not None}


def _number(word: str) -> int | None:
    digits = word.removeprefix("-")
    return int(word) if digits.isascii() and digits.isdecimal() and len(digits) <= _MOST_DIGITS else None


def engine_of(checkpoint: Path) -> UsiEngine:
    """The engine for a checkpoint. The file is read at once, so that errors in it are reported here."""
    loaded = load_checkpoint(checkpoint)

    def evaluator(backend: str) -> tuple[Evaluator, str]:
        evaluate, about = make_evaluator(loaded.network, backend, LEAVES)
        return with_potential(evaluate) if loaded.shaped else evaluate, about

    return UsiEngine(evaluator)
