"""When, and at which supply, a Zerg player built what, from the tracker events of a replay.

Times are start times, as in a build order. Replays record the start of structures and eggs, but only the end of queens,
lairs, hives and greater spires; their start is computed from the build time. For upgrades the end is used, since
research times have changed often.

Replays record supply every 160 frames; changes in between are estimated from the events.
"""

from __future__ import annotations

import bisect
import dataclasses
import math
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any

from understudy.games.zerg.replays.loading import TOWNHALL_RACES, ParsedReplay, ReplayPlayer
from understudy.games.zerg.replays.vocabulary import (
    ARMY_SUPPLY,
    DRONE_BUILT,
    FRAMES_TO_MAKE,
    NUMBERED,
    SINGLE,
    SUPPLY,
    UPGRADES,
)


@dataclass(frozen=True, slots=True)
class Observation:
    """One Zerg player's game. `milestones` maps a name to (seconds, supply); curves have one value per minute."""

    matchup: str
    result: str
    patch: str
    kind: str
    computer: bool
    name: str
    opponent: str
    map_name: str
    starting_workers: int
    seconds: float
    milestones: dict[str, tuple[float, float]]
    counts: dict[str, int]
    drones: list[int]
    army_supply: list[float]
    first_attack: float | None

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for messages and the ledger."""
        return dataclasses.asdict(self)


def observe(recording: ParsedReplay) -> list[Observation]:
    """An observation for each Zerg player of a 1v1 game; `why_nothing` explains an empty list."""
    if why_nothing(recording):
        return []
    first, second = recording.players
    return [_observation(recording, me, other) for me, other in ((first, second), (second, first)) if me.race == "Z"]


def why_nothing(recording: ParsedReplay) -> str | None:
    """The reason why a readable replay has no observations, or None if it has some."""
    if not recording.events:
        return f"patch {recording.release} did not record what was built (that came with 2.0)"
    begins = recording.events[0].frame
    if not recording.players and begins > 0:
        return f"resumed at {_clock(recording.seconds(begins))}: what was built before is not in the file"
    if len(recording.players) != 2:
        return f"{len(recording.players)} players: not a 1v1 game"
    if all(player.race != "Z" for player in recording.players):
        return "no Zerg player"
    return None


def _clock(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


@dataclass(slots=True)
class _Start:
    frame: int
    what: str
    cancelled: bool = False


@dataclass(slots=True)
class _Tally:
    """One player's events by type. Unit ids are unique in a game."""

    number: int
    kinds: dict[int, str] = field(default_factory=dict)
    starts: dict[int, _Start] = field(default_factory=dict)  # structures by id
    others: list[_Start] = field(default_factory=list)  # queens, overlords, morphs
    unfinished: set[int] = field(default_factory=set)
    egg_since: dict[int, int] = field(default_factory=dict)
    hatching: list[str] = field(default_factory=list)
    changes: list[tuple[int, float]] = field(default_factory=list)  # of supply
    snapshots: list[tuple[int, float, int]] = field(default_factory=list)  # frame, supply, drones
    army: list[tuple[int, float]] = field(default_factory=list)  # changes of army supply
    upgrades: list[tuple[int, str]] = field(default_factory=list)

    def born(self, event: Any) -> None:
        kind = event.unit_type_name
        self.kinds[event.unit_id] = kind
        self._change_army(event.frame, "", kind)
        if kind == "Queen":
            start = max(event.frame - FRAMES_TO_MAKE[kind], 0)
            self.others.append(_Start(start, kind))
            self.changes.append((start, SUPPLY[kind]))
        elif event.frame > 0:
            self.hatching.append(kind)

    def changed(self, event: Any) -> None:
        before, kind = self.kinds[event.unit_id], event.unit_type_name
        self.kinds[event.unit_id] = kind
        self._change_army(event.frame, before, kind)
        if kind == "Egg":
            self.egg_since[event.unit_id] = event.frame
        elif before == "Egg":
            since = self.egg_since.pop(event.unit_id, event.frame)
            self.changes.append((since, sum(SUPPLY.get(hatched, 0.0) for hatched in self.hatching)))
            self.others += [_Start(since, hatched) for hatched in self.hatching if hatched == "Overlord"]
        elif kind in FRAMES_TO_MAKE and kind != before:
            self.others.append(_Start(max(event.frame - FRAMES_TO_MAKE[kind], 0), kind))
        else:
            self.changes.append((event.frame, SUPPLY.get(kind, 0.0) - SUPPLY.get(before, 0.0)))
        self.hatching = []  # the new unit is reported just before the end of its egg

    def started(self, event: Any) -> None:
        kind = event.unit_type_name
        self.kinds[event.unit_id] = kind
        if kind in DRONE_BUILT:
            self.starts[event.unit_id] = _Start(event.frame, kind)
            self.unfinished.add(event.unit_id)
            self.changes.append((event.frame, -SUPPLY["Drone"]))

    def died(self, event: Any) -> None:
        kind = self.kinds.pop(event.unit_id)
        self._change_army(event.frame, kind, "")
        if event.unit_id in self.unfinished and event.killing_player_id in (None, self.number):
            self.starts[event.unit_id].cancelled = True
            self.changes.append((event.frame, SUPPLY["Drone"]))
        elif kind != "Drone" or event.killing_player_id is not None:  # otherwise it became a structure
            self.changes.append((event.frame, -SUPPLY.get(kind, 0.0)))

    def supply_before(self, frame: int, starting_workers: int) -> float:
        """Supply just before this frame: the last snapshot and what changed since. `changes` must be sorted."""
        index = bisect.bisect_left(self.snapshots, (frame,)) - 1
        since, supply = self.snapshots[index][:2] if index >= 0 else (0, float(starting_workers))
        low = bisect.bisect_right(self.changes, (since, math.inf))
        high = bisect.bisect_left(self.changes, (frame, -math.inf))
        return supply + sum(change for _, change in self.changes[low:high])

    def _change_army(self, frame: int, before: str, after: str) -> None:
        change = ARMY_SUPPLY.get(after.removesuffix("Burrowed"), 0) - ARMY_SUPPLY.get(
            before.removesuffix("Burrowed"), 0
        )
        if change:
            self.army.append((frame, change))


def _tally(recording: ParsedReplay, number: int) -> _Tally:
    tally = _Tally(number)
    for event in recording.events:
        name = event.name
        if name == "PlayerStatsEvent":
            if event.pid == number:
                tally.snapshots.append((event.frame, event.food_used, event.workers_active_count))
        elif name == "UnitBornEvent" and event.control_pid == number:
            tally.born(event)
        elif name == "UnitInitEvent" and event.control_pid == number:
            tally.started(event)
        elif name == "UpgradeCompleteEvent" and event.pid == number:
            if event.upgrade_type_name in UPGRADES:
                tally.upgrades.append((event.frame, UPGRADES[event.upgrade_type_name]))
        elif name in ("UnitTypeChangeEvent", "UnitDiedEvent", "UnitDoneEvent") and event.unit_id in tally.kinds:
            if name == "UnitTypeChangeEvent":
                tally.changed(event)
            elif name == "UnitDiedEvent":
                tally.died(event)
            else:
                tally.unfinished.discard(event.unit_id)
    tally.changes.sort()
    return tally


def _observation(recording: ParsedReplay, me: ReplayPlayer, other: ReplayPlayer) -> Observation:
    tally = _tally(recording, me.number)
    milestones: dict[str, tuple[float, float]] = {}
    counts: Counter[str] = Counter()

    def reached(name: str, frame: int) -> None:
        supply = tally.supply_before(frame, me.starting_workers)
        milestones.setdefault(name, (round(recording.seconds(frame), 2), round(supply, 2)))

    counts["hatchery"] = 1  # the first one
    kept = [start for start in (*tally.starts.values(), *tally.others) if not start.cancelled]
    for start in sorted(kept, key=lambda s: s.frame):
        name, most = NUMBERED.get(start.what) or (SINGLE[start.what], 0)
        counts[name] += 1
        if not most:
            reached(name, start.frame)
        elif counts[name] <= most:
            reached(f"{name}_{counts[name]}", start.frame)
    for frame, upgrade in tally.upgrades:
        counts[upgrade] += 1
        reached(upgrade, frame)
    minutes = range(1, int(recording.seconds(recording.frames) // 60) + 1)
    frames = [round(minute * 60 * recording.frames_per_second) for minute in minutes]
    attack = _first_attack(recording, me.number, other.number)
    return Observation(
        matchup=f"Zv{other.race}",
        result=me.result,
        patch=recording.release,
        kind=recording.kind,
        computer=me.computer,
        name=me.name,
        opponent=other.name,
        map_name=recording.map_name,
        starting_workers=me.starting_workers,
        seconds=round(recording.seconds(recording.frames), 2),
        milestones=milestones,
        counts=dict(sorted(counts.items())),
        drones=_drones_at(frames, tally.snapshots),
        army_supply=[sum(change for at, change in tally.army if at <= frame) for frame in frames],
        first_attack=None if attack is None else round(recording.seconds(attack), 2),
    )


def _drones_at(frames: list[int], snapshots: list[tuple[int, float, int]]) -> list[int]:
    indices = [bisect.bisect_right(snapshots, (frame, math.inf)) - 1 for frame in frames]
    return [snapshots[index][2] if index >= 0 else 0 for index in indices]


def _first_attack(recording: ParsedReplay, me: int, other: int) -> int | None:
    """The frame of my first kill that was closer to the opponent's start than to mine."""
    home: dict[int, tuple[int, int]] = {}
    owned: defaultdict[int, set[int]] = defaultdict(set)
    for event in recording.events:
        if event.name in ("UnitBornEvent", "UnitInitEvent"):
            owned[event.control_pid].add(event.unit_id)
            if event.frame == 0 and event.unit_type_name in TOWNHALL_RACES:
                home.setdefault(event.control_pid, event.location)
        elif (
            event.name == "UnitDiedEvent"
            and event.killing_player_id == me
            and event.unit_id in owned[other]
            and math.dist(event.location, home[other]) < math.dist(event.location, home[me])
        ):
            return int(event.frame)
    return None
