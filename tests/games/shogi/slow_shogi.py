"""Shogi a second time, slowly, from SFEN text alone: to hold the fast code against. Without cshogi and our tables."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Square = tuple[int, int]  # file 1-9, rank 1-9
Board = dict[Square, str]  # letters as in SFEN, capitals for Black

_GOLD = [(0, -1), (1, -1), (-1, -1), (1, 0), (-1, 0), (0, 1)]
_STEPS = {
    "P": [(0, -1)],
    "N": [(1, -2), (-1, -2)],
    "S": [(0, -1), (1, -1), (-1, -1), (1, 1), (-1, 1)],
    "G": _GOLD,
    "K": [*_GOLD, (1, 1), (-1, 1)],
    "+B": [(0, -1), (0, 1), (1, 0), (-1, 0)],
    "+R": [(1, 1), (1, -1), (-1, 1), (-1, -1)],
    **dict.fromkeys(("+P", "+L", "+N", "+S"), _GOLD),
}
_DIAGONALS, _STRAIGHTS = [(1, 1), (1, -1), (-1, 1), (-1, -1)], [(0, 1), (0, -1), (1, 0), (-1, 0)]
_SLIDES = {"L": [(0, -1)], "B": _DIAGONALS, "+B": _DIAGONALS, "R": _STRAIGHTS, "+R": _STRAIGHTS}


def read_sfen(sfen: str) -> tuple[Board, str, dict[str, int]]:
    rows, turn, hands, _ = sfen.split()
    board: Board = {}
    for rank, row in enumerate(rows.split("/"), start=1):
        file, plus = 9, ""
        for letter in row:
            if letter.isdigit():
                file -= int(letter)
            elif letter == "+":
                plus = "+"
            else:
                board[file, rank] = plus + letter
                file, plus = file - 1, ""
    held: dict[str, int] = {}
    number = ""
    for letter in hands.replace("-", ""):
        if letter.isdigit():
            number += letter
        else:
            held[letter] = int(number or 1)
            number = ""
    return board, turn, held


def name(square: Square) -> str:
    return f"{square[0]}{'abcdefghi'[square[1] - 1]}"


def legal_moves(sfen: str) -> set[str]:
    """The USI texts of all legal moves."""
    board, turn, hands = read_sfen(sfen)
    return {
        usi
        for usi, after in _moves(board, turn, hands)
        if not _in_check(after, turn) and _allowed(usi, after, turn, hands)
    }


def _allowed(usi: str, after: Board, turn: str, hands: dict[str, int]) -> bool:
    """A pawn must not be dropped for mate."""
    if not usi.startswith("P*"):
        return True
    other = "w" if turn == "b" else "b"
    if not _in_check(after, other):
        return True
    return any(not _in_check(reply, other) for _, reply in _moves(after, other, hands))


def _mine(piece: str, turn: str) -> bool:
    return piece[-1].isupper() == (turn == "b")


def _targets(board: Board, square: Square, turn: str) -> Iterator[Square]:
    piece = board[square].upper()
    forward = 1 if turn == "b" else -1
    for dx, dy in _STEPS.get(piece, []):
        yield square[0] + dx * forward, square[1] + dy * forward
    for dx, dy in _SLIDES.get(piece, []):
        x, y = square
        while True:
            x, y = x + dx * forward, y + dy * forward
            yield x, y
            if (x, y) in board or not (1 <= x <= 9 and 1 <= y <= 9):
                break


def _moves(board: Board, turn: str, hands: dict[str, int]) -> Iterator[tuple[str, Board]]:
    def far(y: int) -> int:  # 1 is the last rank for the player
        return y if turn == "b" else 10 - y

    for origin, piece in board.items():
        if not _mine(piece, turn):
            continue
        for target in _targets(board, origin, turn):
            if not (1 <= target[0] <= 9 and 1 <= target[1] <= 9) or (target in board and _mine(board[target], turn)):
                continue
            rest = {square: other for square, other in board.items() if square != origin}
            if far(target[1]) > {"P": 1, "L": 1, "N": 2}.get(piece.upper(), 0):
                yield name(origin) + name(target), {**rest, target: piece}
            if piece.upper() in "PLNSBR" and min(far(origin[1]), far(target[1])) <= 3:
                yield name(origin) + name(target) + "+", {**rest, target: "+" + piece}
    for piece in hands:
        if not _mine(piece, turn):
            continue
        for target in ((x, y) for x in range(1, 10) for y in range(1, 10)):
            if target in board or far(target[1]) <= {"P": 1, "L": 1, "N": 2}.get(piece.upper(), 0):
                continue
            if piece in "Pp" and any(board.get((target[0], y)) == piece for y in range(1, 10)):
                continue
            yield f"{piece.upper()}*{name(target)}", {**board, target: piece}


def _in_check(board: Board, turn: str) -> bool:
    king = "K" if turn == "b" else "k"
    other = "w" if turn == "b" else "b"
    return any(
        board.get(target) == king
        for square, piece in board.items()
        if not _mine(piece, turn)
        for target in _targets(board, square, other)
    )


def action(usi: str, turn: str) -> int:
    """The number of a move by the layout's definition, written once more."""

    def square(text: str) -> int:
        file, rank = int(text[0]), "abcdefghi".index(text[1])
        row, column = rank, 9 - file
        if turn == "w":
            row, column = 8 - row, 8 - column
        return row * 9 + column

    to = square(usi[2:4])
    if usi[1] == "*":
        return 81 * 80 * 2 + to * 7 + "PLNSGBR".index(usi[0])
    origin = square(usi[:2])
    others = [s for s in range(81) if s != origin]
    return (origin * 80 + others.index(to)) * 2 + usi.endswith("+")


def planes(sfen: str, ply: float, repetition: float) -> NDArray[np.float32]:
    """The observation, number by number."""
    board, turn, hands = read_sfen(sfen)
    order = ["P", "L", "N", "S", "G", "B", "R", "K", "+P", "+L", "+N", "+S", "+B", "+R"]
    out = np.zeros((46, 9, 9), np.float32)
    for (file, rank), piece in board.items():
        row, column = rank - 1, 9 - file
        if turn == "w":
            row, column = 8 - row, 8 - column
        out[order.index(piece.upper()) + (0 if _mine(piece, turn) else 14), row, column] = 1
    for piece, count in hands.items():
        out[28 + "PLNSGBR".index(piece.upper()) + (0 if _mine(piece, turn) else 7)] = count / 18
    out[42] = turn == "b"
    out[43] = ply
    out[44] = repetition
    out[45] = _in_check(board, turn)
    return out
