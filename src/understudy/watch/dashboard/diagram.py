"""The diagram of the loop: game → buffer → learner → model → bot, with its counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from understudy.run.state import Activity
from understudy.watch import formats
from understudy.watch.dashboard.markup import Markup, join, tag, with_commands
from understudy.watch.dashboard.runs import Watched
from understudy.watch.health_checks import STALLED_SECONDS


class DiagramBox(NamedTuple):
    """One box; `moving`: whether something is on its way to the next box."""

    name: str
    figure: str
    what: str
    light: str = ""
    moving: bool = False


def loop(watched: Watched) -> Markup:
    """The diagram, with explanations until the first game has been through the whole loop."""
    selfplay = "selfplay" in watched.snapshot.learner.stats
    stages = _selfplay(watched) if selfplay else _beside_a_bot(watched)
    picture = tag("div", _joined(stages), cls="loop", aria_label=", ".join(stage.name for stage in stages))
    return join([picture, Markup() if selfplay or watched.history.games else _explanation(watched)])


def _beside_a_bot(watched: Watched) -> list[DiagramBox]:
    seen = watched.snapshot
    learner, waiting, playing = seen.learner, seen.buffer.count, seen.in_progress > 0
    played = sum(seen.outcomes.get(kind, 0) for kind in ("learned", "online", "skipped")) + waiting
    doing = f"{seen.in_progress} in progress" if playing else "none in progress"
    batches = formats.count(learner.stats.get("batches_trained") or 0)
    training = learner.alive and learner.activity is Activity.TRAINING
    return [
        DiagramBox("Game", formats.count(played), doing, "green" if playing else "", playing),
        DiagramBox(
            "Buffer", formats.count(waiting), _waits(waiting), _buffer_light(watched), learner.alive and waiting > 0
        ),
        DiagramBox("Learner", batches, f"batches · {_learner_says(watched)}", _learner_light(watched), training),
        _model(watched, "the bot makes the first one", playing),
        _bot(watched, playing),
    ]


def _selfplay(watched: Watched) -> list[DiagramBox]:
    """The boxes of self-play, which keeps games in memory: no buffer on disk, and the workers are the bots."""
    seen = watched.snapshot
    stats = seen.learner.stats["selfplay"] or {}
    alive = seen.learner.alive
    lamp = "green" if alive else ""
    played = "played" if watched.history.players == 1 else "played against itself"
    ahead = f"{formats.figure(stats.get('staleness'))} versions old when learned"
    return [
        DiagramBox("Game", formats.count(stats.get("games")), played, lamp, alive),
        DiagramBox("Experience", formats.count(stats.get("decisions")), "decisions, in memory", lamp, alive),
        DiagramBox("Learner", formats.count(stats.get("updates")), f"updates · {_learner_says(watched)}", lamp, alive),
        _model(watched, "the first update makes it", alive),
        DiagramBox("Workers", str(stats.get("mode", "–")), ahead, lamp),
    ]


def _model(watched: Watched, otherwise: str, moving: bool) -> DiagramBox:
    model = watched.snapshot.model
    if not model.exists:
        return DiagramBox("Model", "–", otherwise)
    count = "?" if model.version is None else f"v{model.version}"
    return DiagramBox("Model", count, f"published {formats.ago(model.at, watched.snapshot.at)}", "green", moving)


def _bot(watched: Watched, playing: bool) -> DiagramBox:
    version, lamp = watched.history.last_played, "green" if playing else ""
    if version is None:
        return DiagramBox("Bot", "–", "plays" if playing else "has not played yet", lamp)
    return DiagramBox("Bot", f"v{version}", "is playing" if playing else "played last", lamp)


def _waits(count: int) -> str:
    return "waiting to be learned from" if count else "nothing waits"


def _buffer_light(watched: Watched) -> str:
    folder, now = watched.snapshot.buffer, watched.snapshot.at
    if not watched.snapshot.exists or watched.health.light == "grey":
        return ""
    stalled = folder.count > 0 and folder.oldest_at is not None and now - folder.oldest_at > STALLED_SECONDS
    return "amber" if stalled else "green"


def _learner_says(watched: Watched) -> str:
    learner = watched.snapshot.learner
    return learner.state if learner.alive else "not running"


def _learner_light(watched: Watched) -> str:
    learner = watched.snapshot.learner
    if learner.alive:
        return "amber" if learner.paused_by_request else "green"
    return "red" if watched.health.phase.word == "failed" or watched.health.light == "red" else ""


def _joined(stages: Sequence[DiagramBox]) -> Markup:
    parts: list[Markup] = []
    for number, stage in enumerate(stages):
        if number:
            kind = "arrow moving" if stages[number - 1].moving else "arrow"
            parts.append(tag("div", "→", cls=kind, aria_hidden="true"))
        lines = (("name", stage.name), ("count", stage.figure), ("what", stage.what))
        inside = (tag("div", text, cls=cls) for cls, text in lines)
        parts.append(tag("div", *inside, cls=f"box {stage.light}", data_box=stage.name.lower()))
    return join(parts)


def _explanation(watched: Watched) -> Markup:
    steps = (
        ("Game", "A bot plays. Each decision is saved to disk at once."),
        ("Buffer", "Finished games wait here, also while no learner runs."),
        ("Learner", "A separate process learns from each game exactly once."),
        ("Model", "What it learned is published as a new version."),
        ("Bot", "The bot loads the newest version before its next game."),
    )
    lines = (tag("p", tag("b", f"{name}. "), text) for name, text in steps)
    begin = tag("p", "To begin: ", with_commands(f"`python run_with_training.py --run-dir {watched.run.root}`"))
    return tag("div", *lines, begin, cls="explanation")
