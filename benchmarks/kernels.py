"""What each hand-written kernel adds to a whole job: self-play with learning, in one process, on one thread.

The job with the kernel and the job with the plain path take turns in one run. A kernel that does not make the whole job
1.3 times as fast should be removed.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from measure import Row, quantile, run_alone, take_turns
from understudy.games.game import open_game
from understudy.models.live import Interface, LiveModel, new_model
from understudy.parallel.player import PlayerSpec
from understudy.parallel.rollout import RolloutShape, as_batch
from understudy.parallel.sequential import SequentialWorkers
from understudy.settings import NetworkSettings, ParallelSettings, TrainingSettings

LEAST = 1.3  # times as fast as the plain path
ROUNDS = 9


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
        start = time.process_time()  # of the processor: other programs take turns with this one
        rollouts = self.workers.collect_experiences()
        trainer = self.model.trainer
        trainer.update_batch(as_batch(rollouts, trainer.updates))
        self.workers.sync_model_if_needed(self.model, force=True)
        return [(time.process_time() - start) / self.decisions]


def tower(blocks: int, channels: int) -> Callable[[str], TrainingJob]:
    """A job that plays and learns shogi with a tower of this size, by backend."""

    def job(backend: str) -> TrainingJob:
        network = NetworkSettings(policy="resnet", blocks=blocks, channels=channels, backend=backend)  # type: ignore[arg-type]
        made = TrainingJob("shogi", 64, 32, network, 512)
        made.model.network.use_threads(1)
        made.model.network.compile()
        return made

    return job


JOBS = {"2 × 32 tower": tower(2, 32), "4 × 64 tower": tower(4, 64)}


def measure() -> list[Row]:
    """Thousand decisions per second of processor time, played and learned from."""
    rows = []
    for what, job in JOBS.items():
        results = take_turns({backend: job(backend) for backend in ("compiled", "torch")}, ROUNDS)
        speed = {name: 1e-3 / quantile([r[0] for r in rounds], 0.5) for name, rounds in results.items()}
        rows.append(Row(f"Winograd, shogi, {what}", speed["compiled"], "k/s", "torch", speed["torch"], factor=LEAST))
    return rows


if __name__ == "__main__":
    run_alone("Kernels: what each adds to self-play with learning", measure)
