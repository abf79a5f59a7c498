"""Solve animal shogi by retrograde analysis, and write solved positions for `understudy animal-check`.

python tools/solve_animal_shogi.py                          # only the value of the first position
python tools/solve_animal_shogi.py --write solved.json

Every position that can come up is found from the first one, then the results are carried back from the ends. It needs
numba, 4 GB of memory and about ten minutes.

A position is a number: 12 squares of 4 bits as the player to move sees them (own C G E L +C are 1 to 5, the opponent's
8 more), then six counts of 2 bits for what both hold. Of two mirrored positions the smaller number stands for both.
Those in which the lion can be taken at once are not listed: they are won.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from understudy.games.shogi.small.rules import SmallGame, SmallPosition, decided, legal_actions, play, start
from understudy.games.shogi.small.variant import ANIMAL

Ints = NDArray[np.int64]
Keys = NDArray[np.uint64]
Bytes = NDArray[np.uint8]
Slots = NDArray[np.uint32]

SLOT_BITS = 28
CHICK, LION, HEN, OTHER = 1, 4, 5, 8
MOST_MOVES = 64  # of a position, backwards too


def _steps() -> NDArray[np.int64]:
    """(kind, square, 8): the squares that own pieces step to, then −1."""
    table = np.full((6, 12, 8), -1, np.int64)
    for kind in range(1, 6):
        for square in range(12):
            targets = ANIMAL.shapes[kind][square].steps
            table[kind, square, : len(targets)] = targets
    return table


STEPS = _steps()
ORIGINS = np.full((6, 12, 8), -1, np.int64)
for _kind in range(1, 6):
    for _square in range(12):
        _from = [s for s in range(12) if _square in STEPS[_kind, s]]
        ORIGINS[_kind, _square, : len(_from)] = _from


@numba.njit(cache=True)  # type: ignore[untyped-decorator]
def unpack(key: Any, board: Ints, hands: Ints) -> None:
    """Write a position into `board` (12,) and `hands` (6,)."""
    for square in range(12):
        board[square] = (key >> numba.uint64(4 * square)) & numba.uint64(15)
    for place in range(6):
        hands[place] = (key >> numba.uint64(48 + 2 * place)) & numba.uint64(3)


@numba.njit(cache=True)  # type: ignore[untyped-decorator]
def packed(board: Ints, hands: Ints) -> Any:
    """The number of a position, or of its mirror image."""
    key, mirror = numba.uint64(0), numba.uint64(0)
    for square in range(12):
        key |= numba.uint64(board[square]) << numba.uint64(4 * square)
        mirror |= numba.uint64(board[square]) << numba.uint64(4 * (square + 2 - 2 * (square % 3)))
    held = numba.uint64(0)
    for place in range(6):
        held |= numba.uint64(hands[place]) << numba.uint64(48 + 2 * place)
    return min(key, mirror) | held


@numba.njit(cache=True)  # type: ignore[untyped-decorator]
def turned(board: Ints, hands: Ints, board_after: Ints, hands_after: Ints) -> None:
    """The same position as the other player sees it."""
    for square in range(12):
        piece = board[11 - square]
        board_after[square] = piece ^ OTHER if piece else 0
    for place in range(3):
        hands_after[place], hands_after[place + 3] = hands[place + 3], hands[place]


@numba.njit(cache=True)  # type: ignore[untyped-decorator]
def reaches(board: Ints, target: int) -> bool:
    """Whether a piece of the player to move steps to this square."""
    for square in range(12):
        kind = board[square]
        if 0 < kind < OTHER:
            for place in range(8):
                to = STEPS[kind, square, place]
                if to < 0:
                    break
                if to == target:
                    return True
    return False


@numba.njit(cache=True)  # type: ignore[untyped-decorator]
def lion_of(board: Ints, piece: int) -> int:
    """The square of a lion, own or other; −1 if there is none."""
    for square in range(12):
        if board[square] == piece:
            return square
    return -1


@numba.njit(cache=True)  # type: ignore[untyped-decorator]
def judge(board: Ints, hands: Ints, board2: Ints, hands2: Ints, keys: Keys, count: int) -> tuple[int, int]:
    """What a move has led to, `board` being still the mover's view: 1 won at once, else 0, with a key if it goes on."""
    turned(board, hands, board2, hands2)
    lion = lion_of(board2, LION + OTHER)
    if reaches(board2, lion):
        return 0, count
    if lion >= 9:
        return 1, count
    key = packed(board2, hands2)
    for known in range(count):
        if keys[known] == key:
            return 0, count
    keys[count] = key
    return 0, count + 1


@numba.njit(cache=True)  # type: ignore[untyped-decorator]
def children(key: Any, keys: Keys, board: Ints, hands: Ints, board2: Ints, hands2: Ints) -> int:
    """Fill in the distinct listed positions after a move; returns their number, −1 if a move wins at once."""
    unpack(key, board, hands)
    count = 0
    for square in range(12):
        kind = board[square]
        if kind == 0 or kind > OTHER:
            continue
        for place in range(8):
            to = STEPS[kind, square, place]
            if to < 0:
                break
            there = board[to]
            if 0 < there < OTHER:
                continue
            held = -1
            if there:
                held = 0 if there - OTHER == HEN else there - OTHER - 1
                hands[held] += 1
            board[square], board[to] = 0, HEN if kind == CHICK and to < 3 else kind
            won, count = judge(board, hands, board2, hands2, keys, count)
            board[square], board[to] = kind, there
            if held >= 0:
                hands[held] -= 1
            if won:
                return -1
    for held in range(3):
        if hands[held] == 0:
            continue
        hands[held] -= 1
        for to in range(12):
            if board[to] == 0:
                board[to] = held + 1
                _, count = judge(board, hands, board2, hands2, keys, count)
                board[to] = 0
        hands[held] += 1
    return count


@numba.njit(cache=True)  # type: ignore[untyped-decorator]
def _note(board: Ints, hands: Ints, keys: Keys, count: int) -> int:
    key = packed(board, hands)
    for known in range(count):
        if keys[known] == key:
            return count
    keys[count] = key
    return count + 1


@numba.njit(cache=True)  # type: ignore[untyped-decorator]
def parents(key: Any, keys: Keys, board: Ints, hands: Ints, board2: Ints, hands2: Ints) -> int:
    """Fill in the distinct positions that a move could have come from, listed ones and others; returns their number."""
    unpack(key, board2, hands2)
    turned(board2, hands2, board, hands)  # as the player who moved sees it
    count = 0
    for to in range(12):
        kind = board[to]
        if kind == 0 or kind > OTHER:
            continue
        if kind < LION:  # a drop
            board[to] = 0
            hands[kind - 1] += 1
            count = _note(board, hands, keys, count)
            hands[kind - 1] -= 1
            board[to] = kind
        for before in range(2):
            was = kind
            if before == 1:
                if kind != HEN or to >= 3:
                    break
                was = CHICK
            elif kind == CHICK and to < 3:
                continue  # it would have promoted
            for place in range(8):
                square = ORIGINS[was, to, place]
                if square < 0:
                    break
                if board[square] != 0:
                    continue
                board[square], board[to] = was, 0
                count = _note(board, hands, keys, count)
                for taken in (1, 2, 3, 5):
                    held = 0 if taken == HEN else taken - 1
                    if hands[held]:
                        hands[held] -= 1
                        board[to] = taken + OTHER
                        count = _note(board, hands, keys, count)
                        hands[held] += 1
                board[square], board[to] = 0, kind
    return count


@numba.njit(cache=True)  # type: ignore[untyped-decorator]
def slot_of(table: Keys, key: Any, add: bool) -> Any:
    """Where a position is in the table; −1 if it is not and must not be added. 0 stands for nothing."""
    mask = numba.uint64(len(table) - 1)
    at = (key * numba.uint64(0x9E3779B97F4A7C15)) >> numba.uint64(64 - SLOT_BITS)
    while True:
        found = table[at]
        if found == key:
            return numba.int64(at)
        if found == 0:
            if not add:
                return -1
            table[at] = key
            return -2 - numba.int64(at)
        at = (at + numba.uint64(1)) & mask


@numba.njit(cache=True)  # type: ignore[untyped-decorator]
def find_all(first: Any, table: Keys, depths: Bytes, open_moves: Bytes, queue: Slots) -> int:
    """List every position that can come up; those that are decided within two plies get their depth. Returns how many.

    `depths` has the plies to the end, plus 1; 0 is not known yet. A position won at once is not played on from.
    """
    board, hands = np.zeros(12, np.int64), np.zeros(6, np.int64)
    board2, hands2 = np.zeros(12, np.int64), np.zeros(6, np.int64)
    keys = np.zeros(512, np.uint64)
    queue[0] = -2 - slot_of(table, first, True)
    done, known = 0, 1
    while done < known:
        at = queue[done]
        done += 1
        count = children(table[at], keys, board, hands, board2, hands2)
        if count < 0:
            depths[at] = 2
            continue
        open_moves[at] = count
        if count == 0:
            depths[at] = 3
        for number in range(count):
            slot = slot_of(table, keys[number], True)
            if slot < -1:
                queue[known] = -2 - slot
                known += 1
    return known


@numba.njit(cache=True)  # type: ignore[untyped-decorator]
def carry_back(table: Keys, depths: Bytes, open_moves: Bytes, queue: Slots, known: int) -> int:
    """Give every decided position its depth, from the ends on; the others are draws. Returns how many are decided."""
    board, hands = np.zeros(12, np.int64), np.zeros(6, np.int64)
    board2, hands2 = np.zeros(12, np.int64), np.zeros(6, np.int64)
    keys = np.zeros(512, np.uint64)
    waiting = np.empty(known, np.uint32)
    count = 0
    for wanted in (2, 3):  # won in one ply, then lost in two
        for number in range(known):
            if depths[queue[number]] == wanted:
                waiting[count] = queue[number]
                count += 1
    done = 0
    while done < count:
        at = waiting[done]
        done += 1
        depth = depths[at]
        lost = depth % 2 == 1  # an even number of plies to go
        for number in range(parents(table[at], keys, board, hands, board2, hands2)):
            slot = slot_of(table, keys[number], False)
            if slot < 0 or depths[slot]:
                continue
            if not lost:
                open_moves[slot] -= 1
                if open_moves[slot]:
                    continue
            depths[slot] = depth + 1
            waiting[count] = slot
            count += 1
    return count


class Solution:
    """The value of every position that can come up."""

    def __init__(self) -> None:
        size = 1 << SLOT_BITS
        self._table = np.zeros(size, np.uint64)
        self._depths, open_moves = np.zeros(size, np.uint8), np.zeros(size, np.uint8)
        queue = np.empty(size // 4 * 3, np.uint32)
        began = time.perf_counter()
        self.known = int(find_all(key_of(start(ANIMAL)), self._table, self._depths, open_moves, queue))
        print(f"{self.known:,} positions after {time.perf_counter() - began:.0f} s", flush=True)
        decided_ = carry_back(self._table, self._depths, open_moves, queue, self.known)
        print(f"{decided_:,} of them are decided, after {time.perf_counter() - began:.0f} s", flush=True)

    def plies(self, position: SmallPosition) -> int | None:
        """Plies to the end with best play, even if the player to move loses; None for a draw. KeyError if unknown."""
        if won := decided(ANIMAL, position):
            return 1 if won > 0 else 0
        board, _ = _arrays(position)
        if reaches(board, lion_of(board, LION + OTHER)):
            return 1
        slot = slot_of(self._table, key_of(position), False)
        if slot < 0:
            raise KeyError(position)
        depth = int(self._depths[slot])
        return depth - 1 if depth else None

    def value(self, position: SmallPosition) -> int:
        """1 if the player to move wins, 0 for a draw, −1."""
        plies = self.plies(position)
        return 0 if plies is None else 1 if plies % 2 else -1


def _arrays(position: SmallPosition) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    board = np.array([piece if piece >= 0 else OTHER - piece for piece in position.board], np.int64)
    return board, np.array(position.hands, np.int64)


def key_of(position: SmallPosition) -> Any:
    """The number of a position, of the type that the compiled functions take."""
    return np.uint64(packed(*_arrays(position)))


def sample(solution: Solution, count: int, seed: int) -> list[dict[str, Any]]:
    """Positions in which one move keeps the value and another one does not, from games of mixed quality."""
    rng = np.random.default_rng(seed)
    found: dict[Any, dict[str, Any]] = {}
    while len(found) < count:
        game = SmallGame(ANIMAL)
        for _ in range(rng.integers(2, 50)):
            if game.over or solution.plies(game.position) == 1:  # from there on not everything is listed
                break
            values = {n: -solution.value(play(ANIMAL, game.position, n)) for n in game.actions}
            best = max(values.values())
            keep = [n for n, value in values.items() if value == best]
            key = key_of(game.position)
            if key not in found and len(keep) < len(values) and rng.random() < 0.2:
                found[key] = {
                    "board": list(game.position.board),
                    "hands": list(game.position.hands),
                    "value": best,
                    "plies": solution.plies(game.position),
                    "keep": keep,
                }
            game.push(int(rng.choice([n for n in values if n in keep or rng.random() < 0.2])))
    return list(found.values())[:count]


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", type=Path, metavar="FILE", help="solved positions, as JSON")
    parser.add_argument("--positions", type=int, default=1000, metavar="N", help="how many")
    options = parser.parse_args()
    solution = Solution()
    first = start(ANIMAL)
    print(f"The first position: value {solution.value(first)} for the player to move, {solution.plies(first)} plies")
    for number in legal_actions(ANIMAL, first):
        print(f"  {ANIMAL.usi(number, white=False)}: {solution.plies(play(ANIMAL, first, number))} plies after it")
    if options.write:
        rows = sample(solution, options.positions, seed=0)
        options.write.write_text("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n", encoding="utf-8")
        print(f"{len(rows)} positions in {options.write}")


if __name__ == "__main__":
    main()
