"""What each compiled kernel adds to a whole job: self-play with learning, in one process, on one thread.

The job runs with all kernels, without one of them at a time, and without any. All variants take turns in one run. A
kernel that does not make the whole job 1.3 times as fast should be removed.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Mapping

from measure import Row, quantile, run_alone, take_turns
from understudy.games.game import open_game
from understudy.kernels import updates
from understudy.models.live import Interface, LiveModel, new_model
from understudy.parallel.player import PlayerSpec
from understudy.parallel.rollout import RolloutShape, as_batch
from understudy.parallel.sequential import SequentialWorkers
from understudy.settings import NetworkSettings, ParallelSettings, TrainingSettings

LEAST = 1.3  # times as fast as without the kernel
ROUNDS = 9
TOWER = NetworkSettings(policy="resnet", blocks=2, channels=32)


class TrainingJob:
    """One round plays `matches` × `steps` decisions, learns from them, and hands the new weights to the player."""

    def __init__(self, game: str, matches: int, steps: int, network: NetworkSettings, minibatch: int) -> None:
        self.decisions = matches * steps
        opened = open_game(game, matches)
        settings = ParallelSettings(enabled=False, num_workers=1, games_per_worker=matches, batch_size=self.decisions)
        shape = RolloutShape.of(opened, settings)
        training = TrainingSettings(
            epochs=4, minibatch=minibatch, target_kl=0.0, exploration=0.0, normalize_states=opened.players == 1
        )
        interface = Interface(opened.state_dim, opened.actions)
        opened.close()
        self.model = LiveModel(new_model(interface, network, training, 0))
        spec = PlayerSpec(game, matches, self.model.base.spec, training.normalize_states, 0, 1000)
        self.workers = SequentialWorkers(spec, shape, settings)
        self.workers.start_workers(self.model)

    def __call__(self) -> list[float]:
        start = time.perf_counter()
        rollouts = self.workers.collect_experiences()
        trainer = self.model.trainer
        trainer.update_batch(as_batch(rollouts, trainer.updates))
        self.workers.sync_model_if_needed(self.model, force=True)
        return [(time.perf_counter() - start) / self.decisions]


def drift(*kernels: str) -> TrainingJob:
    """An MLP that plays Drift, with some of the kernels of an update."""
    job = TrainingJob("drift", 64, 128, NetworkSettings(), 256)
    trainer = job.model.trainer
    if "layers" in kernels:
        trainer.network.compile()
    if "objective" in kernels:
        trainer._compiled_objective = updates.ppo_objective
    if "Adam" in kernels:
        trainer.adam.move = updates.adam_step
    return job


def shogi(*kernels: str) -> TrainingJob:
    """A tower that plays shogi, with or without the compiled convolutions."""
    job = TrainingJob("shogi", 64, 32, dataclasses.replace(TOWER, backend="compiled" if kernels else "torch"), 512)
    job.model.network.use_threads(1)
    return job


JOBS: Mapping[str, tuple[Callable[..., TrainingJob], tuple[str, ...]]] = {
    "MLP, Drift": (drift, ("layers", "objective", "Adam")),
    "2 × 32 tower, shogi": (shogi, ("Winograd",)),
}


def measure() -> list[Row]:
    """Thousand decisions a second, played and learned from."""
    rows = []
    for what, (job, kernels) in JOBS.items():
        variants = {"plain": job(), "all": job(*kernels)}
        for name in kernels:
            variants[name] = job(*(other for other in kernels if other != name))
        results = take_turns(variants, ROUNDS)
        speed = {name: 1e-3 / quantile([r[0] for r in rounds], 0.5) for name, rounds in results.items()}
        rows.append(Row(f"{what}, all kernels", speed["all"], "k/s", "no kernel", speed["plain"], factor=LEAST))
        rows += [
            Row(f"{what}, all kernels", speed["all"], "k/s", f"without {name}", speed[name], factor=LEAST)
            for name in kernels
        ]
    return rows


if __name__ == "__main__":
    run_alone("Kernels: what each adds to self-play with learning", measure)
