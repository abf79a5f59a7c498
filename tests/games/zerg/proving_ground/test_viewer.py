from __future__ import annotations

import struct
import zlib
from pathlib import Path

import numpy as np
import pytest

from understudy.errors import SettingsError
from understudy.games.zerg.proving_ground.maps import make_map
from understudy.games.zerg.proving_ground.recording import Recording, frame_of, load_recording
from understudy.games.zerg.proving_ground.simulation import Simulation
from understudy.games.zerg.proving_ground.viewer import headline, png_of, text_of, watch
from understudy.games.zerg.starcraft import TERRAN, ZERG


def recorded(path: Path) -> Simulation:
    game = Simulation(make_map(4), (ZERG, TERRAN))
    recording = Recording(path, game.map)
    for _ in range(10):
        game.step(11)
        recording(game)
    game.finish((1, 2))
    recording(game)
    recording.close()
    return game


def test_a_recording_holds_a_frame_a_second_and_the_end(tmp_path: Path) -> None:
    recorded(tmp_path / "game.jsonl")
    head, *frames = load_recording(tmp_path / "game.jsonl")
    assert head["map"] == "ProvingGround-4"
    assert [frame["loop"] for frame in frames] == [11, 33, 55, 77, 99, 110]
    assert frames[-1]["result"] == [1, 2]


def test_the_picture_in_the_terminal_shows_both_players() -> None:
    game = Simulation(make_map(4), (ZERG, TERRAN))
    text = text_of(game.map.pathable, frame_of(game))
    assert "1 Zerg: 50m 0g 12/14 supply, 16 units, 1 structures" in text
    assert "A" in text
    assert "B" in text
    assert headline(frame_of(game)).startswith("00:00")


def test_frames_are_valid_png_files(tmp_path: Path) -> None:
    recorded(tmp_path / "game.jsonl")
    assert watch(load_recording(tmp_path / "game.jsonl"), tmp_path / "frames", 8.0) == 0
    files = sorted((tmp_path / "frames").glob("*.png"))
    assert len(files) == 6
    data = files[0].read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">II", data[16:24]) == (704, 704)


def test_a_png_holds_the_pixels_it_was_given() -> None:
    image = np.arange(2 * 3 * 3, dtype=np.uint8).reshape(2, 3, 3)
    data = png_of(image)
    start = data.index(b"IDAT") + 4
    size = struct.unpack(">I", data[start - 8 : start - 4])[0]
    rows = zlib.decompress(data[start : start + size])
    assert rows == b"\0" + image[0].tobytes() + b"\0" + image[1].tobytes()


def test_a_missing_recording_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"none\.jsonl"):
        next(load_recording(tmp_path / "none.jsonl"))
