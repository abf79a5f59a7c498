"""The parts of a small shogi game: its pieces, their moves, and tables that are computed once from them.

Everything is seen by the player to move: squares are numbered row by row from the far left corner, own pieces are
positive numbers, the opponent's are negative, and own pieces move towards row 0.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

Directions = frozenset[tuple[int, int]]

_UP: Directions = frozenset({(-1, 0)})
_STRAIGHT: Directions = frozenset({(-1, 0), (1, 0), (0, -1), (0, 1)})
_DIAGONAL: Directions = frozenset({(-1, -1), (-1, 1), (1, -1), (1, 1)})
_AROUND = _STRAIGHT | _DIAGONAL
_GOLD = _STRAIGHT | {(-1, -1), (-1, 1)}
_SILVER = _DIAGONAL | _UP


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of piece: `letter` as in SFEN, `+` if promoted, its single steps, and the directions of its slides."""

    letter: str
    sign: str
    """The piece in Japanese."""
    steps: Directions
    runs: Directions = frozenset()


class Action(NamedTuple):
    """A move without its piece: from a square, or a drop if `origin` is −1; `drop` is an index into the hand."""

    origin: int
    target: int
    promote: bool = False
    drop: int = -1


class Shape(NamedTuple):
    """The squares that an own piece of one kind reaches from one square on an empty board."""

    steps: tuple[int, ...]
    runs: tuple[tuple[int, ...], ...]


class Danger(NamedTuple):
    """From where opponents attack a square: (square, kinds as on the board), and lines with the sliding pieces."""

    steps: tuple[tuple[int, frozenset[int]], ...]
    runs: tuple[tuple[tuple[int, ...], frozenset[int]], ...]


@dataclass(frozen=True, eq=False)
class Variant:
    """The rules of one game. Kinds are numbered from 1, as in `kinds`; the first `hand` kinds can be held."""

    name: str
    title: str
    files: int
    ranks: int
    kinds: tuple[Kind, ...]
    hand: int
    start: str
    """The board in SFEN; the side without a sign is below."""
    must_promote: bool
    """Whether a piece always promotes on the last rank; if not, only a piece that could not move on from there must."""
    lion: bool
    """Animal shogi's rules: the king may stay in check, wins on the last rank, and pawns may be dropped anywhere."""
    repetitions: int
    """After this many occurrences of a position the game ends: in animal shogi as a draw, in minishogi as a loss for
    the player who gave check all the time, otherwise for Black."""
    engine: str
    """The name of the game in fairy-stockfish."""

    @property
    def squares(self) -> int:
        """The number of squares of the board."""
        return self.files * self.ranks

    @functools.cached_property
    def king(self) -> int:
        """The number of the king, or lion."""
        return 1 + next(place for place, kind in enumerate(self.kinds) if kind.letter in "KL")

    @functools.cached_property
    def promoted(self) -> dict[int, int]:
        """Kind → what it promotes to."""
        letters = [kind.letter for kind in self.kinds]
        return {
            place: letters.index(f"+{letter}") + 1
            for place, letter in enumerate(letters, 1)
            if f"+{letter}" in letters
        }  # fmt: skip

    @functools.cached_property
    def held(self) -> dict[int, int]:
        """Kind → its index in the hand of the player who captures it."""
        back = {after: before for before, after in self.promoted.items()}
        return {kind: back.get(kind, kind) - 1 for kind in range(1, len(self.kinds) + 1) if kind != self.king}

    @functools.cached_property
    def shapes(self) -> tuple[tuple[Shape, ...], ...]:
        """By kind (0 is empty) and square."""
        nothing = (Shape((), ()),) * self.squares
        return (nothing, *(tuple(self._shape(kind, square) for square in range(self.squares)) for kind in self.kinds))

    @functools.cached_property
    def dangers(self) -> tuple[Danger, ...]:
        """By square."""
        return tuple(self._danger(square) for square in range(self.squares))

    @functools.cached_property
    def actions(self) -> tuple[Action, ...]:
        """Every move that any piece could make, in a fixed order; a decision is an index into this list."""
        boards = [
            Action(origin, target, promote)
            for origin in range(self.squares)
            for target in sorted({t for shapes in self.shapes for t in _targets(shapes[origin])})
            for promote in (False, True)
            if not promote or (not self.must_promote and self.far(origin, target))
        ]
        drops = itertools.product(range(self.hand), range(self.squares))
        return (*boards, *(Action(-1, target, drop=place) for place, target in drops))

    @functools.cached_property
    def numbers(self) -> dict[Action, int]:
        """The index of each action."""
        return {action: number for number, action in enumerate(self.actions)}

    def far(self, origin: int, target: int) -> bool:
        """Whether a move begins or ends on the last rank, where pieces promote."""
        return min(origin, target) < self.files

    def usi(self, number: int, white: bool) -> str:
        """An action in USI, which is not relative to the player: `3d3c`, `2a2b+`, `P*2c`."""
        action = self.actions[number]
        target = self._square(action.target, white)
        if action.origin < 0:
            return f"{self.kinds[action.drop].letter}*{target}"
        return f"{self._square(action.origin, white)}{target}{'+' if action.promote else ''}"

    def _square(self, square: int, white: bool) -> str:
        row, column = divmod(self.squares - 1 - square if white else square, self.files)
        return f"{self.files - column}{'abcde'[row]}"

    def _line(self, square: int, direction: tuple[int, int]) -> Iterator[int]:
        row, column = divmod(square, self.files)
        while True:
            row, column = row + direction[0], column + direction[1]
            if not (0 <= row < self.ranks and 0 <= column < self.files):
                return
            yield row * self.files + column

    def _shape(self, kind: Kind, square: int) -> Shape:
        steps = [next(self._line(square, direction), None) for direction in sorted(kind.steps)]
        runs = [tuple(self._line(square, direction)) for direction in sorted(kind.runs)]
        return Shape(tuple(s for s in steps if s is not None), tuple(filter(None, runs)))

    def _danger(self, square: int) -> Danger:
        near, lines = [], []
        for direction in sorted(_AROUND):  # the opponent's pieces move in the opposite direction
            line = tuple(self._line(square, direction))
            steps = frozenset(-place for place, kind in enumerate(self.kinds, 1) if direction in kind.steps)
            runs = frozenset(-place for place, kind in enumerate(self.kinds, 1) if direction in kind.runs)
            if line and steps:
                near.append((line[0], steps))
            if line and runs:
                lines.append((line, runs))
        return Danger(tuple(near), tuple(lines))


def _targets(shape: Shape) -> Sequence[int]:
    return (*shape.steps, *itertools.chain.from_iterable(shape.runs))


ANIMAL = Variant(
    name="animalshogi",
    title="Animal shogi",
    files=3,
    ranks=4,
    kinds=(
        Kind("C", "ひ", _UP),
        Kind("G", "き", _STRAIGHT),
        Kind("E", "ぞ", _DIAGONAL),
        Kind("L", "ラ", _AROUND),
        Kind("+C", "に", _GOLD),
    ),
    hand=3,
    start="gle/1c1/1C1/ELG",
    must_promote=True,
    lion=True,
    repetitions=3,
    engine="dobutsu",
)
MINI = Variant(
    name="minishogi",
    title="Minishogi",
    files=5,
    ranks=5,
    kinds=(
        Kind("P", "歩", _UP),
        Kind("S", "銀", _SILVER),
        Kind("G", "金", _GOLD),
        Kind("B", "角", frozenset(), _DIAGONAL),
        Kind("R", "飛", frozenset(), _STRAIGHT),
        Kind("K", "玉", _AROUND),
        Kind("+P", "と", _GOLD),
        Kind("+S", "全", _GOLD),
        Kind("+B", "馬", _STRAIGHT, _DIAGONAL),
        Kind("+R", "龍", _DIAGONAL, _STRAIGHT),
    ),
    hand=5,
    start="rbsgk/4p/5/P4/KGSBR",
    must_promote=False,
    lion=False,
    repetitions=4,
    engine="minishogi",
)
VARIANTS = {variant.name: variant for variant in (ANIMAL, MINI)}
