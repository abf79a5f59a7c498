"""The definition of a metric: name, unit and group, meaning, normal range, and what to do otherwise."""

from __future__ import annotations

from dataclasses import dataclass

GROUPS: dict[str, str] = {
    "playing": "How well the bot plays",
    "learning": "How the model learns",
    "speed": "How fast it goes",
    "queue": "Games and files",
    "machine": "Learner and machine",
    "game": "In one game",
}


@dataclass(frozen=True, slots=True)
class Metric:
    """What a figure means. `unit` is '' for a plain number; `counter`: it only grows, in Prometheus' sense."""

    name: str
    title: str
    unit: str
    group: str
    """A key of GROUPS, or the title of a group that a game adds."""
    what: str
    normal: str
    otherwise: str
    counter: bool = False
    range: tuple[float, float] | None = None
    """The meaning of a number. `unit` is '' for a plain number; `counter`: it only grows, in Prometheus' sense."""
    up_to: str = ""
    """The setting that is the upper end of `range`, where the model has it."""
