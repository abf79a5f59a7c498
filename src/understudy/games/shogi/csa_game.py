"""One game on a CSA server, from START to its result. The server is the judge: moves count when it repeats them."""

from __future__ import annotations

import time
from collections.abc import Callable

from understudy.files.printable import in_one_line
from understudy.games.shogi import csa
from understudy.games.shogi.actions import BLACK
from understudy.games.shogi.clock import Clocks
from understudy.games.shogi.csa_connection import ConnectionLost, CsaConnection
from understudy.games.shogi.csa_protocol import RESULTS, GameConditions, comment, move_in, result_of
from understudy.games.shogi.errors import EngineError, GameError
from understudy.games.shogi.players import MoveChoice, ShogiPlayer
from understudy.games.shogi.record import GameRecord, known
from understudy.games.shogi.rules import Ending, Result, ShogiGame

_UNLIMITED = 1 << 20  # moves: the server decides when a game is too long
_LOOK = 5.0  # seconds to wait for the next message before checking again
_VERDICT = 120.0  # seconds that a server may take to judge an illegal move
_GOODBYE = 3.0


class CsaGame:
    """A game in progress."""

    def __init__(
        self,
        connection: CsaConnection,
        found: GameConditions,
        player: ShogiPlayer,
        clocks: Clocks,
        *,
        comments: bool = False,
        say: Callable[[str], None] = print,
    ) -> None:
        self._connection, self._found, self._player, self._clocks = connection, found, player, clocks
        self._comments, self._say = comments, say
        self.over = False
        """Whether the server has said how it ended."""
        self._result: Result | None = None
        self._reasons: list[str] = []
        self._game = ShogiGame(found.start, _UNLIMITED)
        self._values: list[int | None] = []
        self._seconds: list[int | None] = []
        self._lines: list[tuple[str, ...] | None] = []
        self._sent: tuple[str, MoveChoice] | None = None
        self._illegal_at: float | None = None
        mine = found.times[found.side]
        clocks.main, clocks.increment, clocks.byoyomi = mine.total, mine.increment, mine.byoyomi
        # A player gets the increment before each move.
        clocks.left = [times.total + times.increment for times in found.times]
        for text, units in found.moves:
            self._take_in(text, units)

    def play(self) -> None:
        """Play until the server says how the game ended; ConnectionLost if it does not."""
        while not self.over:
            if self._game.turn == self._found.side and self._sent is None and self._illegal_at is None:
                self._move()
            line = self._connection.read(_LOOK)
            if line is not None:
                self._hear(line)
            if self._illegal_at is not None and time.monotonic() - self._illegal_at > _VERDICT and not self.over:
                raise ConnectionLost("The server did not judge an illegal move.")

    def give_up(self) -> None:
        """Resign because the program was told to end, and wait briefly for the result."""
        try:
            self._connection.send("%TORYO")
            deadline = time.monotonic() + _GOODBYE
            while not self.over and time.monotonic() < deadline:
                if (line := self._connection.read(0.2)) is not None:
                    self._hear(line)
        except ConnectionLost:
            return

    def record(self) -> GameRecord:
        """The game so far."""
        return GameRecord(
            tuple(self._game.usi_moves()),
            self._found.start,
            self._found.names,
            self._result,
            known(self._values),
            seconds=known(self._seconds),
            lines=known(self._lines),
        )

    def _move(self) -> None:
        """Send our move, a resignation or a declaration."""
        choice = self._choose()
        if choice.wins:
            text = "%KACHI"
        elif choice.move is None:
            text = "%TORYO"
        else:
            text = csa.written(choice.move, self._game.turn)
        self._sent = (text, choice)
        said = ""
        if self._comments and choice.move is not None:
            said = comment(self._for_black(choice), csa.line_of(self._game, choice.line)[1:])
        self._connection.send(text + said)

    def _choose(self) -> MoveChoice:
        result = self._game.result
        if result is not None and result.ending is Ending.DECLARATION:
            return MoveChoice(None, wins=True)
        if not self._game.legal_moves:
            return MoveChoice(None)
        try:
            return self._player.choose(self._game)
        except EngineError as error:
            self._say(f"{error} It is started again.")
        try:
            restart = getattr(self._player, "restart", None)
            if restart is not None:
                restart()
            return self._player.choose(self._game)
        except EngineError as error:
            self._say(f"{error} The game is resigned.")
            return MoveChoice(None)

    def _hear(self, line: str) -> None:
        if (move := move_in(line)) is not None:
            self._take_in(*move)
        elif line in RESULTS:
            self.over = True
            self._result = result_of(self._reasons, line, self._found.side)
        elif line.startswith("#"):
            self._reasons.append(line)
        elif not line.startswith("%"):
            self._say(f"The server says {in_one_line(line)[:200]!r}.")

    def _take_in(self, text: str, units: int | None) -> None:
        """Apply a move that the server repeats."""
        turn = self._game.turn
        try:
            move = csa.move_of(text, self._game)
        except GameError as error:
            self._say(f"The server repeats {in_one_line(text)}, which is not playable: {error}")
            self._illegal_at = time.monotonic()
            return
        rules = self._found.times[turn]
        seconds = None if units is None else units * rules.unit
        self._clocks.left[turn] = max(self._clocks.left[turn] - (seconds or 0.0), 0.0) + rules.increment
        choice = self._sent[1] if self._sent is not None and self._sent[0] == text else None
        self._values.append(None if choice is None else self._for_black(choice))
        self._lines.append(None if choice is None else tuple(choice.line[1:]))
        self._seconds.append(None if seconds is None else round(seconds))
        self._sent = None
        self._game.push(move)

    def _for_black(self, choice: MoveChoice) -> int | None:
        return choice.value if choice.value is None or self._found.side == BLACK else -choice.value
