"""Moves in Japanese notation (７六歩, as in KIF), and moves that people type, in this notation or in USI."""

from __future__ import annotations

import re
from collections.abc import Sequence

import cshogi

from understudy.games.shogi.actions import step_of_usi
from understudy.games.shogi.errors import GameError
from understudy.games.shogi.rules import ShogiGame

FILES, RANKS = "１２３４５６７８９", "一二三四五六七八九"
NAMES = {"歩": "P", "香": "L", "桂": "N", "銀": "S", "金": "G", "角": "B", "飛": "R", "玉": "K", "王": "K",
         "と": "+P", "成香": "+L", "杏": "+L", "成桂": "+N", "圭": "+N", "成銀": "+S", "全": "+S",
         "馬": "+B", "龍": "+R", "竜": "+R"}  # fmt: skip
WRITTEN = {letter: name for name, letter in reversed(NAMES.items())}
_MOVE = re.compile(
    r"(?:([１-９1-9])([一二三四五六七八九１-９1-9])|同)"
    r"(成[香桂銀]|[歩香桂銀金角飛玉王と杏圭全馬龍竜])(打|不成|成)?(?:\(([1-9])([1-9])\))?"
)


def japanese(usi: str, game: ShogiGame) -> str:
    """A move as in KIF, with the square that it leaves: 同　銀(77)."""
    step = step_of_usi(usi)
    last = cshogi.move_to_usi(game.moves[-1])[2:4] if game.moves else ""
    target = "同　" if last == usi[2:4] else FILES[int(usi[2]) - 1] + RANKS["abcdefghi".index(usi[3])]
    if step.dropped is not None:
        return f"{target}{WRITTEN[step.dropped]}打"
    file, rank = int(usi[0]), "abcdefghi".index(usi[1]) + 1
    piece = cshogi.PIECE_SYMBOLS[game.board.piece_type(9 * (file - 1) + rank - 1)].upper()
    return f"{target}{WRITTEN[piece]}{'成' * step.promote}({file}{rank})"


def japanese_line(line: Sequence[str], game: ShogiGame) -> list[str]:
    """Moves that follow the position of a game, each with ▲ or △ for its player; the game is not changed."""
    written = []
    for usi in line:
        try:
            move = game.move_of_usi(usi)
        except GameError:
            break
        written.append("▲△"[game.turn] + japanese(usi, game))
        game.push(move)
    for _ in written:
        game.pop()
    return written


def typed_move(text: str, game: ShogiGame) -> int:
    """The legal move for text such as 7g7f, ７六歩, 76歩, 同歩, ５五角打 or ２二角成(88); GameError if there is none.

    The square that a piece leaves is needed only if several pieces could go to the target.
    """
    plain = re.sub(r"[\s　▲△☗☖]", "", text)
    match = _MOVE.fullmatch(plain)
    if match is None:
        return game.move_of_usi(text)
    file, rank, name, how, from_file, from_rank = match.groups()
    if file is not None:
        target = str(int(file)) + "abcdefghi"[RANKS.index(rank) if rank in RANKS else int(rank) - 1]
    elif game.moves:
        target = cshogi.move_to_usi(game.moves[-1])[2:4]
    else:
        raise GameError(f"{text!r} refers to the square of the last move, but is the first move.")
    start = f"{from_file}{'abcdefghi'[int(from_rank) - 1]}" if from_file else ""
    found = {
        cshogi.move_to_usi(move): move for move in game.legal_moves if _fits(move, target, NAMES[name], start, game)
    }
    if how == "打":
        found = {usi: move for usi, move in found.items() if "*" in usi}
    elif any("*" not in usi for usi in found):  # a move on the board takes precedence unless a drop is named
        found = {usi: move for usi, move in found.items() if "*" not in usi and usi.endswith("+") == (how == "成")}
    if len(found) == 1:
        return next(iter(found.values()))
    if not found:
        raise GameError(f"{text} is not legal here.")
    raise GameError(f"{text} may be {' or '.join(japanese(usi, game) for usi in sorted(found))}: write one of them.")


def _fits(move: int, target: str, piece: str, start: str, game: ShogiGame) -> bool:
    usi = cshogi.move_to_usi(move)
    if usi[2:4] != target or (start and not usi.startswith(start)):
        return False
    if "*" in usi:
        return bool(usi[0] == piece)
    return bool(cshogi.PIECE_SYMBOLS[cshogi.move_from_piece_type(move)].upper() == piece)
