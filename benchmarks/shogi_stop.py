"""How soon the USI engine answers `stop`, in milliseconds, in the middle of games and in searches for a mate.

python benchmarks/shogi_stop.py CHECKPOINT --times 100
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np

from understudy.games.shogi.rules import ShogiGame
from understudy.games.shogi.usi_process import UsiProcess


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("--times", type=int, default=100, metavar="N")
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    command = [sys.executable, "-m", "understudy.games.shogi", "usi", str(options.checkpoint)]
    with UsiProcess(command) as engine:
        for go, word in (
            ("go infinite", "bestmove"),
            ("go ponder btime 60000 wtime 60000", "bestmove"),
            ("go mate infinite", "checkmate"),
        ):
            taken = []
            for _ in range(options.times):
                engine.send(f"position startpos moves {' '.join(random_moves(rng))}")
                engine.send(go)
                time.sleep(rng.uniform(0.02, 0.3))
                told = time.perf_counter()
                engine.send("stop")
                engine.until(word)
                taken.append(1000 * (time.perf_counter() - told))
            taken.sort()
            print(
                f"{go}: median {taken[len(taken) // 2]:.1f} ms, slowest {taken[-1]:.1f} ms of {len(taken)}", flush=True
            )
    return 0


def random_moves(rng: np.random.Generator) -> list[str]:
    """The moves of a random game that is not over."""
    game = ShogiGame()
    for _ in range(rng.integers(2, 40)):
        game.push(game.legal_moves[rng.integers(len(game.legal_moves))])
    return game.usi_moves() if game.result is None else random_moves(rng)


if __name__ == "__main__":
    raise SystemExit(main())
