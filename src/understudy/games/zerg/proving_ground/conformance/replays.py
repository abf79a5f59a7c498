"""Do players of recorded games pay for a building when they order it, as in the simulation?

Every 160 frames, the tracker of a replay notes what a player has in the bank, and the value of everything that it has
made, lost or begun. Their sum grows steadily with the income, except while a price is paid and nothing exists yet:
between the order of a building and its placement. During that time, the price is missing from the sum.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from understudy.errors import SettingsError
from understudy.games.zerg.proving_ground.conformance.report import Check, GroupReport
from understudy.games.zerg.proving_ground.rules import BUILD, rules
from understudy.games.zerg.proving_ground.unit_data import kinds_by_id, unit_types

BETWEEN_NOTES = 160  # frames
LEAST_EXPECTED = 40.0  # minerals; less cannot be distinguished from changes of the income
LEAST_NOTES = 3  # of a replay that is judged separately
LONGEST_WALK = 900  # frames
SAME_PLACE = 1.6  # cells between an order's target and the building
EARLY = 13_440  # frames, ten minutes; later large armies die between two notes
WITHIN = 0.5  # of the price: closer to all of it than to nothing
WITHIN_FOR_ALL = 0.1


class Walk(NamedTuple):
    """A building between its order and its placement."""

    ordered: int
    placed: int
    price: float


class Missing(NamedTuple):
    """At one note: the missing amount, and the amount that the rule predicts."""

    seen: float
    expected: float


@dataclass
class Books:
    """One player's bank and value by frame, and its buildings between order and placement."""

    worth: dict[int, float] = field(default_factory=dict)
    walks: list[Walk] = field(default_factory=list)


def missing(books: Books) -> Iterator[Missing]:
    """For every inner note: how far it lies below the mean of its two neighbours."""
    for frame, worth in books.worth.items():
        before, after = frame - BETWEEN_NOTES, frame + BETWEEN_NOTES
        if frame <= EARLY and before in books.worth and after in books.worth:
            around = (_on_the_way(books.walks, before) + _on_the_way(books.walks, after)) / 2
            expected = _on_the_way(books.walks, frame) - around
            yield Missing((books.worth[before] + books.worth[after]) / 2 - worth, expected)


def _on_the_way(walks: Iterable[Walk], frame: int) -> float:
    return sum(walk.price for walk in walks if walk.ordered < frame < walk.placed)


def share_missing(notes: Iterable[Missing]) -> list[float]:
    """The missing share of the price, at every note at which the rule predicts a missing amount."""
    return [note.seen / note.expected for note in notes if note.expected >= LEAST_EXPECTED]


def replay_group(folder: Path) -> GroupReport:
    """One check for each replay of the folder with enough notes, and one for all of them together."""
    if find_spec("sc2reader") is None:
        raise SettingsError("Replays are read with sc2reader: pip install understudy[replays]")
    logging.getLogger("sc2reader").setLevel(logging.CRITICAL)
    files = sorted(folder.glob("*.SC2Replay"))
    if not files:
        raise SettingsError(f"{folder} has no SC2Replay files.")
    checks, everything, unread = [], [], 0
    for file in files:
        players = read_books(file)
        unread += players is None
        notes = [note for books in players or () for note in missing(books)]
        shares = share_missing(notes)
        everything += notes
        if len(shares) >= LEAST_NOTES:
            checks.append(Check(file.name, abs(median(shares) - 1) < WITHIN, f"{median(shares):.0%} of the price"))
    shares = share_missing(everything)
    middle = median(shares) if shares else 0.0
    others = [note.seen for note in everything if note.expected == 0]
    checks.append(Check("all replays together", abs(middle - 1) < WITHIN_FOR_ALL, f"{middle:.0%} of the price"))
    report = GroupReport.of("replays", checks)
    report.remark = (
        f"between order and placement {middle:.0%} of the price is missing (median of {len(shares)} notes); "
        f"at other times {median(others) if others else 0:.0f} minerals (of {len(others)}); "
        f"{unread} of {len(files)} replays have no orders that can be read"
    )
    return report


def read_books(file: Path) -> list[Books] | None:
    """The books of every player; None if the file or its orders cannot be read."""
    try:
        import sc2reader  # noqa: PLC0415 - only this command needs it

        replay = sc2reader.load_replay(str(file), load_level=4)
        return list(_books_of(replay).values())
    except Exception:  # noqa: BLE001 - sc2reader raises any error on files that it does not know
        return None


def _books_of(replay: Any) -> dict[int, Books]:
    players: dict[int, Books] = defaultdict(Books)
    orders: dict[tuple[int, str], list[tuple[int, float, float]]] = defaultdict(list)
    price = prices()
    for event in sorted(replay.events, key=lambda event: event.frame):
        if event.name == "PlayerStatsEvent":
            worth = event.minerals_used_in_progress + event.minerals_used_current + event.minerals_lost
            players[event.pid].worth[event.frame] = event.minerals_current + worth
        elif getattr(event, "has_ability", False) and str(event.ability_name or "").startswith("Build"):
            if place := getattr(event, "location", None):
                orders[event.player.pid, event.ability_name[5:]].append((event.frame, place[0], place[1]))
        elif event.name == "UnitInitEvent" and event.unit_type_name in price:
            given = [
                frame
                for frame, x, y in orders[event.control_pid, event.unit_type_name]
                if max(abs(x - event.x), abs(y - event.y)) <= SAME_PLACE and event.frame - frame < LONGEST_WALK
            ]
            if given:
                walk = Walk(given[-1], event.frame, price[event.unit_type_name])
                players[event.control_pid].walks.append(walk)
    return players


def prices() -> Mapping[str, float]:
    """The price in the simulation of every building that a worker places, by name."""
    table, types = rules(), unit_types()
    workers = [number for number in kinds_by_id().values() if table["worker"][0][number]]
    built = {kind for worker in workers for kind in np.flatnonzero(table["how"][0][worker] == BUILD)}
    return {
        types[kind].name: float(max(table["minerals"][0][worker, kind] for worker in workers)) for kind in sorted(built)
    }
