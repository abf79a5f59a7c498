"""Plays on a CSA server: logs in, plays its assigned games, saves them, and reconnects after a lost connection."""

from __future__ import annotations

import dataclasses
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from understudy.errors import UnderstudyError
from understudy.files.printable import in_one_line
from understudy.games.shogi.clock import Clocks
from understudy.games.shogi.csa_connection import KEEP_ALIVE, ConnectionLost, CsaConnection
from understudy.games.shogi.csa_game import CsaGame
from understudy.games.shogi.csa_protocol import PORT, GameConditions, conditions
from understudy.games.shogi.errors import GameError
from understudy.games.shogi.players import ShogiPlayer, outcome
from understudy.games.shogi.record import GameRecord
from understudy.games.shogi.record_files import write_record

_ANSWER = 30.0  # seconds that a server may take to answer LOGIN
_WAIT = 5.0  # seconds to wait for the next message before checking again
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 60.0  # between attempts to connect
_MOST_LINES = 2000  # of a game summary


class CsaRefused(UnderstudyError):
    """The server refuses the login; trying again would not help."""


@dataclass(frozen=True, slots=True)
class Account:
    """Server, port, name and password."""

    host: str
    name: str
    password: str = dataclasses.field(repr=False)
    port: int = PORT

    def __post_init__(self) -> None:
        """Refuse values that cannot be sent in the login line."""
        if not re.fullmatch(r"[A-Za-z0-9_.@-]{1,32}", self.name):
            raise CsaRefused(
                f"{self.name!r} is not a valid name for a CSA server: 1 to 32 letters, digits, _, -, . and @."
            )
        if not self.password or re.search(r"\s", self.password) or not self.password.isprintable():
            raise CsaRefused("The password for the CSA server is empty, or contains spaces.")


class CsaClient:
    """A player on a server, for a number of games."""

    def __init__(
        self,
        account: Account,
        player: ShogiPlayer,
        clocks: Clocks,
        folder: Path | None = None,
        *,
        comments: bool = False,
        say: Callable[[str], None] = print,
        keep_alive: float = KEEP_ALIVE,
        pause: float = _FIRST_PAUSE,
        attempts: int | None = None,
    ) -> None:
        """`clocks` is what the player's engine reads its time from; the server's times are written there.

        Games are saved in `folder`. With `comments`, evaluations are sent with the moves, as floodgate recommends.
        After a lost connection the next attempt comes after `pause` seconds, then after twice as many, up to a minute.
        `attempts` failures in a row are an error; None is no limit.
        """
        self._account, self._player, self._clocks = account, player, clocks
        self._folder, self._comments, self._say = folder, comments, say
        self._keep_alive, self._pause, self._attempts = keep_alive, pause, attempts
        self._failed = 0
        self.records: list[GameRecord] = []
        """The records of the games that ended."""

    def play(self, games: int) -> list[GameRecord]:
        """Play this many games; ConnectionLost if the server cannot be reached for too long."""
        while len(self.records) < games:
            try:
                self._session(games)
            except ConnectionLost as error:
                if len(self.records) >= games:
                    break
                self._failed += 1
                if self._attempts is not None and self._failed >= self._attempts:
                    raise
                pause = min(self._pause * 2 ** (self._failed - 1), _LONGEST_PAUSE)
                self._say(f"{error} The next attempt is in {pause:g} s.")
                time.sleep(pause)
        return self.records

    def _session(self, games: int) -> None:
        account = self._account
        with CsaConnection(account.host, account.port, self._keep_alive) as connection:
            self._login(connection)
            self._say(f"Logged in at {account.host}:{account.port} as {account.name}; waiting for a game.")
            while len(self.records) < games:
                self._play_one(connection)
            try:
                connection.send("LOGOUT")
                connection.read(1.0)
            except ConnectionLost:  # some servers close the connection after a game
                return

    def _login(self, connection: CsaConnection) -> None:
        account = self._account
        connection.send(f"LOGIN {account.name} {account.password}")
        deadline = time.monotonic() + _ANSWER
        while time.monotonic() < deadline:
            line = connection.read(_WAIT)
            if line is not None and line.startswith("LOGIN:"):
                if line.split()[-1] == "OK":
                    return
                raise CsaRefused(f"The server refuses the login of {account.name}: {in_one_line(line)}")
        raise ConnectionLost("The server does not answer the login.")

    def _play_one(self, connection: CsaConnection) -> None:
        """Wait for a game, agree to it and play it."""
        found = self._await_game(connection)
        if found is None:
            return
        colour, opponent = ("Black", "White")[found.side], in_one_line(found.names[1 - found.side])
        self._say(f"Game {in_one_line(found.game_id)} as {colour} against {opponent}.")
        game = CsaGame(connection, found, self._player, self._clocks, comments=self._comments, say=self._say)
        self._failed = 0
        try:
            game.play()
        except KeyboardInterrupt:
            game.give_up()
            raise
        finally:
            self._save(game.record(), found)
            if game.over:
                self.records.append(game.record())
                self._say(f"{outcome(game.record().result)}, {len(game.record().moves)} moves.")

    def _await_game(self, connection: CsaConnection) -> GameConditions | None:
        """The conditions of a game that both players agreed to; None if they did not agree."""
        lines: list[str] | None = None
        offered: GameConditions | None = None
        while True:
            line = connection.read(_WAIT)
            if line is None:
                continue
            if line == "BEGIN Game_Summary":
                lines = []
            elif line == "END Game_Summary" and lines is not None:
                offered = self._offer(connection, lines)
                lines = None
            elif lines is not None:
                lines.append(line)
                if len(lines) > _MOST_LINES:
                    raise ConnectionLost("The server sends a game summary without an end.")
            elif line.startswith("START:") and offered is not None:
                return offered
            elif line.startswith("REJECT:"):
                self._say("The game was rejected.")
                return None

    def _offer(self, connection: CsaConnection, lines: list[str]) -> GameConditions | None:
        try:
            offered = conditions(lines)
        except GameError as error:
            self._say(f"Rejected a game whose conditions cannot be read: {error}")
            connection.send("REJECT")
            return None
        connection.send(f"AGREE {offered.game_id}".strip())
        return offered

    def _save(self, record: GameRecord, found: GameConditions) -> None:
        if self._folder is None:
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        name = re.sub(r"[^\w.+-]", "_", found.game_id, flags=re.ASCII)[-100:].strip(".")
        name = name or time.strftime("%Y%m%d_%H%M%S")
        path = self._folder / f"{name}.csa"
        write_record(path, record)
        self._say(f"Saved as {path}.")
