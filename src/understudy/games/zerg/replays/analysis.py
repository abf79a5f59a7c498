"""The job that a worker does for one replay."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from understudy.games.zerg.replays.loading import content_hash, parse, read_bytes
from understudy.games.zerg.replays.milestones import observe, why_nothing
from understudy.sc2.errors import ReplayError


def analyse(path: str, at_most: int) -> dict[str, Any]:
    """Analyse a replay file: its hash, a note if it contains nothing to learn, and an observation for each Zerg player.

    A file that cannot be parsed also has a hash, and a reason for the refusal.
    """
    data = read_bytes(Path(path), at_most)
    replay = content_hash(data)
    try:
        recording = parse(data)
    except ReplayError as error:
        return {"replay": replay, "refused": str(error)}
    return {
        "replay": replay,
        "release": recording.release,
        "note": why_nothing(recording),
        "observations": [observation.as_dict() for observation in observe(recording)],
    }
