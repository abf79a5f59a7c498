"""The four checks that users of background training know, on a temporary run directory. Prints what it saw.

    python tools/test_background_training.py

A check that fails says why and ends the run with exit code 1.
"""

from __future__ import annotations

import math
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from understudy import BackgroundParallelLearner, Episode, EpisodeMeta, RLAgent, Settings, read_episode, write_episode
from understudy.models.state import read_model

STATE_DIM = 50
ACTIONS = ("ECONOMY", "AGGRESSIVE", "DEFENSIVE", "TECH", "ALL_IN")


class CheckFailed(Exception):
    """A check did not hold."""


def expect(holds: bool, what: str) -> None:
    """Print what was checked, or end the check."""
    if not holds:
        raise CheckFailed(what)
    print(f"✓ {what}")


def dummy_game(seed: int, steps: int) -> dict[str, Any]:
    """A game of random states, with only the three required arrays."""
    rng = np.random.default_rng(seed)
    return {
        "states": rng.random((steps, STATE_DIM), np.float32),
        "actions": rng.integers(0, len(ACTIONS), steps),
        "rewards": rng.normal(0.1, 0.1, steps).astype(np.float32),
    }


def agent_in(folder: Path) -> RLAgent:
    """An agent that leaves learning to the learner."""
    return RLAgent(STATE_DIM, ACTIONS, run_dir=folder, online_training=False, seed=0)


def experience_save_and_load(folder: Path) -> None:
    """A game is saved, loaded, and is the same."""
    path = folder / "game_20260125_143022_Victory.npz"
    saved = Episode(**dummy_game(0, 30), meta=EpisodeMeta(result="Victory", ended_at=time.time()))
    write_episode(path, saved, compress=True)
    loaded = read_episode(path, Settings().storage)
    print(f"  - States shape: {loaded.states.shape}")
    print(f"  - Actions shape: {loaded.actions.shape}")
    print(f"  - Rewards shape: {loaded.rewards.shape}")
    print(f"  - Total reward: {loaded.rewards.sum():.2f}")
    for name in ("states", "actions", "rewards"):
        expect(np.array_equal(getattr(saved, name), getattr(loaded, name)), f"{name} came back as they were saved")
    with np.load(path, allow_pickle=False) as plain:
        expect(set(plain) >= {"states", "actions", "rewards"}, "np.load reads the file too")
    expect(loaded.meta.result == "Victory", "the result came back")


def batch_training(folder: Path) -> None:
    """Training changes the model, lowers what it should lower, and is saved."""
    agent = agent_in(folder)
    before = agent.export_arrays()["parameters"]
    stats = agent.train_from_batch([dummy_game(seed, 20) for seed in range(3)])
    print(f"  - Loss: {stats['loss']:.4f}")
    print(f"  - Total steps: {stats['total_steps']}")
    expect(stats["total_steps"] == 60 and math.isfinite(stats["loss"]), "3 games of 20 steps were trained on")
    expect(not np.array_equal(before, agent.export_arrays()["parameters"]), "the weights changed")
    expect(agent.save_model(), "the model was saved")
    on_disk = read_model(folder / "models" / "rl_agent_model.npz").arrays["parameters"]
    expect(np.array_equal(on_disk, agent.export_arrays()["parameters"]), "the file holds those weights")
    expect(agent_in(folder).model_version == 2, "another agent loads it as version 2")


def learner_processing(folder: Path) -> None:
    """Games in the buffer are learned from, archived, and become a new model version."""
    agent_in(folder)
    buffer, archive = folder / "data" / "buffer", folder / "data" / "archive"
    for seed in range(5):
        np.savez(buffer / f"game_20260125_14300{seed}_Victory.npz", **dummy_game(seed, 25))
    expect(len(list(buffer.glob("*.npz"))) == 5, f"5 games wait in {buffer}")
    learner = BackgroundParallelLearner(run_dir=folder, verbose=False)
    learner.start()
    stats = learner.stop(drain=True)
    print(f"  - Files processed: {stats['files_processed']}")
    print(f"  - Batches trained: {stats['batches_trained']}")
    print(f"  - Total samples: {stats['total_samples']}")
    print(f"  - Avg loss: {stats['avg_loss']:.4f}")
    expect(stats["files_processed"] == 5 and stats["total_samples"] == 125, "all 5 games were learned from, once")
    expect(stats["errors"] == 0 and stats["files_rejected"] == 0, "no errors, nothing rejected")
    expect(len(list(archive.glob("*.npz"))) == 5, "5 games are in the archive")
    expect(not list(buffer.glob("*.npz")), "no game is left in the buffer")
    expect(agent_in(folder).model_version == stats["model_version"] > 1, "a bot loads the new model")


def learner_lifecycle(folder: Path) -> None:
    """The learner starts, says what it does, stops, and starts again, one process at a time."""
    agent_in(folder)
    learner = BackgroundParallelLearner(run_dir=folder, verbose=False)
    expect(learner.start(), "the learner started")
    expect(learner.running, "its process is alive")
    stats = learner.get_stats()
    for name in ("files_processed", "batches_trained", "errors", "state"):
        print(f"  - {name}: {stats[name]}")
    expect(stats["files_processed"] == 0 and stats["errors"] == 0, "it has done nothing yet")
    learner.stop()
    expect(not learner.running and learner.get_stats()["state"] == "stopped", "the learner stopped")
    expect(learner.start(), "it can be started again")
    learner.stop()
    expect(not learner.running, "and stopped again")


CHECKS: dict[str, Callable[[Path], None]] = {
    "Experience Data Save/Load": experience_save_and_load,
    "RLAgent Batch Training": batch_training,
    "Background Learner Processing": learner_processing,
    "Background Learner Lifecycle": learner_lifecycle,
}


def main() -> int:
    """Run the checks in order and stop at the first that fails."""
    start = time.perf_counter()
    print("=" * 70, "  BACKGROUND TRAINING SYSTEM - TEST SUITE", "=" * 70, sep="\n")
    for number, (title, check) in enumerate(CHECKS.items(), 1):
        print("", "=" * 60, f"TEST {number}: {title}", "=" * 60, sep="\n")
        with tempfile.TemporaryDirectory(prefix="understudy-check-") as folder:
            try:
                check(Path(folder))
            except CheckFailed as failure:
                print(f"✗ {failure}: this does not hold\n✗ Test {number} FAILED")
                return 1
        print(f"✓ Test {number} PASSED")
    print("", "=" * 70, "  ALL TESTS PASSED ✓", f"  Total time: {time.perf_counter() - start:.2f}s", "=" * 70, sep="\n")
    return 0


if __name__ == "__main__":
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")  # a console without ✓ shows ? instead
    sys.exit(main())
