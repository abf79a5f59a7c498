"""One game of shogi: cshogi moves the pieces; this file decides when the game is over and who won.

A repetition is the fourth occurrence of a position with the same player to move and the same hands. If all moves of one
player since the first occurrence gave check, that player loses; otherwise it is a draw. A player to move who fulfils
the declaration rule of 27 points wins. A player without a legal move loses. cshogi's own `is_draw` already reports the
second occurrence, which suits a search, not a game.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

import cshogi
import numpy as np

from understudy.games.shogi.actions import BLACK, WHITE, step_of_usi
from understudy.games.shogi.errors import GameError

START: str = cshogi.STARTING_SFEN
MAX_MOVES = 500
_MATE_PLIES = 3
_PIECES = {"P": 18, "L": 4, "N": 4, "S": 4, "G": 4, "B": 2, "R": 2, "K": 2}


class Ending(StrEnum):
    """Why a game is over."""

    MATE = "mate"
    REPETITION = "repetition"
    PERPETUAL_CHECK = "perpetual check"
    DECLARATION = "declaration"
    RESIGNATION = "resignation"
    MAX_MOVES = "max moves"
    IMPASSE = "impasse"
    TIME = "time"
    ILLEGAL_MOVE = "illegal move"


class Result(NamedTuple):
    """The end of a game. No winner: a draw, or a game that was cut off at its maximum number of moves."""

    winner: int | None
    ending: Ending

    def for_player(self, player: int) -> float:
        """1 for a win, 0 for a draw, −1 for a loss."""
        return 0.0 if self.winner is None else 1.0 if self.winner == player else -1.0


class ShogiGame:
    """A game from its first position to its result."""

    def __init__(self, sfen: str = START, max_moves: int = MAX_MOVES) -> None:
        check_sfen(sfen)
        self.start = sfen
        self.board = cshogi.Board(sfen)
        self.max_moves = max_moves
        self.moves: list[int] = []
        self.result: Result | None = None
        key = self.board.zobrist_hash()
        self._keys = [key]
        self._in_check = [bool(self.board.is_check())]
        self._counts = {key: 1}
        self._legal: list[int] | None = None
        self.result = self._judge()

    @property
    def turn(self) -> int:
        """The player to move: 0 for Black, 1 for White."""
        return int(self.board.turn)

    @property
    def legal_moves(self) -> list[int]:
        """The cshogi moves that may be played; do not change the list."""
        if self._legal is None:
            self._legal = list(self.board.legal_moves)
        return self._legal

    @property
    def in_check(self) -> bool:
        """Whether the player to move is in check."""
        return self._in_check[-1]

    @property
    def key(self) -> int:
        """A hash of the position; positions with the same pieces, hands and player to move share it."""
        return int(self._keys[-1])

    @property
    def occurrences(self) -> int:
        """How often the position has occurred, including now."""
        return self._counts[self._keys[-1]]

    def often(self, times: int) -> list[int]:
        """The keys of the positions that have occurred at least this often."""
        return [key for key, count in self._counts.items() if count >= times]

    def push(self, move: int) -> Result | None:
        """Play a legal move (not checked); returns the result if it ends the game."""
        board = self.board
        board.push(move)
        self.moves.append(move)
        key = board.zobrist_hash()
        self._keys.append(key)
        self._in_check.append(bool(board.is_check()))
        self._counts[key] = self._counts.get(key, 0) + 1
        self._legal = None
        self.result = self._judge()
        return self.result

    def follow(self, move: int, key: int, in_check: bool) -> None:
        """Play a move to a known position: its key, whether it is check, and that it does not end the game."""
        self.board.push(move)
        self.moves.append(move)
        self._keys.append(key)
        self._in_check.append(in_check)
        self._counts[key] = self._counts.get(key, 0) + 1
        self._legal = None

    def push_usi(self, usi: str) -> Result | None:
        """Play a move given as text; GameError if it is not legal or the game is over."""
        if self.result is not None:
            raise GameError(f"{usi} comes after the end of the game ({self.result.ending}).")
        return self.push(self.move_of_usi(usi))

    def move_of_usi(self, usi: str) -> int:
        """The legal move with this USI text; GameError if there is none."""
        step_of_usi(usi)
        for move in self.legal_moves:
            if cshogi.move_to_usi(move) == usi:
                return move
        raise GameError(f"{usi} is not legal in {self.board.sfen()}.")

    def pop(self) -> int:
        """Take the last move back and return it."""
        key = self._keys.pop()
        if self._counts[key] == 1:
            del self._counts[key]
        else:
            self._counts[key] -= 1
        self._in_check.pop()
        self._legal = None
        self.result = None
        self.board.pop()
        return self.moves.pop()

    def resign(self) -> Result:
        """End the game as lost for the player to move."""
        return self.lose(Ending.RESIGNATION)

    def lose(self, ending: Ending) -> Result:
        """End the game as lost for the player to move, for a reason from outside the rules."""
        self.result = Result(1 - self.turn, ending)
        return self.result

    def usi_moves(self) -> list[str]:
        """The moves so far as USI text."""
        return [cshogi.move_to_usi(move) for move in self.moves]

    def _judge(self) -> Result | None:
        if not self.legal_moves:
            return Result(1 - self.turn, Ending.MATE)
        if self._counts[self._keys[-1]] >= 4:
            return self._repetition(self._keys.index(self._keys[-1]))
        if self.board.is_nyugyoku():
            return Result(self.turn, Ending.DECLARATION)
        if len(self.moves) >= self.max_moves:
            return Result(None, Ending.MAX_MOVES)
        return None

    def cycle(self, since: int) -> tuple[int, Result] | None:
        """If the position occurred before, after at least `since` moves: the number of moves at its last occurrence,
        and how a game ends that repeats this cycle. Otherwise −1 and None."""
        if self.occurrences == 1:
            return None
        last = len(self._keys) - 2 - self._keys[-2::-1].index(self._keys[-1])
        return (last, self._repetition(last)) if last >= since else None

    def _repetition(self, first: int) -> Result:
        mine, theirs = self._in_check[first + 2 :: 2], self._in_check[first + 1 :: 2]
        # Entry i says whether the player to move after i moves is in check, so one's own entries are checks by the
        # opponent.
        if all(mine) != all(theirs):
            return Result(self.turn if all(mine) else 1 - self.turn, Ending.PERPETUAL_CHECK)
        return Result(None, Ending.REPETITION)


def game_of_position(text: str, max_moves: int = MAX_MOVES) -> ShogiGame:
    """The game of a USI position command: `startpos` or `sfen …`, then `moves …`; GameError if illegal.

    The sender decides when a game is over: moves may follow a repetition, or a declaration that was not made.
    """
    words = text.split()
    if words[:1] == ["position"]:
        del words[0]
    moves: Sequence[str] = ()
    if "moves" in words:
        place = words.index("moves")
        words, moves = words[:place], words[place + 1 :]
    if words == ["startpos"]:
        game = ShogiGame(max_moves=max_moves)
    elif words[:1] == ["sfen"] and len(words) in (4, 5):
        game = ShogiGame(" ".join([*words[1:], "1"][:4]), max_moves)
    else:
        raise GameError(
            f"{text!r} is not a position, which is `startpos` or `sfen BOARD TURN HANDS NUMBER`, then `moves …`."
        )
    for usi in moves:
        game.push(game.move_of_usi(usi))
    return game


def played(sfen: str, moves: Sequence[int], max_moves: int) -> ShogiGame:
    """A game in which these cshogi moves were played; GameError if one is not legal."""
    game = ShogiGame(sfen, max_moves)
    for move in moves:
        if game.result is not None or move not in game.legal_moves:
            raise GameError(f"{move} is not a legal move in {game.board.sfen()}")
        game.push(move)
    return game


def short_mate(game: ShogiGame) -> int:
    """A move that mates in three plies at most, or 0; cshogi looks for it faster than the network is asked."""
    if mate := mating_move(game):
        return mate
    if len(game.moves) + _MATE_PLIES > game.max_moves:
        return 0
    return int(game.board.mate_move(_MATE_PLIES))


def mating_move(game: ShogiGame) -> int:
    """A move that mates at once, or 0."""
    return 0 if game.in_check else int(game.board.mate_move_in_1ply())


def opened(rng: np.random.Generator, moves: int, max_moves: int = MAX_MOVES) -> ShogiGame:
    """A game after this many random moves, which did not end it."""
    while True:
        game = ShogiGame(max_moves=max_moves)
        for _ in range(moves):
            if game.push(game.legal_moves[rng.integers(len(game.legal_moves))]) is not None:
                break
        else:
            return game


def check_sfen(sfen: str) -> None:
    """Raise GameError unless this is a complete, possible position; on some others, cshogi crashes or misbehaves."""
    match = re.fullmatch(r"([1-9PLNSGBRKplnsgbrk+/]+) ([bw]) (-|(?:[0-9]*[PLNSGBRplnsgbr])+) ([0-9]{1,5})", sfen)
    if not match:
        raise GameError(f"{sfen!r} is not a position in SFEN: board, b or w, hands, number of the move.")
    counts: dict[str, int] = dict.fromkeys(_PIECES, 0)
    rows = match[1].split("/")
    for row in rows:
        parts = re.findall(r"\+?[PLNSBRplnsbr]|[GKgk]|[1-9]", row)
        if "".join(parts) != row or sum(int(part) if part.isdigit() else 1 for part in parts) != 9:
            raise GameError(f"The row {row!r} of {sfen!r} does not have nine squares.")
        for part in parts:
            if not part.isdigit():
                counts[part[-1].upper()] += 1
    if len(rows) != 9 or match[1].count("K") != 1 or match[1].count("k") != 1:
        raise GameError(f"{sfen!r} must have nine rows and one king of each colour.")
    for number, piece in re.findall(r"([0-9]*)([A-Za-z])", match[3].replace("-", "")):
        counts[piece.upper()] += int(number or 1)
    for piece, count in counts.items():
        if count > _PIECES[piece]:
            raise GameError(f"{sfen!r} has {count} pieces {piece}; there are {_PIECES[piece]}.")
    _check_kings(sfen, BLACK if match[2] == "b" else WHITE)


def _check_kings(sfen: str, turn: int) -> None:
    """Refuse a position in which the player who is not to move is in check."""
    board = cshogi.Board(sfen)
    board.turn = 1 - turn
    if board.is_check():
        raise GameError(f"In {sfen!r} the player to move could take the king.")
