"""The ladder's state in a run: `ladder.json` in its folder."""

from __future__ import annotations

import dataclasses
import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from understudy.files.atomic import write_atomically
from understudy.games.zerg.arena.errors import ArenaError

FILE = "ladder.json"


@dataclass(frozen=True)
class LadderNotes:
    """`last` is the newest participation that was merged, `pulled_md5` the hash of the data that was merged last."""

    bot: int = 0
    last: int = 0
    pulled_md5: str = ""
    pushed_version: int = 0
    pushed_md5: str = ""
    """The hash of the pushed zip."""
    compared: int = 0
    """The gate's comparison that is played on the ladder; 0 if there is none."""
    results: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Match → opponent, result and more."""

    def write(self, root: Path) -> None:
        """Replace the file."""
        content = json.dumps(dataclasses.asdict(self), indent=1).encode()
        write_atomically(root / FILE, lambda stream: stream.write(content))


def read_notes(root: Path | str | os.PathLike[str]) -> LadderNotes:
    """The notes of a run; empty notes if there is no file."""
    path = Path(root) / FILE
    try:
        return LadderNotes(**json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return LadderNotes()
    except (OSError, ValueError, TypeError) as error:
        raise ArenaError(f"{path} cannot be read ({error}). Delete it: the next pull makes it again.") from error
