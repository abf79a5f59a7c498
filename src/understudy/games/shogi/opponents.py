"""Players by their names on the command line; what a player needs is imported when it is made."""

from __future__ import annotations

import argparse
import os
import re
import shlex
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from understudy.errors import SettingsError
from understudy.games.shogi.clock import TOLERANCE, Clocks

if TYPE_CHECKING:
    from understudy.games.shogi.inference import Evaluator
    from understudy.games.shogi.players import ShogiPlayer

_MATE_NODES = 10_000
"""Positions searched for a mate before each search, as in the engine."""
WHO = (
    "random, greedy, a checkpoint (.npz, or .npz@NODES), fairy-stockfish or gnushogi if it is installed, or "
    "usi:COMMAND for any USI engine"
)


def make_player(
    who: str,
    options: argparse.Namespace,
    seed: int,
    stack: ExitStack,
    clocks: Clocks | None = None,
    seat: int = 1,
) -> ShogiPlayer:
    """The player with this name, with the command line's `--nodes`, `--go` and `--option`; `stack` ends engines.

    `seat` is 1 or 2, for the first and the second player of a match.
    """
    import numpy as np

    from understudy.games.shogi.players import GreedyPlayer, RandomPlayer
    from understudy.games.shogi.usi_client import UsiPlayer
    from understudy.games.shogi.usi_process import find_engines

    if who == "random":
        return RandomPlayer(np.random.default_rng(seed))
    if who == "greedy":
        return GreedyPlayer(np.random.default_rng(seed))
    engines = find_engines()
    if who in engines or who.startswith("usi:"):
        command = engines[who] if who in engines else shlex.split(who.removeprefix("usi:"), posix=os.name == "posix")
        tolerance = getattr(options, "tolerance", TOLERANCE)
        engine = UsiPlayer(command, clocks or options.go, engine_options(options.option, seat), tolerance=tolerance)
        return stack.enter_context(engine)
    path, _, nodes = who.rpartition("@")
    if path.endswith(".npz") and nodes.isdecimal():
        return network_player(Path(path), int(nodes), seed)
    if who.endswith(".npz"):
        return network_player(Path(who), options.nodes, seed)
    raise SettingsError(f"There is no player {who!r}; a player is {WHO}.")


def is_engine(who: str) -> bool:
    """Whether this player is a program that speaks USI."""
    from understudy.games.shogi.usi_process import find_engines

    return who.startswith("usi:") or who in find_engines()


def engine_player(who: str, options: argparse.Namespace, stack: ExitStack, clocks: Clocks) -> ShogiPlayer:
    """As `make_player`, but a checkpoint becomes a separate engine that manages its time by the clocks."""
    from understudy.games.shogi.usi_client import UsiPlayer

    if not who.endswith(".npz"):
        return make_player(who, options, 0, stack, clocks)
    load_for_its_errors(Path(who))
    command = [sys.executable, "-m", "understudy.games.shogi", "usi", who]
    return stack.enter_context(UsiPlayer(command, clocks, engine_options(options.option, 1)))


def load_for_its_errors(path: Path) -> None:
    """Load a checkpoint here so that its errors are reported here, not in the engine that would load it."""
    from understudy.games.shogi.checkpoint import load_checkpoint

    load_checkpoint(path)


def engine_options(texts: list[str], seat: int) -> dict[str, str]:
    """The options NAME=VALUE for the engine in this seat: those for every engine, and those with its number."""
    if bad := [text for text in texts if "=" not in text]:
        raise SettingsError(f"--option {bad[0]}: an option is written NAME=VALUE.")
    found = (re.fullmatch(r"(?:([12]):)?(.*?)=(.*)", text, re.DOTALL) for text in texts)
    return {match[2]: match[3] for match in found if match and match[1] in (None, str(seat))}


def level_player(who: str, number: int) -> ShogiPlayer:
    """A checkpoint that plays at one of the levels of strength."""
    import numpy as np

    from understudy.games.shogi.levels import LEVELS
    from understudy.games.shogi.players import SearchPlayer

    if not who.endswith(".npz"):
        raise SettingsError(f"--level is for checkpoints (.npz); {who} is not one.")
    level = LEVELS[number - 1]
    evaluate = network_evaluator(Path(who), batch=1)
    name = f"{Path(who).stem}, level {number}"
    return SearchPlayer(evaluate, level.nodes, name, temperature=level.temperature, rng=np.random.default_rng())


def network_player(path: Path, nodes: int, seed: int) -> ShogiPlayer:
    """A checkpoint as a player: with search or, if `nodes` is 0, by its policy alone."""
    import numpy as np

    from understudy.games.shogi.mate import root_mate
    from understudy.games.shogi.players import POLICY_TEMPERATURE, PolicyPlayer, SearchPlayer
    from understudy.games.shogi.search import LEAVES, SearchSettings

    evaluate = network_evaluator(path, LEAVES if nodes else 1)
    name = f"{path.stem}, {nodes} nodes" if nodes else f"{path.stem}, policy"
    if nodes:
        return SearchPlayer(evaluate, nodes, name, SearchSettings(root_mate=root_mate(_MATE_NODES)))
    return PolicyPlayer(evaluate, POLICY_TEMPERATURE, np.random.default_rng(seed), name)


def network_evaluator(path: Path, batch: int) -> Evaluator:
    """The network of a checkpoint, with the fastest backend for this batch size."""
    import torch

    from understudy.games.shogi.checkpoint import load_checkpoint
    from understudy.games.shogi.inference import make_evaluator, with_potential

    torch.set_num_threads(1)
    checkpoint = load_checkpoint(path)
    evaluate, about = make_evaluator(checkpoint.network, batch=batch)
    print(f"{path}: {about}", file=sys.stderr)
    return with_potential(evaluate) if checkpoint.shaped else evaluate
