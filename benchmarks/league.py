"""Does a league make self-play stronger? The same processor time with and without, against a fixed opponent.

    python benchmarks/league.py                                   # both games, four seeds, about twenty minutes
    python benchmarks/league.py --games tictactoe --seeds 2 --seconds 10

Each run trains in one process for the same processor time, which other work on the machine changes little. Then its
policy plays: tic-tac-toe against a perfect player that takes a random square in three of ten moves, Connect Four
(examples/) against one that sees wins and threats one move ahead. Points are wins plus half of the draws. The last
columns: points against the run without a league of the same seed, and learned decisions.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

sys.path.append(str(Path(__file__).resolve().parents[1] / "examples"))

from understudy.acting.sampling import draw_all
from understudy.games.game import default_settings, open_game
from understudy.games.tictactoe import LINES
from understudy.models.live import LiveModel
from understudy.models.state import read_model
from understudy.models.store import ModelStore
from understudy.parallel.arena import ArenaPlayer, play_pairs
from understudy.parallel.loop import TrainingLoopManager
from understudy.run.lock import StopRequest
from understudy.rundir import RunDir
from understudy.settings import ParallelSettings, Settings

GAMES = {"tictactoe": "tictactoe", "connect_four": "connect_four:SPEC"}
SECONDS = {"tictactoe": 25.0, "connect_four": 60.0}
SHARES = (0.0, 0.25, 0.5)
YARDSTICK_GAMES = 1000
PAIRS = 200
CARELESS = 0.3


def train(game: str, share: float, seed: int, seconds: float, folder: Path) -> int:
    """One run of so much processor time; the decisions that it learned from."""
    run = RunDir.at(folder)
    run.create()
    given = default_settings(GAMES[game])
    parallel = dataclasses.replace(ParallelSettings(**given.get("parallel", {})), league_share=share)
    request = StopRequest()
    began = time.process_time()

    def look(*_: object) -> None:
        if time.process_time() - began >= seconds:
            request.event.set()

    store = ModelStore(run.model, run.ledger)
    loop = TrainingLoopManager(GAMES[game], Settings(parallel=parallel), store=store, seed=seed, on_update=look)
    return int(loop.run(request).decisions)


def points_against_yardstick(game: str, model: Path) -> float:
    """Points per game against the fixed opponent of this game."""
    if game == "tictactoe":
        return _points_at_tictactoe(LiveModel(read_model(model)))
    evaluate = __import__("connect_four").evaluate
    # Every second evaluation game is against the tactical opponent.
    found = evaluate(str(model), 0, 2 * YARDSTICK_GAMES)["results"][1::2]
    return float((found.count("W") + found.count("T") / 2) / len(found))


def _points_at_tictactoe(live: LiveModel) -> float:
    """The model, whose decisions are drawn, moves first in every second match."""
    board = open_game("tictactoe", YARDSTICK_GAMES)
    board.reset(np.random.SeedSequence(1))
    rng = np.random.default_rng(1)
    states, legal = np.zeros((YARDSTICK_GAMES, 18), np.float32), np.zeros((YARDSTICK_GAMES, 9), np.bool_)
    ours = np.arange(YARDSTICK_GAMES) % 2
    points = np.full(YARDSTICK_GAMES, np.nan)
    while np.isnan(points).any():
        board.observe(states)
        board.legal(legal)
        sides = board.to_move()
        logits, _ = live.network.evaluate(live.trainer.normalizer.apply(states))
        theirs = [_good_move(state, mask, rng) for state, mask in zip(states, legal, strict=True)]
        step = board.step(np.where(sides == ours, draw_all(logits, legal, 0.0, rng)[0], theirs))
        ended = np.flatnonzero(step.over & np.isnan(points))
        result = np.where(sides == ours, step.rewards, -step.rewards)
        points[ended] = (1 + result[ended]) / 2
    return float(points.mean())


def _good_move(state: NDArray[np.float32], legal: NDArray[np.bool_], rng: np.random.Generator) -> int:
    free = np.flatnonzero(legal)
    if rng.random() < CARELESS:
        return int(rng.choice(free))
    own, other = (tuple(np.flatnonzero(part)) for part in state.reshape(2, 9))
    values = [-_value(other, (*own, square)) for square in free.tolist()]
    return int(rng.choice(free[np.array(values) == max(values)]))


@functools.cache
def _value(own: tuple[int, ...], other: tuple[int, ...]) -> int:
    """What a position is worth to the one who moves: 1, 0 or -1."""
    if any(set(line) <= set(other) for line in LINES.tolist()):
        return -1
    free = set(range(9)) - set(own) - set(other)
    return max((-_value(other, (*own, square)) for square in free), default=0)


def head_to_head(game: str, one: Path, other: Path) -> float:
    """Points per game of one model against another, both drawing their decisions."""
    ours, theirs = ArenaPlayer("one", (str(one),)), ArenaPlayer("other", (str(other),))
    played = play_pairs(GAMES[game], ours, theirs, range(PAIRS))
    return statistics.fmean((1 + (result if first == "one" else -result)) / 2 for first, _, _, result in played)


def main() -> None:
    """Print a line for every run, then means."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--games", nargs="+", choices=list(GAMES), default=list(GAMES))
    parser.add_argument("--shares", nargs="+", type=float, default=SHARES, metavar="X")
    parser.add_argument("--seeds", type=int, default=4, metavar="N")
    parser.add_argument("--seconds", type=float, metavar="S", help="of processor time (default: 25 and 60)")
    options = parser.parse_args()
    print("game          league share  seed  yardstick  against none  decisions", flush=True)
    for game in options.games:
        found: dict[float, list[float]] = {share: [] for share in options.shares}
        for seed in range(options.seeds):
            with tempfile.TemporaryDirectory() as folder:
                for share in options.shares:
                    place = Path(folder) / f"{share}"
                    decisions = train(game, share, seed, options.seconds or SECONDS[game], place)
                    model, without = RunDir.at(place).model, RunDir.at(Path(folder) / "0.0").model
                    found[share].append(points_against_yardstick(game, model))
                    beside = head_to_head(game, model, without) if share and without.exists() else 0.5
                    points = f"{found[share][-1]:>10.3f} {beside:>13.3f}"
                    print(f"{game:<13} {share:>12.2f} {seed:>5} {points} {decisions:>10}", flush=True)
        for share, values in found.items():
            print(f"{game:<13} {share:>12.2f}  mean {statistics.fmean(values):>9.3f}", flush=True)


if __name__ == "__main__":
    main()
