"""GNU Shogi as a USI engine: `python -m understudy.games.shogi.gnushogi_bridge PATH_OF_GNUSHOGI`.

It translates USI into the protocol of XShogi, the only one that GNU Shogi 1.4 speaks. GNU Shogi thinks for whole
seconds or to a depth, and stops answering when a game repeats itself; in that case it gets the position instead of the
moves.
"""

from __future__ import annotations

import itertools
import queue
import re
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from typing import TextIO

import cshogi

from understudy.games.shogi.errors import EngineError, GameError
from understudy.games.shogi.rules import START, ShogiGame, game_of_position
from understudy.games.shogi.usi_options import UsiOption

OPTIONS = {
    option.name: option
    for option in (
        UsiOption("Seconds", "spin", "1", 1, 3600),
        UsiOption("Depth", "spin", "0", 0, 29),
    )
}
"""Seconds: per move, if `go` gives no time. Depth: if `go` gives none; 0 is no limit."""
_MOVE = re.compile(r"\d+\. \.\.\. (\S+)")
_LOST = re.compile(r"resign|wins|mate", re.IGNORECASE)
_DEEPEST = 29
_WITH_DEPTH = 3600  # seconds; a search to a depth is not stopped earlier
_MOVES_LEFT = 40  # number of moves over which the remaining time is divided
_LATE = 10.0  # seconds beyond its time after which GNU Shogi counts as silent


class GnuShogi:
    """The program. It gets each position from the beginning, so it keeps no game of ours."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._start()

    def _start(self) -> None:
        self._process = subprocess.Popen(
            [self._path, "-X"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
            errors="replace",
            bufsize=1,
        )
        self._lines: queue.Queue[str | None] = queue.Queue()
        threading.Thread(target=self._listen, args=(self._process, self._lines), daemon=True).start()

    def answer(self, game: ShogiGame, seconds: int, depth: int) -> str:
        """Its move in USI, or "resign" if it finds none. It thinks this long, or to a depth if that is above 0."""
        if _knows(game):
            try:
                return self._ask(game.usi_moves(), seconds, depth)
            except EngineError:  # it is silent when it considers a game decided
                self.close()
                self._start()
        return self._ask(_as_position(game), seconds, depth)

    def _ask(self, told: Iterable[str], seconds: int, depth: int) -> str:
        limit = _WITH_DEPTH if depth else seconds
        self._tell(f"level 0 {limit // 60}:{limit % 60:02}", "depth", str(depth or _DEEPEST), "new", "force")
        self._tell(*told, "go")
        while not self._line(_LATE).startswith("Clocks:"):  # the answer to `level`; earlier lines are about
            continue  # an earlier game
        while True:
            line = self._line(limit + _LATE)
            if found := _MOVE.search(line):  # the prompt of `depth` may come before it
                return found[1]
            if line.startswith("Illegal"):
                raise EngineError(f"GNU Shogi does not take a move: {line.strip()}")
            if _LOST.search(line):
                return "resign"

    def _line(self, patience: float) -> str:
        try:
            line = self._lines.get(timeout=patience)
        except queue.Empty:
            raise EngineError("GNU Shogi does not answer.") from None
        if line is None:
            raise EngineError("GNU Shogi ended.")
        return line

    def close(self) -> None:
        """End it."""
        try:
            self._tell("quit")
            self._process.wait(2)
        except (OSError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()

    @staticmethod
    def _listen(process: subprocess.Popen[str], lines: queue.Queue[str | None]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            lines.put(line)
        lines.put(None)

    def _tell(self, *lines: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write("".join(f"{line}\n" for line in lines))
        self._process.stdin.flush()


def _knows(game: ShogiGame) -> bool:
    """Whether GNU Shogi can follow the moves: it needs the usual start position and a game without repetition."""
    board = cshogi.Board(game.start)
    seen = {board.zobrist_hash()}
    for move in game.moves:
        board.push(move)
        seen.add(board.zobrist_hash())
    return game.start == START and len(seen) == len(game.moves) + 1


def _as_position(game: ShogiGame) -> Iterator[str]:
    """The position for its command `edit`: Black's pieces, `c`, White's, then the player to move."""
    rows, turn, hands, *_ = game.board.sfen().split()
    pieces: dict[bool, list[str]] = {False: [], True: []}
    for rank, row in zip("abcdefghi", rows.split("/"), strict=True):
        file = 9
        for empty, promoted, letter in re.findall(r"(\d)|(\+?)([A-Za-z])", row):
            if empty:
                file -= int(empty)
                continue
            pieces[letter.islower()].append(f"{letter.lower()}{file}{rank}{promoted}")
            file -= 1
    for count, letter in re.findall(r"(\d*)([A-Za-z])", hands):
        pieces[letter.islower()] += [f"{letter.lower()}*"] * int(count or 1)
    yield from ("edit", "#", *pieces[False], "c", *pieces[True], ".", "force", "black" if turn == "b" else "white")


def allowed(words: Sequence[str], turn: int, options: dict[str, int]) -> tuple[int, int]:
    """Whole seconds and depth for the words after `go`; depth 0 is no limit. Time takes precedence over depth."""
    given = {name: int(value) for name, value in itertools.pairwise(words) if value.isdecimal()}
    side = "bw"[turn]
    if not given.keys() & {"byoyomi", "movetime", f"{side}time", f"{side}inc"}:
        return options["Seconds"], min(given.get("depth", options["Depth"]), _DEEPEST)
    each = given.get("movetime", 0) + given.get("byoyomi", 0) + given.get(f"{side}inc", 0)
    milliseconds = each + given.get(f"{side}time", 0) // _MOVES_LEFT
    return max(milliseconds // 1000, 1), options["Depth"]


def serve(engine: GnuShogi, lines: TextIO) -> None:
    """Answer USI commands until `quit` or the end of the input."""
    game = ShogiGame()
    options = {name: int(option.default) for name, option in OPTIONS.items()}
    for line in lines:
        words = line.split()
        match words:
            case ["usi"]:
                print("id name GNU Shogi\nid author the GNU Shogi team")
                for option in OPTIONS.values():
                    print(option.line())
                print("usiok", flush=True)
            case ["isready"]:
                print("readyok", flush=True)
            case ["setoption", "name", name, "value", value] if name in OPTIONS:
                options[name] = int(OPTIONS[name].check(value))
            case ["position", *_]:
                game = game_of_position(line, 1 << 20)
            case ["go", *rest]:
                print(f"bestmove {engine.answer(game, *allowed(rest, game.turn, options))}", flush=True)
            case ["quit"]:
                break


def main(path: str) -> int:
    """Serve until `quit` or the end of the input; returns 1 if GNU Shogi fails."""
    engine = GnuShogi(path)
    try:
        serve(engine, sys.stdin)
    except (EngineError, GameError) as error:
        print(f"info string {error}", flush=True)
        return 1
    finally:
        engine.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
