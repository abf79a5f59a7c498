"""A CSA server for tests, on loopback: it plays the other side, judges by our rules, and can misbehave on purpose."""

from __future__ import annotations

import random
import socket
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import cshogi

from understudy.games.shogi import csa
from understudy.games.shogi.errors import GameError
from understudy.games.shogi.rules import Ending, ShogiGame

TIME = "BEGIN Time\nTime_Unit:1sec\nTotal_Time:10\nByoyomi:2\nLeast_Time_Per_Move:0\nEND Time"


@dataclass
class Plan:
    """What one game shall be like."""

    side: str = "+"
    """The client's."""
    moves: int = 12
    """The server ends the game after this many moves, with `ending`."""
    ending: tuple[str, ...] = ("#MAX_MOVES", "#CENSORED")
    cut_after: int | None = None
    """Moves after which the connection is cut, once; the game continues when the client reconnects."""
    garbage: Iterable[bytes] = ()
    """Sent before every move of the server."""
    delay: float = 0.0
    time: str = TIME
    start: str = "PI\n+"
    illegal: bool = False
    """The server repeats a move that cannot be played, then says that its player loses."""
    replies: Callable[[ShogiGame], int] | None = None
    """The server's move; at random without it."""


@dataclass
class CsaServer:
    """Serves one client at a time; every game has a plan."""

    plans: list[Plan]
    password: str = "secret"
    refused: int = 0
    """Connections that are closed at once before one is served."""
    heard: list[str] = field(default_factory=list)
    empty_lines: int = 0
    errors: list[Exception] = field(default_factory=list)

    def __enter__(self) -> CsaServer:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.join(30)
        self._listener.close()
        assert not self.errors, self.errors
        assert not self._thread.is_alive()

    def _run(self) -> None:
        self._games = {number: ShogiGame(max_moves=1 << 20) for number in range(len(self.plans))}
        number = 0
        try:
            self._listener.settimeout(20)
            while number < len(self.plans):
                connection, _ = self._listener.accept()
                with connection:
                    if self.refused:
                        self.refused -= 1
                        continue
                    number = _Session(self, connection).serve(number)
        except Exception as error:  # noqa: BLE001 - the test sees it at the end
            self.errors.append(error)

    def game(self, number: int) -> ShogiGame:
        """A game as the server knows it."""
        return self._games[number]


class _Session:
    def __init__(self, server: CsaServer, connection: socket.socket) -> None:
        self._server = server
        self._connection = connection
        connection.settimeout(20)
        self._file = connection.makefile("rb")
        self._dice = random.Random(5)

    def serve(self, number: int) -> int:
        word, name, password = self._read().split()
        assert word == "LOGIN"
        if password != self._server.password:
            self._send("LOGIN:incorrect")
            return len(self._server.plans)
        self._send(f"LOGIN:{name} OK")
        while number < len(self._server.plans):
            if not self._play(number, self._server.plans[number]):
                return number
            number += 1
        assert self._read_after_moves() in ("LOGOUT", "")
        self._send("LOGOUT:completed")
        return number

    def _play(self, number: int, plan: Plan) -> bool:
        game = self._server.game(number)
        if not game.moves and plan.start != "PI\n+":
            lines = plan.start.splitlines()
            game = self._server._games[number] = ShogiGame(csa.position_of(lines[:-1], lines[-1]), 1 << 20)
        self._offer(number, plan, game)
        while not game.result and len(game.moves) < plan.moves:
            if plan.cut_after is not None and len(game.moves) >= plan.cut_after:
                plan.cut_after = None
                return False
            if "+-"[game.turn] == plan.side:
                if self._hear(game) is False:
                    return True
            elif self._move(plan, game):
                return True
        if game.result is None:
            self._send(*plan.ending)
        else:
            won = game.result.winner is not None and "+-"[game.result.winner] == plan.side
            reason = {Ending.MATE: "#TSUMI", Ending.REPETITION: "#SENNICHITE"}.get(game.result.ending, "#JISHOGI")
            self._send(reason, "#DRAW" if game.result.winner is None else "#WIN" if won else "#LOSE")
        return True

    def _offer(self, number: int, plan: Plan, game: ShogiGame) -> None:
        played = "".join(f"\n{text},T1" for text in self._as_csa(game))
        self._send(
            f"BEGIN Game_Summary\nProtocol_Version:1.2\nProtocol_Mode:Server\nFormat:Shogi 1.0\nGame_ID:test-{number}\n"
            f"Name+:ann\nName-:bob\nYour_Turn:{plan.side}\nRematch_On_Draw:NO\nTo_Move:+\nMax_Moves:256\n{plan.time}\n"
            f"BEGIN Position\n{plan.start}{played}\nEND Position\nEND Game_Summary"
        )
        assert self._read_after_moves() == f"AGREE test-{number}"
        self._send(f"START:test-{number}")

    @staticmethod
    def _as_csa(game: ShogiGame) -> list[str]:
        again = ShogiGame(game.start, 1 << 20)
        texts = []
        for move in game.moves:
            texts.append(csa.written(move, again.turn))
            again.push(move)
        return texts

    def _hear(self, game: ShogiGame) -> bool:
        """A move of the client; False if the game ends with it."""
        text = self._read().partition(",")[0]
        if text == "%TORYO":
            self._send("%TORYO,T1", "#RESIGN", "#LOSE")
            return False
        if text == "%KACHI":
            self._send("%KACHI,T1", "#JISHOGI", "#WIN")
            return False
        try:
            move = csa.move_of(text, game)
        except GameError:
            self._send("#ILLEGAL_MOVE", "#LOSE")
            return False
        game.push(move)
        self._send(f"{text},T1")
        return True

    def _move(self, plan: Plan, game: ShogiGame) -> bool:
        """The server's move; True if the game ends with it."""
        for data in plan.garbage:
            self._connection.sendall(data)
        time.sleep(plan.delay)
        if plan.illegal:
            self._send("-5551FU,T1" if plan.side == "+" else "+5551FU,T1", "#ILLEGAL_MOVE", "#WIN")
            return True
        move = plan.replies(game) if plan.replies else self._dice.choice(game.legal_moves)
        text = csa.written(move, game.turn)
        game.push(move)
        self._send(f"{text},T2")
        return False

    def _read(self) -> str:
        while True:
            line = self._file.readline().decode().rstrip("\n")
            if line or not self._file.peek(1):
                self._server.heard.append(line)
                return line
            self._server.empty_lines += 1

    def _read_after_moves(self) -> str:
        """The next line that is not a move; one may still arrive when the server ends a game."""
        while (line := self._read())[:1] in ("+", "-", "%"):
            continue
        return line

    def _send(self, *lines: str) -> None:
        self._connection.sendall("".join(f"{line}\n" for line in lines).encode())


def first_legal(game: ShogiGame) -> int:
    """The first legal move by its text, so that tests know it."""
    return min(game.legal_moves, key=cshogi.move_to_usi)
