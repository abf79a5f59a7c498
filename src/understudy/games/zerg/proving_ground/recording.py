"""Records a game for the viewer: a frame every second of game time, appended while it is played.

A file of JSON lines, not compressed so that it can be followed: the map, then a line per frame.
"""

from __future__ import annotations

import base64
import json
import time
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from understudy.errors import SettingsError
from understudy.games.zerg.proving_ground.map_parts import SIZE, Map
from understudy.games.zerg.proving_ground.simulation import Simulation
from understudy.games.zerg.proving_ground.unit_data import unit_types

EVERY = 22
GIVE_UP = 30.0


class Recording:
    """A recorder for `play`: call it after each step. It writes a frame every game second, or every `every` loops.

    `about` is the description of the game in the file.
    """

    def __init__(
        self, path: Path, game_map: Map, *, every: int = EVERY, about: Mapping[str, Any] | None = None
    ) -> None:
        self.path = path
        self._file = path.open("w", encoding="utf-8")
        self._next, self._every = 0, every
        ground = game_map.pathable.astype(np.uint8) + (game_map.height > 216) * game_map.pathable
        self._write(
            {
                "map": game_map.name,
                "size": SIZE,
                "ground": base64.b64encode(zlib.compress(ground.tobytes())).decode(),
                "names": [unit.name for unit in unit_types()],
                "about": dict(about or {}),
            }
        )

    def __call__(self, game: Simulation) -> None:
        """Write a frame if one is due or the game is over."""
        if game.loop < self._next and not game.over:
            return
        self._next = game.loop + self._every
        self._write(frame_of(game))

    def close(self) -> None:
        """Finish the file."""
        self._file.close()

    def _write(self, line: dict[str, Any]) -> None:
        self._file.write(json.dumps(line, separators=(",", ":")) + "\n")
        self._file.flush()


def frame_of(game: Simulation) -> dict[str, Any]:
    """One frame of a game: players and units."""
    state, rules = game.state, game.tables
    top = int(state["top"])
    alive = np.flatnonzero(state["alive"][:top])
    units = [
        [
            int(state["owner"][i]),
            int(state["kind"][i]),
            round(float(state["x"][i]), 1),
            round(float(state["y"][i]), 1),
            int(rules["structure"][state["kind"][i]]),
        ]
        for i in alive
    ]
    players = [
        {
            "race": int(state["race"][p]),
            "minerals": int(state["minerals"][p]),
            "vespene": int(state["vespene"][p]),
            "supply": game.supply(p),
        }
        for p in range(2)
    ]
    return {
        "loop": game.loop,
        "players": players,
        "units": units,
        "result": state["result"].tolist() if game.over else None,
    }


def load_recording(path: Path, follow: bool = False) -> Iterator[dict[str, Any]]:
    """The lines of a recording, the map first; with `follow`, wait for new lines of a running game."""
    if not path.is_file():
        raise SettingsError(f"{path} is not a recording; make one with `proving-ground play BOT --record {path}`.")
    with path.open(encoding="utf-8") as file:
        waited, rest = 0.0, ""
        while True:
            rest += file.readline()
            if rest.endswith("\n"):
                line = json.loads(rest)
                waited, rest = 0.0, ""
                yield line
                if line.get("result"):
                    return
            elif not follow or waited > GIVE_UP:
                return
            else:
                time.sleep(0.1)
                waited += 0.1
