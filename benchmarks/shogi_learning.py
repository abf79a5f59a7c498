"""How fast does shogi learn by self-play? Trains for so much processor time in one process, and compares policies.

    python benchmarks/shogi_learning.py train one --minutes 3
    python benchmarks/shogi_learning.py train other --minutes 3 --set training.target_kl=0.02
    python benchmarks/shogi_learning.py match one/at3.npz other/at3.npz --games 300

Other work on the machine makes a training later, not weaker. It saves `at3.npz` after three minutes, and so on for all
of `--marks`. In a match pairs of games with exchanged colours begin with four random moves. Moves are drawn at
temperature 1/2, a mate in three moves or fewer is played, and a game of 300 moves is a draw.
"""

from __future__ import annotations

import argparse
import json
import shutil
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from understudy.acting.sampling import draw_all
from understudy.games.shogi.league import ShogiLeague
from understudy.games.shogi.matches import MOST_LEGAL, ShogiMatches, write_states
from understudy.games.shogi.players import OPENING_MOVES, POLICY_TEMPERATURE
from understudy.games.shogi.rules import ShogiGame, opened, short_mate
from understudy.games.shogi.score import ContestScore
from understudy.models.live import LiveModel
from understudy.models.state import read_model
from understudy.models.store import ModelStore
from understudy.networks.network import Network
from understudy.parallel.loop import TrainingLoopManager
from understudy.parallel.loop_stats import LoopStats
from understudy.parallel.rollout import Rollout
from understudy.run.lock import StopRequest
from understudy.rundir import RunDir
from understudy.settings import ParallelSettings, Settings

_MOVES = 300


def train(folder: Path, minutes: float, marks: Sequence[float], given: Mapping[str, dict[str, Any]], seed: int) -> None:
    """One run, which says twice a minute how it goes."""
    run = RunDir.at(folder)
    run.create()
    parallel = {**ShogiLeague.settings["parallel"], "num_workers": 2, "learner_threads": 1}
    began, told = time.process_time(), 0.0

    def look(stats: LoopStats, _: Sequence[Rollout]) -> None:
        nonlocal told
        used = (time.process_time() - began) / 60
        if used >= told + 0.5 and stats.last is not None:
            told = used
            print(
                f"{used:5.1f} min {stats.decisions:>9,} decisions {stats.games:>6,} games, KL {stats.last.kl:.4f}, "
                f"entropy {stats.last.entropy:.2f}, share of the learning rate {loop.model.trainer.adjusted.rate:.2f}",
                flush=True,
            )
        if used >= mark:
            request.stop()

    store = ModelStore(run.model, run.ledger)
    settings = Settings(parallel=ParallelSettings(**parallel))
    loop = TrainingLoopManager(f"shogi:{run.versions}", settings, given, store=store, seed=seed, on_update=look)
    for mark in sorted({*marks, minutes}):
        request = StopRequest()
        loop.run(request)  # publishes at its end, and goes on from there
        shutil.copy(run.model, folder / f"at{mark:g}.npz")


def match(one: Path, other: Path, games: int, seed: int) -> ContestScore:
    """The score of the first model's policy; all games go on side by side."""
    networks = _network(one), _network(other)
    rng = np.random.default_rng(seed)
    openings = [opened(rng, OPENING_MOVES).moves for _ in range(-(-games // 2))]
    played = []
    for number in range(games):
        played.append(ShogiGame(max_moves=_MOVES))
        for move in openings[number // 2]:
            played[-1].push(move)
    while any(game.result is None for game in played):
        for side, network in enumerate(networks):  # the first model is Black in even games
            theirs = [g for i, g in enumerate(played) if g.result is None and g.turn ^ (i & 1) == side]
            for game, move in zip(theirs, _moves(network, theirs, rng), strict=True):
                game.push(short_mate(game) or move)
    results = [game.result.for_player(i & 1) for i, game in enumerate(played) if game.result is not None]
    return ContestScore(results.count(1), results.count(0), results.count(-1))


def _network(path: Path) -> Network:
    return LiveModel(read_model(path)).network


def _moves(network: Network, games: Sequence[ShogiGame], rng: np.random.Generator) -> list[int]:
    if not games:
        return []
    states = np.empty((len(games), ShogiMatches.state_dim), np.float32)
    write_states(games, states)
    logits, _ = network.evaluate(states)
    counts = np.array([len(game.legal_moves) for game in games])
    places, _ = draw_all(logits / POLICY_TEMPERATURE, np.arange(MOST_LEGAL) < counts[:, None], 0.0, rng)
    return [game.legal_moves[place] for game, place in zip(games, places.tolist(), strict=True)]


def _given(texts: Sequence[str]) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {"network": {}, "training": {}}
    for text in texts:
        name, _, value = text.partition("=")
        section, _, key = name.partition(".")
        found[section][key] = json.loads(value)
    return found


def main() -> None:
    """Train or play, as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True, dest="command")
    training = commands.add_parser("train")
    training.add_argument("folder", type=Path)
    training.add_argument("--minutes", type=float, default=8.0, help="of processor time")
    training.add_argument("--marks", type=float, nargs="*", default=[], help="minutes after which a model is saved")
    training.add_argument("--set", nargs="*", default=[], metavar="training.NAME=VALUE", help="other settings")
    training.add_argument("--seed", type=int, default=0)
    playing = commands.add_parser("match")
    playing.add_argument("one", type=Path)
    playing.add_argument("other", type=Path)
    playing.add_argument("--games", type=int, default=300)
    playing.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    if options.command == "train":
        train(options.folder, options.minutes, options.marks, _given(options.set), options.seed)
    else:
        score = match(options.one, options.other, options.games, options.seed)
        print(f"{options.one} against {options.other}: {score}")


if __name__ == "__main__":
    main()
