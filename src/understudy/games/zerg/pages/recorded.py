"""A recorded game of the proving ground as frames: the terrain, the units of both players, and their supply."""

from __future__ import annotations

import base64
import json
import zlib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from understudy.errors import EpisodeError
from understudy.games.zerg.proving_ground.viewer import GROUND, png_of
from understudy.games.zerg.starcraft import LOOPS_PER_SECOND, RACES, RESULTS
from understudy.watch.dashboard import charts
from understudy.watch.dashboard.charts import Line, Options
from understudy.watch.dashboard.markup import Markup, empty, join, tag

_MOST_BYTES = 30_000_000
_MOST_SIZE = 512
_RESOURCES = 2  # the owner of resources
_LISTED = 6


@dataclass(frozen=True, slots=True)
class Unit:
    """An object on the map. `owner` is 0 for the bot, 1 for its opponent, 2 for resources."""

    owner: int
    kind: int
    x: float
    y: float
    structure: bool


@dataclass(frozen=True, slots=True)
class Moment:
    """One frame of a game."""

    seconds: float
    units: tuple[Unit, ...]
    races: tuple[str, str]
    supply: tuple[tuple[float, float], tuple[float, float]]
    minerals: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Battle:
    """A recorded game."""

    title: str
    result: str
    size: int
    ground: str
    """The map as the URL of an image."""
    names: tuple[str, ...]
    moments: tuple[Moment, ...]


def read_battle(path: Path) -> Battle:
    """Read a recording, also one that is still being written; EpisodeError if it is not valid."""
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise EpisodeError(f"{path.name} is too large.")
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        head, *frames = [json.loads(line) for line in lines if line.endswith("\n")]
        about, size = head.get("about") or {}, int(head["size"])
        moments = tuple(_moment(frame) for frame in frames)
        ended = frames[-1].get("result") if frames else None
        opponent = " ".join(str(about[key]) for key in ("race", "difficulty", "build") if key in about)
        return Battle(
            f"Zerg against {opponent} on {head['map']}" if opponent else path.stem,
            RESULTS.get(ended[0], "") if ended else "not finished",
            size,
            _ground(str(head["ground"]), size),
            tuple(map(str, head.get("names") or ())),
            moments,
        )
    except (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError, zlib.error) as error:
        raise EpisodeError(f"{path.name} is not a recording of a game: {error}") from error


def _moment(frame: dict[str, Any]) -> Moment:
    players = frame["players"]
    units = tuple(Unit(int(o), int(k), float(x), float(y), bool(s)) for o, k, x, y, s in frame["units"])
    used = [(float(player["supply"][0]), float(player["supply"][1])) for player in players]
    return Moment(
        int(frame["loop"]) / LOOPS_PER_SECOND,
        units,
        (RACES.get(players[0]["race"], "?"), RACES.get(players[1]["race"], "?")),
        (used[0], used[1]),
        (int(players[0]["minerals"]), int(players[1]["minerals"])),
    )


def _ground(packed: str, size: int) -> str:
    if not 0 < size <= _MOST_SIZE:
        raise ValueError(f"a map of {size} cells")
    cells = zlib.decompressobj().decompress(base64.b64decode(packed), size * size)
    ground = np.frombuffer(cells, np.uint8).reshape(size, size)
    image = GROUND[np.minimum(ground, len(GROUND) - 1)][::-1].copy()
    return "data:image/png;base64," + base64.b64encode(png_of(image)).decode()


def field(battle: Battle, at: int) -> Markup:
    """The map with its units, north at the top."""
    if not battle.moments:
        return empty("The recording has no frame yet.")
    size, parts = battle.size, []
    for unit in sorted(battle.moments[at].units, key=lambda unit: (not unit.structure, -unit.owner)):
        x, y = unit.x, size - unit.y
        side = f"side{min(max(unit.owner, 0), _RESOURCES)}"
        if unit.structure and unit.owner < _RESOURCES:
            corner = {"x": f"{x - 1.6:.1f}", "y": f"{y - 1.6:.1f}"}
            parts.append(tag("rect", **corner, width=3.2, height=3.2, cls=f"{side} built"))
        else:
            parts.append(tag("circle", cx=f"{x:.1f}", cy=f"{y:.1f}", r=0.9, cls=side))
    return tag("svg", join(parts), viewBox=f"0 0 {size} {size}", role="img", aria_label="The map with all units")


def players(battle: Battle, at: int) -> Markup:
    """Supply, minerals and army of both players."""
    if not battle.moments:
        return Markup()
    moment = battle.moments[at]
    return join(_player(battle, moment, number) for number in range(2))


def _player(battle: Battle, moment: Moment, number: int) -> Markup:
    own = [unit for unit in moment.units if unit.owner == number]
    used, cap = moment.supply[number]
    counts = Counter(battle.names[unit.kind] for unit in own if not unit.structure and unit.kind < len(battle.names))
    army = ", ".join(f"{count} {name}" for name, count in counts.most_common(_LISTED))
    structures = sum(unit.structure for unit in own)
    who = f"{('The bot', 'Opponent')[number]}, {moment.races[number]}"
    bar = tag("span", tag("span", cls=f"fill{number}", style=f"width: {min(max(used / 2, 0), 100):.0f}%"), cls="share")
    figures = f"{used:g} of {cap:g} supply, {moment.minerals[number]} minerals, {_count(structures)}"
    return tag(
        "div",
        tag("div", tag("b", who), tag("span", figures, cls="muted small"), cls="player-head"),
        bar,
        tag("div", army or "no units", cls="muted small"),
        cls=f"player player{number}",
    )


def _count(structures: int) -> str:
    return f"{structures} structure{'s' * (structures != 1)}"


def supply_chart(battle: Battle, at: int) -> Options | None:
    """The supply of both players over the game, with a mark at the shown moment."""
    moments = battle.moments
    if not moments:
        return None
    lines = [
        Line(name, [(_minute(moment), moment.supply[number][0]) for moment in moments], charts.COLORS[number])
        for number, name in enumerate(("the bot", "opponent"))
    ]
    return charts.line_chart(lines, x_name="minute of the game", low=0, here=_minute(moments[at]))


def _minute(moment: Moment) -> float:
    return round(int(moment.seconds) / 60, 2)
