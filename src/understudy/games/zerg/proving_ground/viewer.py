"""Shows a recorded or running game in the terminal or as PNG frames, without a graphics library."""

from __future__ import annotations

import base64
import struct
import sys
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.errors import SettingsError
from understudy.games.zerg.starcraft import DEFEAT, LOOPS_PER_SECOND, RACES, TIE, VICTORY

COLUMNS = 88
_RESULTS = {VICTORY: "win", DEFEAT: "loss", TIE: "tie"}
COLOURS = np.array([[70, 130, 255], [255, 70, 60], [90, 200, 220]], np.uint8)  # player 1, player 2, resources
GROUND = np.array([[12, 12, 16], [58, 58, 64], [86, 86, 92]], np.uint8)  # not walkable, low, high
SCALE = 4


def watch(lines: Iterator[dict[str, Any]], png: Path | None, speed: float) -> int:
    """Show all frames; returns the exit code."""
    head = next(lines, None)
    if head is None or "ground" not in head:
        raise SettingsError("This file is empty or not a recording.")
    size = int(head["size"])
    ground = np.frombuffer(zlib.decompress(base64.b64decode(head["ground"])), np.uint8).reshape(size, size)
    last = 0
    for number, frame in enumerate(lines):
        if png is not None:
            png.mkdir(parents=True, exist_ok=True)
            (png / f"{number:05}.png").write_bytes(png_of(picture(ground, frame)))
            continue
        sys.stdout.write("\x1b[H\x1b[2J" + text_of(ground, frame) + "\n")
        sys.stdout.flush()
        time.sleep(max(0.0, (frame["loop"] - last) / LOOPS_PER_SECOND / speed))
        last = frame["loop"]
    if png is not None:
        print(f"Frames are in {png}.")
    return 0


def headline(frame: dict[str, Any]) -> str:
    """Time, resources and supply of both players."""
    seconds = frame["loop"] / LOOPS_PER_SECOND
    parts = [f"{int(seconds // 60):02}:{int(seconds % 60):02}"]
    for number, player in enumerate(frame["players"]):
        used, cap = player["supply"]
        mine = [unit for unit in frame["units"] if unit[0] == number]
        buildings = sum(unit[4] for unit in mine)
        name = f"{number + 1} {RACES.get(player['race'], '?')}"
        parts.append(
            f"{name}: {player['minerals']}m {player['vespene']}g {used:g}/{cap:g} supply, "
            f"{len(mine) - buildings} units, {buildings} structures"
        )
    if frame.get("result"):
        parts.append("result " + "/".join(_RESULTS.get(result, "?") for result in frame["result"]))
    return " | ".join(parts)


def text_of(ground: NDArray[np.uint8], frame: dict[str, Any]) -> str:
    """The map in characters, two cells each, north up."""
    size = len(ground)
    step = size / COLUMNS
    rows = COLUMNS // 2
    canvas = [
        [" .:"[int(ground[int((rows - 1 - r) * size / rows), int(c * step)])] for c in range(COLUMNS)]
        for r in range(rows)
    ]
    for owner, _, x, y, structure in sorted(frame["units"], key=lambda unit: -unit[0]):
        row, column = rows - 1 - int(y * rows / size), int(x / step)
        if 0 <= row < rows and 0 <= column < COLUMNS:
            canvas[row][column] = "*" if owner == 2 else ("AB"[owner] if structure else "ab"[owner])
    return "\n".join([headline(frame), *("".join(row) for row in canvas)])


def picture(ground: NDArray[np.uint8], frame: dict[str, Any]) -> NDArray[np.uint8]:
    """The map in colours, four pixels a cell, north up, with supply bars of both players at the top."""
    image = np.repeat(np.repeat(GROUND[ground], SCALE, axis=0), SCALE, axis=1)
    for owner, _, x, y, structure in sorted(frame["units"], key=lambda unit: -unit[0]):
        half = SCALE * (5 if structure and owner < 2 else 3 if structure else 2) // 4
        cx, cy = int(x * SCALE), int(y * SCALE)
        image[max(0, cy - half) : cy + half, max(0, cx - half) : cx + half] = COLOURS[owner]
    image = image[::-1].copy()
    for number, player in enumerate(frame["players"]):
        length = int(player["supply"][0] / 200 * image.shape[1])
        image[2 + 6 * number : 6 + 6 * number, :length] = COLOURS[number]
    return image


def png_of(image: NDArray[np.uint8]) -> bytes:
    """An RGB image as a PNG file."""
    height, width, _ = image.shape
    rows = b"".join(b"\0" + row.tobytes() for row in image)

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows, 6)) + chunk(b"IEND", b"")
