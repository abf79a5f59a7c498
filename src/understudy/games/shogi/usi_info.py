"""How a USI engine reports a search: its `info` lines and its answers."""

from __future__ import annotations

import cshogi

from understudy.games.shogi.mate import MateAnswer
from understudy.games.shogi.rules import ShogiGame
from understudy.games.shogi.search import SearchLine, SearchResult, centipawns


def info_lines(thought: SearchResult, game: ShogiGame, seconds: float, full: float) -> list[str]:
    """One line for each move that the search reports; `full` is the used share of the evaluation cache, 0 to 1."""
    lines = thought.lines or (SearchLine(thought.line, thought.value, 1, thought.mate),)
    seconds = max(seconds, 1e-3)
    told = []
    for number, line in enumerate(lines, start=1):
        multi = f"multipv {number} " if len(lines) > 1 else ""
        told.append(
            f"info depth {len(line.moves)} time {int(1000 * seconds)} nodes {thought.nodes} "
            f"nps {int(thought.nodes / seconds)} hashfull {int(1000 * full)} {multi}score {score(line, game)} "
            f"pv {as_usi(line.moves)}"
        )
    return told


def score(line: SearchLine, game: ShogiGame) -> str:
    """The value of a line for the player to move: in centipawns, or in plies to a mate."""
    if not line.mate:
        return f"cp {centipawns(line.value)}"
    sign = "-" if line.value < 0 else ""
    return f"mate {sign}{len(line.moves)}" if _ends_in_mate(line, game) else f"mate {sign or '+'}"


def checkmate(answer: MateAnswer) -> str:
    """The answer to `go mate`."""
    return f"checkmate {as_usi(answer.line) or ('nomate' if answer.none else 'timeout')}"


def as_usi(moves: tuple[int, ...]) -> str:
    """Moves as USI text."""
    return " ".join(cshogi.move_to_usi(move) for move in moves)


def _ends_in_mate(line: SearchLine, game: ShogiGame) -> bool:
    board = game.board.copy()
    for move in line.moves:
        board.push(move)
    return not list(board.legal_moves)
