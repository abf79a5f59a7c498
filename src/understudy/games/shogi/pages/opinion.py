"""The moves that the model of a run prefers in a shogi position. Needs the extra `shogi`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from understudy.errors import ModelDamaged, ModelError
from understudy.files.npz import read_npz
from understudy.games.shogi.batch import SHAPE, observe
from understudy.games.shogi.rules import ShogiGame
from understudy.games.shogi.thoughts import Thought, thought_of
from understudy.models.state import MAX_BYTES
from understudy.rundir import RunDir

Evaluate = Callable[[NDArray[np.float32]], tuple[NDArray[np.float32], NDArray[np.float32]]]


def evaluator_of(run: RunDir) -> Evaluate | None:
    """The published model of a run as an evaluator; None if it is not a shogi network."""
    if not _is_shogi(run.model):
        return None
    from understudy.games.shogi.checkpoint import load_checkpoint  # noqa: PLC0415 - torch takes seconds to load
    from understudy.games.shogi.inference import torch_evaluator, with_potential  # noqa: PLC0415

    try:
        checkpoint = load_checkpoint(run.model)
    except ModelError:
        return None
    evaluate = torch_evaluator(checkpoint.network)
    return with_potential(evaluate) if checkpoint.shaped else evaluate


def _is_shogi(path: Path) -> bool:
    """Whether a model file holds a residual network, by its description, so torch is loaded only if needed."""
    try:
        meta = json.loads(read_npz(path, max_bytes=MAX_BYTES, error=ModelDamaged, wanted=("meta",))["meta"].item())
        return "kind" in meta or meta["network"]["policy"] == "resnet"
    except (ModelDamaged, OSError, KeyError, TypeError, ValueError):
        return False


def opinion(evaluate: Evaluate, sfen: str) -> Thought:
    """A network's policy and value for a position, without search."""
    game = ShogiGame(sfen)
    planes = np.empty((1, *SHAPE), np.float32)
    observe([game], planes)
    logits, wdl = evaluate(planes)
    return thought_of(game, logits[0], wdl[0])
