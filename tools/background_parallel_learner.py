"""The learner, as the first documents import it: `from tools.background_parallel_learner import …`."""

from __future__ import annotations

from understudy.learner.process import BackgroundParallelLearner

__all__ = ["BackgroundParallelLearner"]
