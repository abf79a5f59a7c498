"""Mates in 1, 3, 5, 7 and 9 from games of the greedy player with itself: in how many nodes our search finds them.

python benchmarks/shogi_mates.py                    20 of each length
python benchmarks/shogi_mates.py --false 10000      does a mate that is claimed hold? in 10,000 positions

The length of a mate is found by looking at every check and every answer, without proof numbers. A claimed mate is
checked by playing the search's moves against every answer, by the rules of a game.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from understudy.games.shogi.mate import MateSearch
from understudy.games.shogi.rules import ShogiGame

sys.path[0] = str(Path(__file__).resolve().parents[1] / "tests")  # not this folder, which has a games.py

from games.shogi.mates import holds, known_mates, positions  # noqa: E402 - found only with the path above


def show_nodes(seed: int, each: int, nodes: int) -> None:
    for length, sfens in known_mates(seed, each).items():
        answers = [MateSearch(ShogiGame(sfen), nodes).solve() for sfen in sfens]
        needed = sorted(answer.nodes for answer in answers if answer.line)
        right = sum(len(answer.line) == length for answer in answers)
        print(
            f"mate in {length}: {len(needed)} of {len(sfens)} found, {right} by the shortest line; nodes: median "
            f"{needed[len(needed) // 2]:,}, most {needed[-1]:,}",
            flush=True,
        )


def show_false(seed: int, count: int, nodes: int) -> int:
    claimed = wrong = none = 0
    for number, game in enumerate(positions(seed)):
        if number == count:
            break
        search = MateSearch(game, nodes)
        answer = search.solve()
        claimed, none = claimed + bool(answer.line), none + answer.none
        if answer.line and not holds(search, game):
            wrong += 1
            print("FALSE MATE", game.board.sfen())
    print(f"{count:,} positions: {claimed:,} mates claimed, {wrong} of them false; none proved in {none:,}")
    return int(wrong > 0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--each", type=int, default=20, metavar="N")
    parser.add_argument("--false", type=int, metavar="N", help="positions in which claimed mates are checked")
    parser.add_argument("--nodes", type=int, default=100_000, metavar="N")
    parser.add_argument("--seed", type=int, default=0, metavar="N")
    options = parser.parse_args()
    if options.false:
        return show_false(options.seed, options.false, options.nodes)
    show_nodes(options.seed, options.each, options.nodes)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
