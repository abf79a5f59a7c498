"""Does training work? Trains a small shogi game, then tests it against solved positions and opponents.

Animal shogi is solved: `tools/solve_animal_shogi.py --write FILE` writes positions with the moves that keep their
value.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from understudy.errors import SettingsError
from understudy.flags import count, count_or_zero, duration
from understudy.games.shogi.score import ContestScore
from understudy.games.shogi.small.players import NetworkPlayer, SmallPlayer, play_match
from understudy.games.shogi.small.rules import SmallGame, SmallPosition
from understudy.games.shogi.small.search import Evaluate, evaluator_of
from understudy.games.shogi.small.variant import ANIMAL, MINI, Variant
from understudy.games.shogi.small.yardsticks import opponent, yardsticks
from understudy.models.intervals import wilson
from understudy.models.rating_table import show
from understudy.models.ratings import PairResults, fit

GOAL = 0.95
"""The share of solved positions of animal shogi in which a move with search must keep the value."""
_LOST = 0.1  # share of points below which the next, stronger opponent is skipped
_POLICY_TEMPERATURE = 0.25
_SAY_SECONDS = 30.0


class SolvedPosition(NamedTuple):
    """A position of animal shogi, its value for the player to move (1 or 0), and the moves that keep it."""

    position: SmallPosition
    value: int
    plies: int | None
    """Plies to the end, if it is won and both play best."""
    keep: frozenset[int]


def solved_positions(path: Path) -> list[SolvedPosition]:
    """Positions from a file of the solver, in each of which some moves lose value; SettingsError if the file is not
    valid.
    """
    try:
        rows = json.loads(path.read_text("utf-8"))
        return [
            SolvedPosition(
                SmallPosition(tuple(row["board"]), tuple(row["hands"])),
                row["value"],
                row["plies"],
                frozenset(row["keep"]),
            )
            for row in rows
        ]
    except OSError as error:
        raise SettingsError(f"{path} cannot be read: {error.strerror}.") from error
    except (ValueError, KeyError, TypeError) as error:
        raise SettingsError(f"{path} has no solved positions of animal shogi.") from error


def share_kept(evaluate: Evaluate, nodes: int, positions: Sequence[SolvedPosition]) -> int:
    """The number of positions in which a player chooses a move that keeps the value."""
    player = NetworkPlayer(evaluate, nodes)
    return sum(player.choose(SmallGame(ANIMAL, solved.position)) in solved.keep for solved in positions)


def train(variant: Variant, folder: Path, minutes: float, seed: int, say: Callable[[str], None]) -> Path:
    """Train an untrained model in this process for some minutes of CPU time; returns the path of the model."""
    from understudy.games.game import default_settings  # noqa: PLC0415
    from understudy.models.store import ModelStore  # noqa: PLC0415 - needed only by a training run
    from understudy.parallel.loop import TrainingLoopManager  # noqa: PLC0415
    from understudy.parallel.loop_stats import LoopStats  # noqa: PLC0415
    from understudy.run.lock import StopRequest  # noqa: PLC0415
    from understudy.rundir import RunDir  # noqa: PLC0415
    from understudy.settings import ParallelSettings, Settings  # noqa: PLC0415

    run, request, began, said = RunDir.at(folder), StopRequest(), time.process_time(), 0.0
    run.create()
    if run.model.exists():
        raise SettingsError(
            f"There is a model in {folder} already; the check starts with an untrained model: name a new folder."
        )

    def on_update(stats: LoopStats, _rollouts: object) -> None:
        nonlocal said
        used = time.process_time() - began
        if used - said >= _SAY_SECONDS:
            said = used
            say(f"{used / 60:5.1f} min  {stats.decisions:>9,} decisions  {stats.games:>7,} games")
        if used >= 60 * minutes:
            request.stop()

    parallel = ParallelSettings(**default_settings(variant.name)["parallel"])
    TrainingLoopManager(
        variant.name,
        Settings(parallel=parallel),
        store=ModelStore(run.model, run.ledger),
        seed=seed,
        status=run.status,
        on_update=on_update,
    ).run(request)
    return run.model


def measure(
    variant: Variant, evaluate: Evaluate, nodes: Sequence[int], games: int, say: Callable[[str], None]
) -> dict[tuple[str, str], ContestScore]:
    """Play matches against the yardsticks, and rate all players in one list, in which the random player has 0."""
    scores: dict[tuple[str, str], ContestScore] = {}
    for number in nodes:
        ours: SmallPlayer = NetworkPlayer(evaluate, number, _POLICY_TEMPERATURE, np.random.default_rng(number))
        name = f"{number} nodes" if number else "policy"
        for rival in yardsticks(variant):
            with opponent(variant, rival, np.random.default_rng(1)) as theirs:
                score = play_match(variant, ours, theirs, games, np.random.default_rng(0))
            scores[name, rival] = score
            say(f"{name} against {rival}: {score}")
            if score.share < _LOST:
                break
    results = [PairResults(*pair, score.wins, score.draws, score.losses) for pair, score in scores.items()]
    ratings = fit(results, {"random": 0.0})
    show(ratings, {row.player for row in ratings.table}, say)
    return scores


def add_animal_check(commands: Any) -> None:
    """Add the command to an argparse parser."""
    _add(commands, ANIMAL, "animal-check", "train animal shogi from scratch, then test its moves")


def add_mini_check(commands: Any) -> None:
    """Add the command to an argparse parser."""
    _add(commands, MINI, "mini-check", "train minishogi from scratch, then play fairy-stockfish")


def _add(commands: Any, variant: Variant, name: str, about: str) -> None:
    check = commands.add_parser(name, help=about)
    check.add_argument("--run-dir", type=Path, metavar="RUN_DIR", help="a new folder (default: a temporary folder)")
    check.add_argument("--model", type=Path, metavar="MODEL", help="measure this model instead of training one")
    check.add_argument("--minutes", type=duration, default=5.0, metavar="M", help="minutes of CPU time for training")
    check.add_argument(
        "--nodes",
        type=count_or_zero,
        nargs="+",
        default=[0, 200, 800],
        metavar="N",
        help="nodes of searches; 0 = no search",
    )
    check.add_argument("--games", type=count, default=40, metavar="N", help="games of each match")
    if variant is ANIMAL:
        check.add_argument(
            "--solved", type=Path, metavar="FILE", help="solved positions, from tools/solve_animal_shogi.py --write"
        )
    check.add_argument("--seeds", "--seed", type=count_or_zero, nargs="+", default=[0], metavar="N", help="seeds")
    check.set_defaults(run=partial(_run, variant))


def _run(variant: Variant, options: argparse.Namespace) -> int:
    return max(_run_seed(variant, options, seed) for seed in options.seeds)


def _run_seed(variant: Variant, options: argparse.Namespace, seed: int) -> int:
    def say(line: str) -> None:
        print(line, flush=True)

    given = getattr(options, "solved", None)
    solved = solved_positions(given) if given else []
    if options.model is None:
        folder = options.run_dir or Path(tempfile.mkdtemp(prefix=f"{variant.name}_"))
        say(f"Training {variant.title} from an untrained model in {folder}, {options.minutes:g} minutes of CPU time.")
        model = train(variant, folder, options.minutes, seed, say)
    else:
        model = options.model
    evaluate = evaluator_of(model)
    reached = True
    if solved:
        reached = _compare(evaluate, options.nodes, solved, say)
    measure(variant, evaluate, options.nodes, options.games, say)
    say(f"The model is {model}.")
    return 0 if reached else 1


def _compare(
    evaluate: Evaluate, nodes: Sequence[int], positions: Sequence[SolvedPosition], say: Callable[[str], None]
) -> bool:
    """Print how often each player keeps the value; True if the largest search does so in enough positions."""
    kept = 0
    for number in nodes:
        kept = share_kept(evaluate, number, positions)
        low, high = wilson(kept, len(positions))
        say(
            f"{f'{number} nodes' if number else 'policy'}: keeps the value in {kept} of {len(positions)} solved "
            f"positions, {kept / len(positions):.1%} ({low:.1%} to {high:.1%})"
        )
    say(f"goal for {nodes[-1]} nodes: {GOAL:.0%}")
    return kept >= GOAL * len(positions)
