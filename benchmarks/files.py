"""Files: a game of 300 × 50 and a model, written so that a power cut leaves the old or the new one, and read again.

The peer for games is np.savez_compressed into a temporary file, fsync and rename, of states, actions and rewards only.
Understudy's file also holds log-probabilities, values and meta, and is checked when written and when read. The peer for
models is torch.save of the same weights and optimizer state. Peers sync the file, and for the same promise the folder:
without that, a power cut can take the new name away. What that costs depends on the disk, and is shown apart.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import torch

from games import ACTIONS, STATE_DIM, random_game
from measure import Row, run_alone, take_turns, timed, typical
from peers import TorchTrainer
from understudy import Episode, ModelStore, RLAgent, read_episode, write_episode
from understudy.ledger.connection import Ledger
from understudy.models.live import LiveModel
from understudy.models.state import read_model
from understudy.rundir import RunDir
from understudy.settings import StorageSettings

TITLE = "Files"
ROUNDS = 60
CALLS = 3

Turn = Callable[[], Sequence[float]]


def rows() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        return [*_games(Path(folder)), *_models(Path(folder))]


def _games(folder: Path) -> list[Row]:
    game = random_game(np.random.default_rng(0))
    compressed, plain, peer = folder / "compressed.npz", folder / "plain.npz", folder / "peer.npz"
    limits = StorageSettings()
    results = take_turns(
        {
            "save": _turn(lambda: write_episode(compressed, game, compress=True)),
            "peer save": _turn(lambda: _save_with_numpy(peer, game)),
            "save plain": _turn(lambda: write_episode(plain, game, compress=False)),
            "peer save, file synced": _turn(lambda: _save_with_numpy(peer, game, sync_folder=False)),
            "load": _turn(lambda: read_episode(compressed, limits)),
            "peer load": _turn(lambda: _load_with_numpy(peer)),
            "load plain": _turn(lambda: read_episode(plain, limits)),
        },
        ROUNDS,
    )
    ms = {name: 1e3 * typical(rounds) for name, rounds in results.items()}
    size = {path: float(path.stat().st_size) for path in (compressed, plain, peer)}
    numpy, fewer = "savez_compressed, fsync, rename", "savez_compressed, fewer arrays"
    return [
        Row("save a game, compressed", ms["save"], "ms", f"{numpy}, fsync", ms["peer save"], factor=1),
        Row("save a game, not compressed", ms["save plain"], "ms", f"{numpy}, fsync", ms["peer save"], factor=1),
        Row("save a game, compressed", ms["save"], "ms", numpy, ms["peer save, file synced"]),
        Row("load a game, compressed", ms["load"], "ms", "np.load, fewer arrays", ms["peer load"]),
        Row("load a game, not compressed", ms["load plain"], "ms", "np.load, fewer arrays", ms["peer load"], factor=1),
        Row("size of a game, compressed", size[compressed], "B", fewer, size[peer]),
        Row("size of a game, not compressed", size[plain], "B", fewer, size[peer]),
    ]


def _models(folder: Path) -> list[Row]:
    run = RunDir.at(folder / "run")
    elsewhere, peer = folder / "model.npz", folder / "model.pt"
    weights = _torch_state()
    with RLAgent(STATE_DIM, ACTIONS, run_dir=run.root, seed=0) as agent, Ledger(run.ledger):  # open, as by a learner
        store = ModelStore(run.model, run.ledger)
        model = LiveModel(store.load())
        results = take_turns(
            {
                "publish": _turn(lambda: model.publish(store, publisher="benchmark")),
                "save": _turn(lambda: agent.save_model(elsewhere)),
                "peer save": _turn(lambda: _atomically(peer, lambda stream: torch.save(weights, stream))),
                "load": _turn(lambda: read_model(elsewhere)),
                "peer load": _turn(lambda: torch.load(peer, weights_only=True)),
            },
            ROUNDS,
        )
    ms = {name: 1e3 * typical(rounds) for name, rounds in results.items()}
    saved = "torch.save, fsync, rename, fsync"
    return [
        Row("save a model to a file", ms["save"], "ms", saved, ms["peer save"], factor=1),
        Row("load a model", ms["load"], "ms", "torch.load", ms["peer load"], factor=1),
        Row("publish a model (2 files, ledger)", ms["publish"], "ms", saved, ms["peer save"]),
        Row("size of a model", float(elsewhere.stat().st_size), "B", "torch.save", float(peer.stat().st_size)),
    ]


def _turn(call: Callable[[], object]) -> Turn:
    return lambda: timed(lambda _: call(), range(CALLS))


def _save_with_numpy(path: Path, game: Episode, *, sync_folder: bool = True) -> None:
    arrays = {"states": game.states, "actions": game.actions, "rewards": game.rewards}
    _atomically(path, lambda stream: np.savez_compressed(stream, **arrays), sync_folder=sync_folder)  # type: ignore[arg-type]


def _load_with_numpy(path: Path) -> dict[str, Any]:
    with np.load(path) as arrays:
        return dict(arrays)


def _atomically(path: Path, write: Callable[[BinaryIO], object], *, sync_folder: bool = True) -> None:
    temporary = path.with_suffix(".tmp")
    with temporary.open("wb") as stream:
        write(stream)
        stream.flush()
        os.fsync(stream.fileno())
    temporary.replace(path)
    if sync_folder and os.name == "posix":  # Windows cannot, and understudy does not there
        descriptor = os.open(path.parent, os.O_RDONLY)
        os.fsync(descriptor)
        os.close(descriptor)


def _torch_state() -> dict[str, Any]:
    trainer = TorchTrainer()
    for parameter in trainer.network.parameters():
        parameter.grad = torch.zeros_like(parameter)
    trainer.adam.step()  # makes Adam's moments
    return {"network": trainer.network.state_dict(), "adam": trainer.adam.state_dict()}


if __name__ == "__main__":
    run_alone(TITLE, rows)
