"""Opponents that are programs of their own and speak USI."""

from __future__ import annotations

import itertools
import os
import queue
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType

from understudy.games.shogi.clock import TOLERANCE, Clocks
from understudy.games.shogi.errors import EngineError, GameError, IllegalAnswer
from understudy.games.shogi.players import MoveChoice
from understudy.games.shogi.rules import START, ShogiGame
from understudy.games.shogi.usi_options import UsiOption, setoption

_KNOWN: dict[str, tuple[str, ...]] = {
    "fairy-stockfish": (),
    "gnushogi": (sys.executable, "-m", "understudy.games.shogi.gnushogi_bridge"),
}
"""Programs, and what is to be started before each for it to speak USI."""
_PLACES = ("/usr/games", "/usr/local/games")  # Debian's games are not on everybody's path
_BEGINNING = 120.0  # seconds: a large network is loaded, on a busy machine


def find_engines() -> dict[str, list[str]]:
    """The engines that are installed here: by name, the command that starts each."""
    found = {name: shutil.which(name) or shutil.which(name, path=os.pathsep.join(_PLACES)) for name in _KNOWN}
    return {name: [*_KNOWN[name], path] for name, path in found.items() if path}


class UsiPlayer:
    """An engine in a process of its own. Use it with `with`: it ends with the block."""

    def __init__(
        self,
        command: str | Sequence[str],
        go: str | Clocks = "byoyomi 1000",
        options: Mapping[str, str | int] | None = None,
        patience: float = 30.0,
        tolerance: float = TOLERANCE,
    ) -> None:
        """`go` is what follows the word go, or the clocks of a match, which give it for every move.

        `patience` is how many seconds more than it was given an answer may take before it is an error; to begin, an
        engine may take longer. `tolerance` is how many seconds an answer may come later than `go` allows.
        """
        self.command = [command] if isinstance(command, str) else list(command)
        self.name = Path(self.command[0]).name
        self._go = go
        self._patience = patience
        self.answers = 0
        self.slowest = 0.0
        """Seconds from `go` to `bestmove` of the slowest answer."""
        self.limit = None if isinstance(go, Clocks) else _limit(go)
        """Seconds that an answer may take, where `go` says so; None if it says something else."""
        self.tolerance = tolerance
        self.options: dict[str, UsiOption] = {}
        """What the engine lists, by name."""
        self.late = 0
        """Answers that took longer: on a clock, games lost."""
        self._given = dict(options or {})
        self._start()

    def _start(self) -> None:
        self._game: ShogiGame | None = None
        self._lines: queue.Queue[str | None] = queue.Queue()
        try:
            self._process = subprocess.Popen(
                self.command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                encoding="utf-8",
                errors="replace",
                bufsize=1,
            )
        except OSError as error:
            raise EngineError(f"The engine {self.command[0]} does not start: {error}") from error
        threading.Thread(target=self._listen, args=(self._process, self._lines), daemon=True).start()
        try:
            self._begin(self._given)
        except EngineError:
            self.close()
            raise

    def restart(self) -> None:
        """End the engine, which may be dead or silent, and start it again."""
        self.close()
        self._start()

    def choose(self, game: ShogiGame) -> MoveChoice:
        """See ShogiPlayer.choose. IllegalAnswer for a move that is not legal, EngineError for silence."""
        if game is not self._game:
            self._game = game
            self._send("usinewgame")
        start = "startpos" if game.start == START else f"sfen {game.start}"
        moves = game.usi_moves()
        self._send(f"position {start}{' moves ' if moves else ''}{' '.join(moves)}")
        asked = time.monotonic()
        self._send(f"go {self._go.go() if isinstance(self._go, Clocks) else self._go}")
        value: int | None = None
        expected: tuple[str, ...] = ()
        for line in self._until("bestmove", self._patience + self._allowed(game.turn)):
            if re.search(r"\bmultipv (?!1\b)", line):
                continue
            if match := re.search(r"\bscore (cp|mate) (-?\d+|[+-])", line):
                value = _value(match[1], match[2])
                expected = tuple(line.partition(" pv ")[2].split())
        self.answers += 1
        seconds = time.monotonic() - asked
        self.slowest = max(self.slowest, seconds)
        self.late += self.limit is not None and seconds > self.limit + self.tolerance
        words = line.split()
        answer = words[1] if len(words) > 1 else ""
        if answer == "resign":
            return MoveChoice(None, value)
        if answer == "win":
            return MoveChoice(None, value, wins=True)
        try:
            return MoveChoice(game.move_of_usi(answer), value, expected if expected[:1] == (answer,) else (answer,))
        except GameError as error:
            raise IllegalAnswer(f"{self.name} answered {line!r}: {error}") from error

    def _allowed(self, turn: int) -> float:
        """Seconds that the clock, or `go`, gives for this move."""
        if isinstance(self._go, Clocks):
            return self._go.left[turn] + self._go.byoyomi
        return self.limit or 0.0

    def close(self) -> None:
        """End the engine: ask first, insist after two seconds."""
        if self._process.poll() is None:
            try:
                self._send("quit")
                self._process.wait(2)
            except (EngineError, subprocess.TimeoutExpired):
                self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                try:
                    stream.close()
                except OSError:  # what was still to be sent to a dead engine
                    continue

    def __enter__(self) -> UsiPlayer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _begin(self, options: Mapping[str, str | int]) -> None:
        self._send("usi")
        for line in self._until("usiok", _BEGINNING):
            if line.startswith("id name "):
                self.name = line.removeprefix("id name ").strip()
            if (option := UsiOption.parse(line)) is not None:
                self.options[option.name] = option
        for name, value in options.items():
            self._send(setoption(self.options, name, str(value), self.name))
        self._send("isready")
        self._until("readyok", _BEGINNING)

    @staticmethod
    def _listen(process: subprocess.Popen[str], lines: queue.Queue[str | None]) -> None:
        assert process.stdout is not None
        try:
            for line in process.stdout:
                lines.put(line.strip())
        except ValueError:  # closed while reading
            pass
        lines.put(None)

    def _send(self, line: str) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()
        except (OSError, ValueError) as error:
            raise EngineError(f"{self.name} is gone; it cannot be told {line!r}.") from error

    def _until(self, word: str, patience: float = 0.0) -> list[str]:
        """The lines up to and with the one that begins with this word."""
        lines: list[str] = []
        patience = patience or self._patience
        deadline = time.monotonic() + patience
        while True:
            try:
                line = self._lines.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                raise EngineError(f"{self.name} did not say {word!r} within {patience:g} s.") from None
            if line is None:
                raise EngineError(f"{self.name} ended (exit code {self._process.poll()}) instead of saying {word!r}.")
            lines.append(line)
            if line.split()[:1] == [word]:
                return lines


def _limit(go: str) -> float | None:
    words = go.split()
    given = {name: int(number) for name, number in itertools.pairwise(words) if number.isdecimal()}
    if not given.keys() & {"byoyomi", "movetime"} or any(given.get(clock) for clock in ("btime", "wtime")):
        return None
    return max(given.get("byoyomi", 0), given.get("movetime", 0)) / 1000


def _value(kind: str, text: str) -> int:
    if kind == "cp":
        return int(text)
    return -30_000 if text.startswith("-") else 30_000
