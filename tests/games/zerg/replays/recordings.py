"""Games made up event by event, in the shape in which sc2reader hands them over, and the real ones where they are."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from understudy.games.zerg.replays.loading import ParsedReplay, ReplayPlayer, parse

REAL = Path(__file__).resolve().parents[5] / "shared" / "sc2" / "replays"
needs_real_replays = pytest.mark.skipif(not REAL.is_dir(), reason=f"there are no replays at {REAL}")


def real_replays() -> list[Path]:
    return sorted(REAL.glob("*.SC2Replay"))


@cache
def loaded(path: Path) -> ParsedReplay:
    """The same recording for every test that asks: loading all of them takes seconds."""
    return parse(path.read_bytes())


def event(name: str, frame: int, **facts: Any) -> SimpleNamespace:
    return SimpleNamespace(name=f"{name}Event", frame=frame, **facts)


def born(frame: int, unit: int, kind: str, player: int = 1, at: tuple[int, int] = (10, 10)) -> SimpleNamespace:
    return event("UnitBorn", frame, unit_id=unit, unit_type_name=kind, control_pid=player, location=at)


def started(frame: int, unit: int, kind: str, player: int = 1) -> SimpleNamespace:
    return event("UnitInit", frame, unit_id=unit, unit_type_name=kind, control_pid=player, location=(12, 12))


def done(frame: int, unit: int) -> SimpleNamespace:
    return event("UnitDone", frame, unit_id=unit)


def changed(frame: int, unit: int, kind: str) -> SimpleNamespace:
    return event("UnitTypeChange", frame, unit_id=unit, unit_type_name=kind)


def died(frame: int, unit: int, killer: int | None = None, at: tuple[int, int] = (10, 10)) -> SimpleNamespace:
    return event("UnitDied", frame, unit_id=unit, killing_player_id=killer, location=at)


def stats(frame: int, supply: float, drones: int, player: int = 1) -> SimpleNamespace:
    return event("PlayerStats", frame, pid=player, food_used=supply, workers_active_count=drones)


def upgrade(frame: int, name: str, player: int = 1) -> SimpleNamespace:
    return event("UpgradeComplete", frame, pid=player, upgrade_type_name=name)


def egg(frame: int, larva: int, hatched_at: int, *units: tuple[int, str]) -> list[SimpleNamespace]:
    """A larva becomes an egg, from which units hatch, as the game reports it."""
    return [
        born(0, larva, "Larva"),
        changed(frame, larva, "Egg"),
        *(born(hatched_at, unit, kind) for unit, kind in units),
        changed(hatched_at, larva, "Larva"),
        died(hatched_at, larva),
    ]


def recording(*events: SimpleNamespace, fps: float = 22.4, races: str = "ZT", seconds: int = 600) -> ParsedReplay:
    """A game of player 1 at (10, 10) against player 2 at (90, 90)."""
    halls = {"Z": "Hatchery", "T": "CommandCenter", "P": "Nexus"}
    homes = [(10, 10), (90, 90)]
    beginnings = [born(0, 9000 + i, halls[race], i + 1, homes[i]) for i, race in enumerate(races[:2])]
    players = tuple(
        ReplayPlayer(i + 1, race, "Win" if i == 0 else "Loss", False, f"player {i + 1}", 12)
        for i, race in enumerate(races)
    )
    in_order = sorted([*beginnings, stats(1, 12, 12), *events], key=lambda e: e.frame)
    return ParsedReplay(
        release="5.0.15.1",
        build=96000,
        frames=round(seconds * fps),
        frames_per_second=fps,
        map_name="Made Up LE",
        played_at=None,
        kind="ladder",
        players=players,
        events=in_order,
    )
