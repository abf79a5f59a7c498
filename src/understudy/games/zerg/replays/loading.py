"""Parses a replay. A replay is untrusted input: run this in a worker process with limits.

sc2reader decodes the parts of the archive; this module combines them, because sc2reader stops at the first missing
part, and replays saved through the game's API lack some. Players are identified by their first units, whose names do
not depend on language or version.
"""

from __future__ import annotations

import hashlib
import html
import io
import json
import logging
import struct
import zlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from mpyq import MPQArchive
from sc2reader.decoders import BitPackedDecoder
from sc2reader.readers import DetailsReader, InitDataReader, TrackerEventsReader

from understudy.games.zerg.starcraft import LOOPS_PER_DATA_SECOND
from understudy.sc2.errors import ReplayError

TOWNHALL_RACES = {"Hatchery": "Z", "CommandCenter": "T", "Nexus": "P"}
WORKERS = frozenset({"Drone", "SCV", "Probe"})

_FIRST_BUILD_WITH_REAL_SECONDS = 34784  # Legacy of the Void: the clock no longer counts 16 frames to the second
_SPEEDS = (0.6, 0.8, 1.0, 1.2, 1.4)  # Slower to Faster, relative to LOOPS_PER_DATA_SECOND
_RESULTS = {"Win": "Win", "Loss": "Loss", 1: "Win", 2: "Loss"}

# What decoders raise for damaged bytes; not MemoryError, which is the worker's limit.
_DAMAGE = (
    ArithmeticError,
    AttributeError,
    EOFError,
    LookupError,
    NotImplementedError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
    struct.error,
    zlib.error,
)

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ReplayPlayer:
    """One side of a game, by the number that the tracker events use."""

    number: int
    race: str  # Z, T or P
    result: str  # Win, Loss or Undecided
    computer: bool
    name: str
    starting_workers: int


@dataclass(frozen=True, slots=True)
class ParsedReplay:
    """A replay that could be read. `events` are sc2reader's tracker events; there are none before patch 2.0."""

    release: str
    build: int
    frames: int
    frames_per_second: float
    map_name: str
    played_at: float | None
    kind: str  # ladder, custom, computer or bot
    players: tuple[ReplayPlayer, ...]
    events: list[Any]

    def seconds(self, frame: int) -> float:
        """The game's clock at this frame, as that version of the game showed it."""
        return frame / self.frames_per_second


def content_hash(data: bytes) -> str:
    """The hash that identifies a replay, whatever its file name."""
    return hashlib.sha256(data).hexdigest()


def read_bytes(path: Path, at_most: int) -> bytes:
    """The file's bytes; ReplayError if it is empty or larger than the limit."""
    with path.open("rb") as stream:
        data = stream.read(at_most + 1)
    if not data:
        raise ReplayError("The file is empty.")
    if len(data) > at_most:
        raise ReplayError(f"The file is larger than {at_most:,} bytes, the limit for a replay.")
    return data


def parse(data: bytes) -> ParsedReplay:
    """Parse a replay; ReplayError, with a readable reason, if that is not possible."""
    if data[:3] != b"MPQ":
        raise ReplayError("This is not a StarCraft II replay: it has no MPQ header.")
    archive: MPQArchive = _decoded("the archive", lambda: MPQArchive(io.BytesIO(data), listfile=False))
    header = _decoded("the header", lambda: _Header.of(archive))
    parts = _Parts(archive, header)
    details = parts.read("replay.details", DetailsReader())
    lobby = parts.read("replay.initData", InitDataReader())
    metadata = parts.read("replay.gamemetadata.json", lambda text, _: json.loads(text))
    events = parts.read("replay.tracker.events", TrackerEventsReader(), required=True) or []
    if details is None and metadata is None and not events:
        raise ReplayError("The replay contains neither players nor events; the file is damaged.")
    try:
        return _assemble(header, details or {}, lobby or {}, metadata or {}, events)
    except _DAMAGE as error:
        raise ReplayError(f"The replay is inconsistent; the file is damaged ({_cause(error)}).") from error


@dataclass(frozen=True, slots=True)
class _Header:
    """The attributes of a replay that sc2reader's decoders need."""

    versions: list[int]
    build: int
    base_build: int
    release_string: str
    frames: int

    @classmethod
    def of(cls, archive: MPQArchive) -> _Header:
        content = BitPackedDecoder(archive.header["user_data_header"]["content"]).read_struct()
        versions = [int(v) for v in content[1].values()]
        release = ".".join(map(str, versions[1:5]))
        return cls(versions, versions[4], versions[5], release, int(content[3]))


class _Parts:
    """The files inside the archive. A backup replaces a missing part."""

    def __init__(self, archive: MPQArchive, header: _Header) -> None:
        self._archive = archive
        self._header = header

    def read(self, name: str, reader: Callable[[bytes, _Header], Any], *, required: bool = False) -> Any:
        """The decoded part; None if it is missing or, unless required, damaged."""
        for candidate in (name, f"{name}.backup"):
            try:
                data = _decoded(candidate, partial(self._extracted, candidate))
                if data:
                    return _decoded(candidate, partial(reader, data, self._header))
            except ReplayError as error:
                if required:
                    raise
                logger.debug("%s", error)
        return None

    def _extracted(self, name: str) -> bytes | None:
        """The part's bytes. Some programs write wrong sizes into archives, so both compressed and plain are tried."""
        try:
            return self._archive.read_file(name, force_decompress=True)  # type: ignore[no-any-return]
        except _DAMAGE:
            return self._archive.read_file(name)  # type: ignore[no-any-return]


def _decoded(what: str, decode: Callable[[], Any]) -> Any:
    try:
        return decode()
    except _DAMAGE as error:
        raise ReplayError(f"{what.capitalize()} cannot be read; the file is damaged ({_cause(error)}).") from error


def _cause(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"[:200]


def _assemble(header: _Header, details: Any, lobby: Any, metadata: Any, events: list[Any]) -> ParsedReplay:
    speed = details.get("game_speed", len(_SPEEDS) - 1)
    real_seconds = header.build >= _FIRST_BUILD_WITH_REAL_SECONDS
    options = lobby.get("game_description", {}).get("game_options", {})
    players = _players(details, lobby, metadata, events)
    if details.get("cache_handles") in (None, []):
        kind = "bot"  # games started through the API have no map depot
    elif any(player.computer for player in players):
        kind = "computer"
    else:
        kind = "ladder" if options.get("amm") and options.get("competitive") else "custom"
    file_time = details.get("file_time")
    return ParsedReplay(
        release=header.release_string,
        build=header.build,
        frames=header.frames,
        frames_per_second=LOOPS_PER_DATA_SECOND * (_SPEEDS[speed] if real_seconds else 1.0),
        map_name=str(details.get("map_name") or metadata.get("Title") or "unknown map"),
        played_at=None if not file_time else file_time / 1e7 - 11_644_473_600,  # Windows counts from 1601
        kind=kind,
        players=players,
        events=events,
    )


def _players(details: Any, lobby: Any, metadata: Any, events: list[Any]) -> tuple[ReplayPlayer, ...]:
    """Players are the owners of the first town halls. Names and results are matched by lobby slot or order."""
    races: dict[int, str] = {}
    workers: Counter[int] = Counter()
    slots: dict[int, int] = {}
    for event in events:
        if event.frame > 0:
            break
        if event.name == "UnitBornEvent" and event.unit_type_name in TOWNHALL_RACES:
            races[event.control_pid] = TOWNHALL_RACES[event.unit_type_name]
        elif event.name == "UnitBornEvent" and event.unit_type_name in WORKERS:
            workers[event.control_pid] += 1
        elif event.name == "PlayerSetupEvent" and event.sid is not None:
            slots[event.pid] = event.sid
    listed = details.get("players") or []
    results = [player.get("Result") for player in metadata.get("Players", [])]
    players = []
    for order, number in enumerate(sorted(races)):
        index = _detail_index(slots.get(number), listed, lobby, order)
        detail = listed[index] if index < len(listed) else {}
        result = results[index] if index < len(results) else detail.get("result")
        players.append(
            ReplayPlayer(
                number=number,
                race=races[number],
                result=_RESULTS.get(result, "Undecided"),
                computer=detail.get("control") == 3,
                name=_plain_name(str(detail.get("name", ""))),
                starting_workers=workers[number],
            )
        )
    return tuple(players)


def _plain_name(name: str) -> str:
    """The name without the clan tag and without HTML escapes."""
    return html.unescape(name).rpartition("<sp/>")[2]


def _detail_index(slot: int | None, listed: list[Any], lobby: Any, order: int) -> int:
    lobby_slots = lobby.get("lobby_state", {}).get("slots", [])
    if slot is not None and slot < len(lobby_slots):
        wanted = lobby_slots[slot].get("working_set_slot_id")
        if wanted is not None:
            for index, player in enumerate(listed):
                if player.get("working_set_slot") == wanted:
                    return index
    return order
