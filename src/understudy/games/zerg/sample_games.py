"""Recordings of some games of a run on the proving ground, for the page of the dashboard that shows them.

At most one a minute is recorded, and the newest few are kept, in the run directory as
`games/battle_<time>_<number>.jsonl`.
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from understudy.games.zerg.challenges import Challenge
from understudy.rundir import RunDir

logger = logging.getLogger(__name__)

PATTERN = "battle_*.jsonl"
KEPT = 6
EVERY_LOOPS = 90  # four seconds of game time
_SECONDS_BETWEEN = 60.0


def samples_of(run: RunDir) -> list[Path]:
    """The recordings of a run, newest first."""
    with contextlib.suppress(OSError):
        return sorted((path for path in run.games.glob(PATTERN) if not path.is_symlink()), reverse=True)
    return []


def sample_recorder(run: RunDir, challenge: Challenge, about: Mapping[str, Any]) -> Any:
    """A recorder for this game if one is due, else None. A disk error does not stop the game."""
    before = samples_of(run)
    try:
        if before and time.time() - before[0].stat().st_mtime < _SECONDS_BETWEEN:
            return None
        run.games.mkdir(parents=True, exist_ok=True)
        for old in before[KEPT - 1 :]:
            old.unlink(missing_ok=True)
        from understudy.games.zerg.proving_ground.maps import make_map  # noqa: PLC0415 - needed only here
        from understudy.games.zerg.proving_ground.recording import Recording  # noqa: PLC0415

        path = run.games / f"battle_{time.strftime('%Y%m%d_%H%M%S')}_{challenge.number}.jsonl"
        return Recording(path, make_map(challenge.map_seed), every=EVERY_LOOPS, about=dict(about))
    except OSError as error:
        logger.debug("The game is not recorded: %s", error)
        return None
