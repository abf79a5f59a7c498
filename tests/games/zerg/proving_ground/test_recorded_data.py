from __future__ import annotations

from pathlib import Path

import pytest
from s2clientprotocol import sc2api_pb2

from understudy.games.zerg.proving_ground.recorded_data import compare
from understudy.games.zerg.proving_ground.static_responses import data_response

# Data responses of the real game are not part of this project; they are used where they lie beside it.
FOLDER = Path(__file__).parents[5] / "shared" / "sc2" / "recorded"


def recorded(tmp_path: Path, data: sc2api_pb2.Response) -> Path:
    path = tmp_path / "some.game_data.pb"
    path.write_bytes(data.SerializeToString())
    return path


def test_a_recording_of_ourselves_is_equal_in_every_number(tmp_path: Path) -> None:
    result = compare(recorded(tmp_path, sc2api_pb2.Response.FromString(data_response())))
    assert result.differences == []
    assert result.compared["units"] > 3000
    assert result.equal == result.compared


def test_a_changed_number_is_reported_with_both_values(tmp_path: Path) -> None:
    data = sc2api_pb2.Response.FromString(data_response())
    next(u for u in data.data.units if u.name == "Zergling").mineral_cost = 26
    result = compare(recorded(tmp_path, data))
    assert result.differences == ["Zergling mineral_cost: 25 here, 26 recorded"]
    assert "3" in result.report()


def test_entries_we_do_not_have_are_counted_as_missing(tmp_path: Path) -> None:
    data = sc2api_pb2.Response.FromString(data_response())
    extra = data.data.units.add()
    extra.unit_id, extra.name, extra.available = 9999, "Nobody", True
    assert compare(recorded(tmp_path, data)).missing["units"] == 1


@pytest.mark.skipif(not FOLDER.is_dir(), reason="no recorded data of the game in ../shared/sc2/recorded")
@pytest.mark.parametrize("name", ["AltitudeAIE", "BabylonAIE"])
def test_the_games_own_numbers_are_ours(name: str) -> None:
    result = compare(FOLDER / f"{name}.game_data.pb")
    assert result.differences == []
