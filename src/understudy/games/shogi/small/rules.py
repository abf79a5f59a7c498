"""The rules of small shogi games as pure functions of a position, and a game with repetitions.

A position is seen by the player to move (see `variant`); after a move, the board is turned for the other player.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from understudy.games.shogi.errors import GameError
from understudy.games.shogi.small.variant import Action, Variant

MAX_MOVES = 200
"""A longer game is cut off: its value is unknown."""
BLACK, WHITE = 0, 1


class SmallPosition(NamedTuple):
    """The board, and both hands: first that of the player to move, then the other one, a number for each kind."""

    board: tuple[int, ...]
    hands: tuple[int, ...]


def start(variant: Variant) -> SmallPosition:
    """The first position."""
    return parse(variant, variant.start)


def parse(variant: Variant, board: str, hands: str = "-") -> SmallPosition:
    """A position in SFEN, for Black to move."""
    kinds = {kind.letter: number for number, kind in enumerate(variant.kinds, 1)}
    squares: list[int] = []
    for row in board.split("/"):
        plus = ""
        for letter in row:
            if letter.isdecimal():
                squares += [0] * int(letter)
            elif letter == "+":
                plus = "+"
            else:
                kind = kinds[plus + letter.upper()]
                squares.append(kind if letter.isupper() else -kind)
                plus = ""
    held, count = [0] * (2 * variant.hand), ""
    for letter in hands.strip("-"):
        if letter.isdecimal():
            count += letter
            continue
        held[kinds[letter.upper()] - 1 + variant.hand * letter.islower()] = int(count or 1)
        count = ""
    return SmallPosition(tuple(squares), tuple(held))


def decided(variant: Variant, position: SmallPosition) -> int:
    """1 or −1 if the player to move has already won or lost by animal shogi's rules, else 0.

    The game is decided when a lion was captured, or stands on its last rank and was not, or cannot be, captured at
    once. A player without a legal move loses too, which the caller must check.
    """
    if not variant.lion:
        return 0
    board, king = position.board, variant.king
    if king not in board:
        return -1
    if king in board[: variant.files]:
        return 1
    last = position.board[-variant.files :]
    if -king not in last:
        return 0
    square = variant.squares - variant.files + last.index(-king)
    return 0 if _attacked(variant, turned(position).board, variant.squares - 1 - square) else -1


def legal_actions(variant: Variant, position: SmallPosition) -> list[int]:
    """The numbers of the legal actions, ascending; in a decided position, those that the pieces could make."""
    numbers = variant.numbers
    moves = _candidates(variant, position)
    if not variant.lion:
        moves = _safe(variant, position, moves)
    return sorted(numbers[action] for action in moves)


def play(variant: Variant, position: SmallPosition, number: int) -> SmallPosition:
    """The position after a legal action, seen by the next player."""
    return turned(_moved(variant, position, variant.actions[number]))


def in_check(variant: Variant, position: SmallPosition) -> bool:
    """Whether the king of the player to move is attacked."""
    king = variant.king
    return king in position.board and _attacked(variant, position.board, position.board.index(king))


def turned(position: SmallPosition) -> SmallPosition:
    """The same position, seen by the other player."""
    half = len(position.hands) // 2
    return SmallPosition(
        tuple([-piece for piece in reversed(position.board)]), position.hands[half:] + position.hands[:half]
    )


def mirrored(variant: Variant, position: SmallPosition) -> SmallPosition:
    """The position with left and right exchanged."""
    files = variant.files
    rows = [position.board[at : at + files][::-1] for at in range(0, variant.squares, files)]
    return SmallPosition(tuple(piece for row in rows for piece in row), position.hands)


def _candidates(variant: Variant, position: SmallPosition) -> Iterator[Action]:
    """All actions of the pieces, including those that leave the king in check."""
    board, hands = position
    for origin, kind in enumerate(board):
        if kind > 0:
            for target in _reached(variant, board, kind, origin):
                yield from _with_promotion(variant, kind, origin, target)
    for place in range(variant.hand):
        if hands[place]:
            for target, piece in enumerate(board):
                if not piece and _may_drop(variant, board, place + 1, target):
                    yield Action(-1, target, drop=place)


def _reached(variant: Variant, board: tuple[int, ...], kind: int, origin: int) -> Iterator[int]:
    steps, runs = variant.shapes[kind][origin]
    for target in steps:
        if board[target] <= 0:
            yield target
    for run in runs:
        for target in run:
            if board[target] <= 0:
                yield target
            if board[target]:
                break


def _with_promotion(variant: Variant, kind: int, origin: int, target: int) -> Iterator[Action]:
    if variant.must_promote or kind not in variant.promoted or not variant.far(origin, target):
        yield Action(origin, target)  # animal shogi's only promotion needs no decision
        return
    yield Action(origin, target, promote=True)
    if any(variant.shapes[kind][target]):
        yield Action(origin, target)


def _may_drop(variant: Variant, board: tuple[int, ...], kind: int, target: int) -> bool:
    if variant.lion:
        return True
    if not any(variant.shapes[kind][target]):
        return False
    return kind != 1 or 1 not in board[target % variant.files :: variant.files]  # two pawns on a file


def _moved(variant: Variant, position: SmallPosition, action: Action) -> SmallPosition:
    board, hands = list(position.board), list(position.hands)
    origin, target, promote, drop = action
    if origin < 0:
        board[target] = drop + 1
        hands[drop] -= 1
        return SmallPosition(tuple(board), tuple(hands))
    kind = board[origin]
    taken = variant.held.get(-board[target])
    if taken is not None:
        hands[taken] += 1
    if promote or (variant.must_promote and target < variant.files):
        kind = variant.promoted.get(kind, kind)
    board[origin], board[target] = 0, kind
    return SmallPosition(tuple(board), tuple(hands))


def _safe(variant: Variant, position: SmallPosition, moves: Iterator[Action]) -> Iterator[Action]:
    """The moves after which one's own king is safe, without those that mate by dropping a pawn."""
    board, king = position.board, variant.king
    square = board.index(king)
    checked = _attacked(variant, board, square)
    exposed = {s for run, _ in variant.dangers[square].runs for s in run}
    for action in moves:
        risky = checked or action.origin == square or action.origin in exposed
        if risky:
            after = _moved(variant, position, action).board
            if _attacked(variant, after, action.target if action.origin == square else square):
                continue
        if action.drop == 0 and board[action.target - variant.files] == -king:
            answer = turned(_moved(variant, position, action))
            if not any(_safe(variant, answer, _candidates(variant, answer))):
                continue
        yield action


def _attacked(variant: Variant, board: tuple[int, ...], square: int) -> bool:
    """Whether an opponent's piece attacks this square."""
    steps, runs = variant.dangers[square]
    for near, kinds in steps:
        if board[near] in kinds:
            return True
    for run, kinds in runs:
        for at in run:
            if board[at]:
                if board[at] in kinds:
                    return True
                break
    return False


class _Facts(NamedTuple):
    """What the rules say about a position."""

    actions: tuple[int, ...]
    in_check: bool
    decided: int


@functools.lru_cache(1 << 15)  # a search reaches the same positions again and again
def _facts(variant: Variant, position: SmallPosition) -> _Facts:
    actions = tuple(legal_actions(variant, position))
    return _Facts(actions, in_check(variant, position), decided(variant, position))


class SmallGame:
    """One game: its positions, the player to move, and its result."""

    def __init__(self, variant: Variant, position: SmallPosition | None = None, max_moves: int = MAX_MOVES) -> None:
        self.variant = variant
        self.max_moves = max_moves
        self.turn = BLACK
        self.moves: list[int] = []
        self.result: int | None = None
        """1 if Black has won, −1 for White, 0 for a draw, by the rules or by a proof; None before the end."""
        self.cut = False
        """Whether the game was stopped at its maximum number of moves."""
        self._positions = [position or start(variant)]
        self._known = [_facts(variant, self.position)]
        self._seen = Counter({self._key(): 1})

    @property
    def position(self) -> SmallPosition:
        """The position as the player to move sees it."""
        return self._positions[-1]

    @property
    def actions(self) -> tuple[int, ...]:
        """The numbers of the legal actions, ascending."""
        return self._known[-1].actions

    @property
    def in_check(self) -> bool:
        """Whether the king of the player to move is attacked."""
        return self._known[-1].in_check

    @property
    def occurrences(self) -> int:
        """How often the position has occurred, including now."""
        return self._seen[self._key()]

    @property
    def over(self) -> bool:
        """Whether the game has ended, by the rules or by its maximum number of moves."""
        return self.cut or self.result is not None

    def push(self, number: int) -> None:
        """Play a legal action; GameError if it is illegal."""
        if self.over or number not in self.actions:
            raise GameError(f"Action {number} is not legal here.")
        self._positions.append(play(self.variant, self.position, number))
        self._known.append(_facts(self.variant, self.position))
        self.moves.append(number)
        self.turn ^= 1
        self._seen[self._key()] += 1
        won = self._known[-1].decided or -(not self.actions)
        if won:
            self.result = won if self.turn == BLACK else -won
        elif self.occurrences >= self.variant.repetitions:
            self.result = self.if_repeated()
        self.cut = self.result is None and len(self.moves) >= self.max_moves

    def pop(self) -> None:
        """Take back the last move."""
        self._seen[self._key()] -= 1
        self._positions.pop()
        self._known.pop()
        self.moves.pop()
        self.turn ^= 1
        self.result, self.cut = None, False

    def for_player(self, side: int) -> float:
        """The result of a finished game for Black (0) or White (1); 0 for a draw or a game that was cut off."""
        result = self.result or 0
        return float(result if side == BLACK else -result)

    def usi_moves(self) -> list[str]:
        """The moves in USI."""
        return [self.variant.usi(number, ply % 2 == 1) for ply, number in enumerate(self.moves)]

    def if_repeated(self) -> int:
        """The result if the players repeated their moves since the first occurrence of this repeated position.

        1 if Black wins, −1 if White wins, 0 for a draw.
        """
        if self.variant.lion:
            return 0
        first = self._positions.index(self.position)
        while (len(self.moves) - first) % 2:  # turned boards may be equal
            first = self._positions.index(self.position, first + 1)
        checks = [known.in_check for known in self._known[first + 1 :]]
        for side, received in ((self.turn, checks[1::2]), (1 - self.turn, checks[0::2])):
            if all(received):
                return 1 if side == BLACK else -1
        return -1  # by minishogi's rule, Black must deviate

    def _key(self) -> tuple[SmallPosition, int]:
        return self.position, self.turn
