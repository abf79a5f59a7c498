"""One definition of each metric, for charts, the terminal, Prometheus, exports and docs/metrics.md."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator

from understudy.games.spec import registered_games, resolve
from understudy.watch.learning_metrics import LEARNING_METRICS
from understudy.watch.metric import GROUPS, Metric
from understudy.watch.running_metrics import RUNNING_METRICS

__all__ = ["GROUPS", "Metric", "all_metrics", "markdown"]


@functools.cache
def all_metrics() -> dict[str, Metric]:
    """All metrics by name: the core's, then those of registered games."""
    of_games = (resolve(spec.metrics) for spec in registered_games().values() if spec.metrics is not None)
    return {metric.name: metric for metric in itertools.chain(LEARNING_METRICS, RUNNING_METRICS, *of_games)}


def markdown() -> Iterator[str]:
    """The lines of docs/metrics.md."""
    yield "# Metrics"
    yield ""
    yield "Written by `tools/write_metrics_doc.py` from `src/understudy/watch/metrics.py`; the dashboard shows the same"
    yield "texts. Prometheus gets those that are a single number for a run, each name with `understudy_` before it."
    yield ""
    yield "Normal ranges are the middle nine tenths of the 57 updates of one run of"
    yield "`python examples/cartpole.py --seed 0`. Other games have other ranges; sudden changes matter more than"
    yield "levels."
    metrics = all_metrics().values()
    for group in dict.fromkeys([*GROUPS, *(metric.group for metric in metrics)]):
        yield ""
        yield f"## {GROUPS.get(group, group)}"
        for metric in metrics:
            if metric.group == group:
                unit = f", in {metric.unit}" if metric.unit else ""
                yield ""
                yield f"### {metric.title} (`{metric.name}`{unit})"
                yield ""
                yield metric.what
                yield ""
                yield f"- Normal: {metric.normal}"
                yield f"- If not: {metric.otherwise}"
