"""The messages of the CSA server protocol 1.2.1, which floodgate and the servers of tournaments speak."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from understudy.games.shogi import csa
from understudy.games.shogi.actions import BLACK, WHITE
from understudy.games.shogi.errors import GameError
from understudy.games.shogi.rules import START, Ending, Result

PORT = 4081
_SIDES = "+-"
_UNITS = {"sec": 1.0, "min": 60.0, "msec": 0.001}
_MOVE = re.compile(r"([+-]\d{4}[A-Z]{2})(?:,T(\d{1,9}))?\b")
REASONS = {
    "#RESIGN": Ending.RESIGNATION,
    "#TIME_UP": Ending.TIME,
    "#ILLEGAL_MOVE": Ending.ILLEGAL_MOVE,
    "#ILLEGAL_ACTION": Ending.ILLEGAL_MOVE,
    "#SENNICHITE": Ending.REPETITION,
    "#OUTE_SENNICHITE": Ending.PERPETUAL_CHECK,
    "#JISHOGI": Ending.DECLARATION,
    "#MAX_MOVES": Ending.MAX_MOVES,
    "#TSUMI": Ending.MATE,
}
"""Why a game ended; the server says it before the result."""
RESULTS = ("#WIN", "#LOSE", "#DRAW", "#CHUDAN", "#CENSORED")
"""The last message of a game. #CHUDAN: interrupted; #CENSORED: nobody wins, after the maximum number of moves."""


@dataclass(frozen=True, slots=True)
class TimeRules:
    """A player's time, in seconds."""

    total: float = 0.0
    byoyomi: float = 0.0
    increment: float = 0.0
    unit: float = 1.0
    """The server's unit of time, in seconds."""


@dataclass(frozen=True, slots=True)
class GameConditions:
    """The server's description of a game before it begins."""

    game_id: str
    names: tuple[str, str]
    side: int
    """Our side: 0 for Black, 1 for White."""
    start: str = START
    moves: tuple[tuple[str, int | None], ...] = ()
    """Moves that were already played, in CSA, and the time of each in the server's units."""
    times: tuple[TimeRules, TimeRules] = field(default=(TimeRules(), TimeRules()))
    max_moves: int | None = None


def conditions(lines: Sequence[str]) -> GameConditions:
    """Parse the lines between BEGIN Game_Summary and END Game_Summary; GameError if they are not valid."""
    told: dict[str, str] = {}
    clock: dict[str, dict[str, str]] = {"": {}, "+": {}, "-": {}}
    position: list[str] = []
    section = ""
    for line in lines:
        if match := re.fullmatch(r"(BEGIN|END) (.+)", line):
            section = match[2] if match[1] == "BEGIN" else ""
        elif section == "Position":
            position.append(line)
        elif match := re.fullmatch(r"([\w+-]+):(.*)", line):
            side = section.removeprefix("Time") if section.startswith("Time") else None
            (told if side not in clock else clock[side or ""])[match[1]] = match[2].strip()
    if told.get("Your_Turn") not in ("+", "-"):
        raise GameError("The server's game summary does not say which side is ours (Your_Turn).")
    start, moves = _position(position, told.get("To_Move", "+"))
    most = told.get("Max_Moves", "")
    return GameConditions(
        told.get("Game_ID", ""),
        (told.get("Name+", "Black"), told.get("Name-", "White")),
        _SIDES.index(told["Your_Turn"]),
        start,
        moves,
        (_time(clock[""] | clock["+"]), _time(clock[""] | clock["-"])),
        int(most) if most.isdecimal() and len(most) < 6 and int(most) else None,
    )


def _position(lines: Sequence[str], turn: str) -> tuple[str, tuple[tuple[str, int | None], ...]]:
    board = [line for line in lines if line.startswith("P")]
    moves = [match for line in lines if (match := _MOVE.match(line))]
    first = next((line for line in lines if line in _SIDES and line), turn)
    start = csa.position_of(board, first) if board else START
    return start, tuple((match[1], int(match[2]) if match[2] else None) for match in moves)


def _time(told: dict[str, str]) -> TimeRules:
    unit = 1.0
    if match := re.fullmatch(r"(\d*)(msec|sec|min)", told.get("Time_Unit", "1sec")):
        unit = int(match[1] or 1) * _UNITS[match[2]]
    total, byoyomi, increment = (_number(told.get(key, "0")) * unit for key in ("Total_Time", "Byoyomi", "Increment"))
    return TimeRules(total, byoyomi, increment, unit)


def _number(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) < 10 else 0


def move_in(line: str) -> tuple[str, int | None] | None:
    """The move and its time in a server's line such as +7776FU,T12; None if the line is not a move."""
    match = _MOVE.match(line)
    return (match[1], int(match[2]) if match[2] else None) if match else None


def comment(value: int | None, line: Sequence[str]) -> str:
    """A comment after a move in floodgate's format: the evaluation in centipawns for Black and the expected moves."""
    return "" if value is None else ",'* " + " ".join([str(value), *line])


def result_of(reasons: Sequence[str], last: str, side: int) -> Result | None:
    """The result of a game after these messages, for a player of this side; None if it was interrupted."""
    ending = next((REASONS[reason] for reason in reversed(reasons) if reason in REASONS), None)
    if last == "#DRAW":
        return Result(None, Ending.IMPASSE if ending is Ending.DECLARATION else ending or Ending.IMPASSE)
    if last == "#CENSORED":
        return Result(None, Ending.MAX_MOVES)
    if last in ("#WIN", "#LOSE"):
        return Result(side if last == "#WIN" else (WHITE if side == BLACK else BLACK), ending or Ending.RESIGNATION)
    return None
