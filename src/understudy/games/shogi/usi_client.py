"""Opponents that are USI engines in separate processes."""

from __future__ import annotations

import itertools
import re
import time
from collections.abc import Mapping, Sequence

from understudy.games.shogi.clock import TOLERANCE, Clocks
from understudy.games.shogi.errors import GameError, IllegalAnswer
from understudy.games.shogi.players import MoveChoice
from understudy.games.shogi.rules import START, ShogiGame
from understudy.games.shogi.usi_process import UsiProcess


class UsiPlayer(UsiProcess):
    """An engine as a player of shogi."""

    def __init__(
        self,
        command: str | Sequence[str],
        go: str | Clocks = "byoyomi 1000",
        options: Mapping[str, str | int] | None = None,
        patience: float = 30.0,
        tolerance: float = TOLERANCE,
    ) -> None:
        """`go` is the words after go, or the clocks of a match, which give them for every move.

        An answer that is `patience` seconds later than allowed is an error; at its start, an engine may take longer.
        `tolerance` is how many seconds an answer may be later than `go` allows.
        """
        self._go = go
        self.answers = 0
        self.slowest = 0.0
        """Seconds from `go` to `bestmove` of the slowest answer."""
        self.limit = None if isinstance(go, Clocks) else _limit(go)
        """Seconds that an answer may take if `go` limits the time; else None."""
        self.tolerance = tolerance
        self.late = 0
        """Answers that took longer; on a clock, these games are lost."""
        self._game: ShogiGame | None = None
        super().__init__(command, options, patience)

    def restart(self) -> None:
        """See UsiProcess.restart."""
        self._game = None
        super().restart()

    def choose(self, game: ShogiGame) -> MoveChoice:
        """See ShogiPlayer.choose. IllegalAnswer for an illegal move, EngineError if there is no answer."""
        if game is not self._game:
            self._game = game
            self.send("usinewgame")
        start = "startpos" if game.start == START else f"sfen {game.start}"
        moves = game.usi_moves()
        self.send(f"position {start}{' moves ' if moves else ''}{' '.join(moves)}")
        asked = time.monotonic()
        self.send(f"go {self._go.go() if isinstance(self._go, Clocks) else self._go}")
        value: int | None = None
        expected: tuple[str, ...] = ()
        for line in self.until("bestmove", self._patience + self._allowed(game.turn)):
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
        """Seconds that the clock, or `go`, allows for this move."""
        if isinstance(self._go, Clocks):
            return self._go.left[turn] + self._go.byoyomi
        return self.limit or 0.0


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
