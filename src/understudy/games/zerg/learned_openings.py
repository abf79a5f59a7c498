"""Opening timings learned from replays, when there are any."""

from __future__ import annotations

import json
import logging
from pathlib import Path

from understudy.games.zerg.macro import Opening

logger = logging.getLogger(__name__)

_LEAST, _MOST = 10, 60  # supplies outside of this are no opening


def read_opening(path: Path) -> Opening:
    """The timings in `learned_build_orders.json`: supplies under "zerg", for instance {"zerg": {"pool": 17}}.

    Missing entries, and a missing file, leave the default; a file that cannot be used is said in the log.
    """
    try:
        learned = json.loads(path.read_text(encoding="utf-8"))["zerg"]
        known = {name: int(learned[name]) for name in ("pool", "hatchery", "gas") if name in learned}
    except FileNotFoundError:
        return Opening()
    except (OSError, ValueError, KeyError, TypeError) as error:
        logger.warning("The build orders in %s cannot be used (%s); the usual opening is played.", path, error)
        return Opening()
    if wrong := {name: supply for name, supply in known.items() if not _LEAST <= supply <= _MOST}:
        logger.warning("%s: supplies %s are no opening; the usual ones are played.", path, wrong)
    return Opening(**{name: supply for name, supply in known.items() if name not in wrong})
