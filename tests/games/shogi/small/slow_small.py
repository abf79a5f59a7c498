"""A slow generator of moves for small shogi games, written without the tables of the fast one.

The board is a dict of (file, rank) → letter, capitals are Black's; nothing is turned.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

Square = tuple[int, int]  # file from the right, rank from the top, both from 1

STEPS = {
    "P": ["N"],
    "C": ["N"],
    "S": ["N", "NE", "NW", "SE", "SW"],
    "G": ["N", "NE", "NW", "E", "W", "S"],
    "K": ["N", "NE", "NW", "E", "W", "S", "SE", "SW"],
    "+B": ["N", "E", "W", "S"],
    "+R": ["NE", "NW", "SE", "SW"],
}
STEPS |= {"L": STEPS["K"], "+C": STEPS["G"], "+P": STEPS["G"], "+S": STEPS["G"]}
ANIMAL_STEPS = STEPS | {"G": ["N", "E", "W", "S"], "E": ["NE", "NW", "SE", "SW"]}
SLIDES = {"B": ["NE", "NW", "SE", "SW"], "R": ["N", "E", "W", "S"]}
SLIDES |= {"+B": SLIDES["B"], "+R": SLIDES["R"]}
WAYS = {"N": (0, -1), "S": (0, 1), "E": (-1, 0), "W": (1, 0)}


@dataclass
class SlowPosition:
    """A position of animal shogi (`animal`) or minishogi."""

    animal: bool
    board: dict[Square, str]
    hands: Counter[str] = field(default_factory=Counter)  # "P" Black's, "p" White's
    black: bool = True

    @classmethod
    def of(cls, animal: bool, sfen: str) -> SlowPosition:
        board, rows = {}, sfen.split("/")
        for rank, row in enumerate(rows, 1):
            column, plus = 1, ""
            for letter in row:
                if letter == "+":
                    plus = "+"
                elif letter.isdecimal():
                    column += int(letter)
                else:
                    board[(3 if animal else 5) + 1 - column, rank] = plus + letter
                    column, plus = column + 1, ""
        return cls(animal, board)

    @property
    def size(self) -> tuple[int, int]:
        return (3, 4) if self.animal else (5, 5)

    def mine(self, piece: str) -> bool:
        return piece.isupper() == self.black

    def inside(self, square: Square) -> bool:
        return 1 <= square[0] <= self.size[0] and 1 <= square[1] <= self.size[1]

    def home(self, rank: int, black: bool) -> bool:
        """Whether this is the last rank for a player."""
        return rank == (1 if black else self.size[1])

    def reached(self, square: Square, piece: str) -> Iterator[Square]:
        kind, sign = piece.upper(), 1 if piece.isupper() else -1
        table = ANIMAL_STEPS if self.animal else STEPS
        slides = [] if self.animal else SLIDES.get(kind, [])
        for ways, far in ((table.get(kind, []), False), (slides, True)):
            for way in ways:
                dx, dy = sum(WAYS[c][0] for c in way), sum(WAYS[c][1] for c in way)
                x, y = square
                while True:
                    x, y = x + sign * dx, y + sign * dy
                    if not self.inside((x, y)):
                        break
                    there = self.board.get((x, y))
                    if there is None or there.isupper() != piece.isupper():
                        yield x, y
                    if there is not None or not far:
                        break

    def attacked(self, square: Square, by_black: bool) -> bool:
        return any(
            piece.isupper() == by_black and square in set(self.reached(at, piece)) for at, piece in self.board.items()
        )

    def king(self, black: bool) -> Square | None:
        letter = "L" if self.animal else "K"
        wanted = letter if black else letter.lower()
        return next((square for square, piece in self.board.items() if piece == wanted), None)

    def after(self, usi: str) -> SlowPosition:
        board, hands = dict(self.board), Counter(self.hands)
        target = (int(usi[2]), "abcde".index(usi[3]) + 1)
        if usi[1] == "*":
            piece = usi[0] if self.black else usi[0].lower()
            hands[piece] -= 1
            board[target] = piece
        else:
            piece = board.pop((int(usi[0]), "abcde".index(usi[1]) + 1))
            taken = board.get(target)
            if taken is not None and taken.upper() not in ("K", "L"):
                hands[taken.removeprefix("+").swapcase()] += 1
            chick = self.animal and piece.upper() == "C" and self.home(target[1], self.black)
            board[target] = "+" + piece if usi.endswith("+") or chick else piece
        return SlowPosition(self.animal, board, +hands, not self.black)

    def candidates(self) -> Iterator[str]:
        for square, piece in self.board.items():
            if not self.mine(piece):
                continue
            for target in self.reached(square, piece):
                usi = f"{square[0]}{'abcde'[square[1] - 1]}{target[0]}{'abcde'[target[1] - 1]}"
                far = self.home(target[1], self.black) or self.home(square[1], self.black)
                if not self.animal and far and piece.upper() in ("P", "S", "B", "R"):
                    yield usi + "+"
                    if piece.upper() == "P":
                        continue
                yield usi
        for piece, count in self.hands.items():
            if not count or not self.mine(piece):
                continue
            for x in range(1, self.size[0] + 1):
                for y in range(1, self.size[1] + 1):
                    if (x, y) in self.board:
                        continue
                    if not self.animal and piece.upper() == "P":
                        column = [self.board.get((x, rank)) for rank in range(1, 6)]
                        if piece in column or self.home(y, self.black):
                            continue
                    yield f"{piece.upper()}*{x}{'abcde'[y - 1]}"

    def safe(self, usi: str) -> bool:
        after = self.after(usi)
        square = after.king(self.black)
        return square is not None and not after.attacked(square, by_black=not self.black)

    def legal(self) -> set[str]:
        if self.animal:
            return set(self.candidates())
        found = {usi for usi in self.candidates() if self.safe(usi)}
        for usi in [usi for usi in found if usi.startswith("P*")]:
            after = self.after(usi)
            square = after.king(after.black)
            assert square is not None
            mated = after.attacked(square, by_black=self.black) and not any(map(after.safe, after.candidates()))
            if mated:
                found.discard(usi)
        return found

    def won(self) -> int:
        """Animal shogi: 1 if the player to move has won already, −1 if the other one has."""
        own, other = self.king(self.black), self.king(not self.black)
        if own is None:
            return -1
        assert other is not None
        if self.home(own[1], self.black):
            return 1
        return -1 if self.home(other[1], not self.black) and not self.attacked(other, by_black=self.black) else 0
