"""Writes replay files: an MPQ archive with the few parts that the loader reads, so that tests need nobody's games."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Mapping
from typing import Any

from mpyq import MPQArchive

_STORED = 0x80000000 | 0x01000000  # there, and in one piece
_COMPRESSED = 0x200
_HEADER = struct.Struct("<4s2I2H4I")
_ARCHIVE_AT = 1024
_PLAYERS = ((1, "Hatchery", "Drone", (20, 20)), (2, "Nexus", "Probe", (140, 140)))


def replay_file(events: bytes, *, build: int = 96000, frames: int = 6720) -> bytes:
    """A replay of Zerg, who won, against Protoss, with these tracker events after the usual beginning."""
    metadata = {"Title": "Made Up LE", "Players": [{"Result": "Win"}, {"Result": "Loss"}]}
    return archive(
        {
            "replay.gamemetadata.json": json.dumps(metadata).encode(),
            "replay.tracker.events": beginning() + events,
        },
        build,
        frames,
    )


def beginning() -> bytes:
    """Both players' town halls, their workers, and the first note of Zerg's supply."""
    made = b""
    for player, hall, worker, at in _PLAYERS:
        made += tracker_event(0, 1, [player, 1, hall.encode(), player, player, *at])
        for i in range(12):
            made += tracker_event(0, 1, [100 * player + i, 1, worker.encode(), player, player, *at])
    return made + supply(1, 12)


def started(frames_later: int, unit: int, kind: str) -> bytes:
    """Zerg begins a structure."""
    return tracker_event(frames_later, 6, [unit, 1, kind.encode(), 1, 1, 25, 25])


def supply(frames_later: int, used: int) -> bytes:
    """The game notes Zerg's supply."""
    numbers = [0] * 39
    numbers[4], numbers[29] = used, used * 4096
    return tracker_event(frames_later, 0, [1, numbers])


def tracker_event(frames_later: int, kind: int, fields: list[Any]) -> bytes:
    return b"\x03\x00\x09" + _number(frames_later) + b"\x09" + _number(kind) + _encoded(fields)


def archive(parts: Mapping[str, bytes], build: int, frames: int, sizes: Mapping[str, int] | None = None) -> bytes:
    """An archive of these parts; `sizes` makes it lie about how large they are."""
    content = _encoded([b"StarCraft II replay", [1, 5, 0, 15, build, build], 2, frames])
    mpq = MPQArchive.__new__(MPQArchive)
    blocks, hashes, data = [], [], b""
    for i, (name, part) in enumerate(parts.items()):
        packed = b"\x02" + zlib.compress(part, 1)
        size = (sizes or {}).get(name, len(part))
        blocks.append(struct.pack("<4I", _HEADER.size + len(data), len(packed), size, _STORED | _COMPRESSED))
        hashes.append(struct.pack("<2I2HI", mpq._hash(name, "HASH_A"), mpq._hash(name, "HASH_B"), 0, 0, i))
        data += packed
    hash_at = _HEADER.size + len(data)
    block_at = hash_at + 16 * len(hashes)
    header = _HEADER.pack(
        b"MPQ\x1a", 32, block_at + 16 * len(blocks), 0, 3, hash_at, block_at, len(hashes), len(blocks)
    )
    tables = _encrypted(mpq, b"".join(hashes), "(hash table)") + _encrypted(mpq, b"".join(blocks), "(block table)")
    front = struct.pack("<4s3I", b"MPQ\x1b", 512, _ARCHIVE_AT, len(content)) + content
    return front.ljust(_ARCHIVE_AT, b"\0") + header + data + tables


def _encoded(value: Any) -> bytes:
    """A value in the game's self-describing form; a list is a structure whose fields are numbered."""
    if isinstance(value, bytes):
        return b"\x02" + _number(len(value)) + value
    if isinstance(value, int):
        return b"\x09" + _number(value)
    return b"\x05" + _number(len(value)) + b"".join(_number(i) + _encoded(v) for i, v in enumerate(value))


def _number(value: int) -> bytes:
    value <<= 1
    made = bytearray()
    while value > 0x7F:
        made.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*made, value])


def _encrypted(mpq: MPQArchive, data: bytes, name: str) -> bytes:
    seed1, seed2 = mpq._hash(name, "TABLE"), 0xEEEEEEEE
    made = []
    for (plain,) in struct.iter_unpack("<I", data):
        seed2 = (seed2 + mpq.encryption_table[0x400 + (seed1 & 0xFF)]) & 0xFFFFFFFF
        made.append((plain ^ (seed1 + seed2)) & 0xFFFFFFFF)
        seed1 = (((~seed1 << 0x15) + 0x11111111) | (seed1 >> 0x0B)) & 0xFFFFFFFF
        seed2 = (plain + seed2 + (seed2 << 5) + 3) & 0xFFFFFFFF
    return struct.pack(f"<{len(made)}I", *made)
