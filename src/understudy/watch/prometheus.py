"""The text that Prometheus scrapes: the newest values of one or more runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from understudy.watch.health import judge
from understudy.watch.metrics import all_metrics
from understudy.watch.snapshot import RunSnapshot

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_LIGHTS = {"grey": 0, "green": 0, "amber": 1, "red": 2}
_OF_A_VERSION = (
    "loss",
    "policy_loss",
    "value_loss",
    "explained_variance",
    "entropy",
    "kl",
    "clip_fraction",
    "grad_norm",
    "learning_rate",
    "entropy_weight",
    "shortened",
    "staleness",
    "effective_sample_size",
    "mean_return",
    "seconds",
)

Sample = tuple[str, dict[str, str], float]


def exposition(runs: Sequence[RunSnapshot]) -> str:
    """The answer to GET /metrics; unknown values are left out."""
    found: dict[str, list[str]] = {}
    for seen in runs:
        for name, labels, value in samples(seen):
            label_text = ",".join(f'{key}="{_escaped(text)}"' for key, text in {"run": seen.run_dir, **labels}.items())
            found.setdefault(name, []).append(f"understudy_{name}{{{label_text}}} {value:.12g}")
    lines = []
    for metric in all_metrics().values():
        if metric.name in found:
            lines.append(f"# HELP understudy_{metric.name} {_one_line(metric.what)}")
            lines.append(f"# TYPE understudy_{metric.name} {'counter' if metric.counter else 'gauge'}")
            lines += found[metric.name]
    return "\n".join(lines) + "\n" if lines else ""


def samples(seen: RunSnapshot) -> Iterator[Sample]:
    """Every known value of a run, with its labels."""
    yield "health", {}, _LIGHTS[judge(seen).light]
    if not seen.exists:
        return
    for name in _OF_A_VERSION:
        if name in seen.metrics:
            yield name, {}, seen.metrics[name]
    decided = sum(seen.results.get(kind, 0) for kind in ("won", "lost", "tied"))
    if decided:
        yield "win_rate", {}, (seen.results["won"] + seen.results["tied"] / 2) / decided
    yield from _of_the_gate(seen)
    yield "buffer_files", {}, seen.buffer.count
    yield "games_in_progress", {}, seen.in_progress
    yield "archive_files", {}, seen.archive.count
    for outcome, count in seen.outcomes.items():
        yield "games_total", {"outcome": outcome}, count
    for name, done in seen.work.items():
        for outcome, count in done.counts.items():
            if outcome != "waiting":
                yield f"{name}_total", {"outcome": outcome}, count
    yield from _of_the_machine(seen)


def _of_the_gate(seen: RunSnapshot) -> Iterator[Sample]:
    gate = seen.learner.stats.get("gate") or {}
    named: tuple[tuple[str, dict[str, str], str], ...] = (
        ("champion_version", {}, "champion"),
        ("stage_version", {}, "on_stage"),
        ("candidate_points", {"games": "live"}, "mean"),
        ("candidate_points", {"games": "simulated"}, "simulated_mean"),
        ("harm_evidence", {}, "harm"),
    )
    for name, labels, key in named:
        value = gate.get(key)
        if isinstance(value, int | float):
            yield name, labels, value


def _of_the_machine(seen: RunSnapshot) -> Iterator[Sample]:
    learner, model = seen.learner, seen.model
    yield "learner_up", {}, int(learner.alive)
    ages = (("heartbeat_age_seconds", learner.heartbeat), ("model_age_seconds", model.at))
    yield from ((name, {}, max(seen.at - at, 0.0)) for name, at in ages if at is not None)
    if model.version is not None:
        yield "model_version", {}, model.version
    if learner.seen:
        yield "errors_total", {}, learner.errors
        yield "active_workers", {}, float(learner.stats.get("active_workers") or 0)
    for name, percent in seen.resources.items():
        if percent is not None and name in ("cpu", "memory", "gpu_memory"):
            yield f"{name}_percent", {}, percent
    if seen.disk_free is not None:
        yield "disk_free_bytes", {}, seen.disk_free


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _one_line(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", " ")
