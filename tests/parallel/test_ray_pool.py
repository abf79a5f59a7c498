"""Ray as the backend; skipped where Ray is not installed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from parallel.small import settings
from understudy.errors import SettingsError
from understudy.parallel.loop import LoopStats, TrainingLoopManager
from understudy.parallel.rollout import Rollout

try:
    import ray
except ImportError:
    ray = None


@pytest.mark.skipif(ray is None, reason="Ray is not installed")
@pytest.mark.filterwarnings("ignore")  # of Ray's own making
def test_synchronous_actors_play_what_the_sequential_mode_plays_and_dead_ones_are_replaced() -> None:
    def run(backend: str, enabled: bool, kill_at: int | None = None) -> tuple[list[Rollout], LoopStats]:
        seen: list[Rollout] = []

        def on_update(stats: LoopStats, rollouts: Sequence[Rollout]) -> None:
            seen.extend(rollout.copy() for rollout in rollouts)
            if stats.updates == kill_at:
                ray.kill(loop.workers._actors[1])  # type: ignore[union-attr]

        chosen = settings(enabled=enabled, backend=backend, num_workers=2, max_staleness=0)
        loop = TrainingLoopManager("tictactoe", chosen, seed=3, on_update=on_update)
        return seen, loop.run(updates=4)

    played, _ = run("local", enabled=False)
    by_actors, stats = run("ray", enabled=True)
    assert stats.mode == "parallel"
    assert len(played) == len(by_actors) == 8
    for mine, theirs in zip(played, by_actors, strict=True):
        np.testing.assert_array_equal(mine.header, theirs.header)
        np.testing.assert_array_equal(mine.actions, theirs.actions)
        np.testing.assert_array_equal(mine.log_probs, theirs.log_probs)

    survived, stats = run("ray", enabled=True, kill_at=2)
    assert stats.restarts == 1
    assert [(r["worker"], r["incarnation"], r["number"]) for r in survived[-4:]] == [
        (0, 0, 2),
        (1, 1, 0),
        (0, 0, 3),
        (1, 1, 1),
    ]


@pytest.mark.skipif(ray is not None, reason="Ray is installed")
def test_without_ray_the_error_says_what_to_install() -> None:
    with pytest.raises(SettingsError, match=r"understudy\[ray\]"):
        TrainingLoopManager("tictactoe", settings(enabled=True, backend="ray")).run(updates=1)
