"""Messages about games archived without learning, for the log, health and doctor."""

from __future__ import annotations

from collections.abc import Mapping

WHY = {
    "too old": "waited longer than learner.max_file_age",
    "too stale": "were played by a policy too different from the current one (learner.min_sample_size)",
    "no room": "were the oldest when more waited than storage.buffer_games or storage.buffer_bytes allow",
}
ADVICE = {
    "too old": "Raise learner.max_file_age, or set it to 0: V-trace corrects for old games.",
    "too stale": "Let the bot load new models more often (agent.reload_if_newer), or play in fewer processes.",
    "no room": "Play in fewer processes, call agent.wait_for_learner() after a game, or raise storage.buffer_games.",
}


def summary(skipped: Mapping[str, int]) -> str:
    """How many games were archived unlearned, and why; '' if there were none."""
    parts = [f"{skipped[reason]:,} {why}" for reason, why in WHY.items() if skipped.get(reason)]
    return "; ".join(parts)


def advice(skipped: Mapping[str, int]) -> str:
    """What to do about the most frequent reason."""
    known = {reason: skipped[reason] for reason in WHY if skipped.get(reason)}
    return ADVICE[max(known, key=known.__getitem__)] if known else ""
