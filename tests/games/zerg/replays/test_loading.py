from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from games.zerg.replays.recordings import REAL, loaded, needs_real_replays, real_replays
from games.zerg.replays.replay_files import archive, beginning, replay_file, started, supply
from understudy.games.zerg.replays.loading import parse, read_bytes
from understudy.games.zerg.replays.milestones import observe, why_nothing
from understudy.sc2.errors import ReplayError


def test_a_file_that_is_no_replay_is_refused_in_plain_words() -> None:
    with pytest.raises(ReplayError, match="not a StarCraft II replay"):
        parse(b"PK\x03\x04 something else")
    with pytest.raises(ReplayError, match="header cannot be read; the file is damaged"):
        parse(b"MPQ\x1b" + bytes(100))


def test_a_replay_made_through_the_api_loads_without_details() -> None:
    game = parse(replay_file(supply(159, 13) + started(288, 50, "SpawningPool")))
    assert (game.release, game.kind, game.map_name) == ("5.0.15.96000", "bot", "Made Up LE")
    assert [(p.race, p.result, p.starting_workers) for p in game.players] == [("Z", "Win", 12), ("P", "Loss", 12)]
    (observation,) = observe(game)
    assert observation.matchup == "ZvP"
    assert observation.milestones == {"pool": (20.0, 13.0)}


def test_an_archive_that_understates_its_sizes_loads_all_the_same() -> None:
    events = beginning() + started(447, 50, "SpawningPool")
    data = archive({"replay.tracker.events": events}, 96000, 6720, sizes={"replay.tracker.events": 1})
    assert observe(parse(data))[0].milestones["pool"] == (20.0, 12.0)


def test_the_clock_before_legacy_of_the_void_had_sixteen_frames_a_second() -> None:
    events = started(319, 50, "SpawningPool")
    assert observe(parse(replay_file(events, build=30508)))[0].milestones["pool"][0] == 20.0
    assert observe(parse(replay_file(events, build=34784)))[0].milestones["pool"][0] == 14.29


def test_damaged_events_are_refused_even_if_all_else_is_well() -> None:
    with pytest.raises(ReplayError, match=r"Replay\.tracker\.events cannot be read"):
        parse(replay_file(b"\x03\x00\x09\x00\x09\x7e\x05\x00"))


def test_empty_and_oversized_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.SC2Replay"
    path.write_bytes(b"")
    with pytest.raises(ReplayError, match="empty"):
        read_bytes(path, 10)
    path.write_bytes(b"x" * 11)
    with pytest.raises(ReplayError, match="larger than 10 bytes"):
        read_bytes(path, 10)


@needs_real_replays
def test_every_real_replay_loads_with_the_facts_of_the_manifest() -> None:
    manifest = {entry["file"]: entry for entry in json.loads((REAL / "MANIFEST.json").read_text())}
    for path in real_replays():
        game = loaded(path)
        entry = manifest[path.name]
        if entry.get("version"):
            assert game.release == entry["version"]
        if why_nothing(game) or not entry.get("matchup"):
            continue
        wanted = entry["matchup"].replace("Zerg-Zerg", "ZvZ")
        assert {observation.matchup for observation in observe(game)} == {wanted}, path.name


@needs_real_replays
def test_replays_that_teach_nothing_say_why() -> None:
    reasons = {path.name: why_nothing(loaded(path)) for path in real_replays()}
    silent = {name: reason for name, reason in reasons.items() if reason}
    assert len(silent) == 4
    assert sum("did not record what was built" in reason for reason in silent.values()) == 3
    assert "resumed at 3:20" in (silent["corrupt_bad_unit_ids_1.SC2Replay"] or "")


@needs_real_replays
def test_results_belong_to_the_right_player() -> None:
    for path in real_replays():
        outcome = path.name.split("_")[2]
        observations = observe(loaded(path))
        if outcome in ("Win", "Loss") and len(observations) == 1:
            assert observations[0].result == outcome, path.name


@needs_real_replays
def test_players_are_named_without_their_clan() -> None:
    (path,) = [p for p in real_replays() if p.name.startswith("4.9.2")]
    assert [player.name for player in loaded(path).players] == ["LiquidSnute", "Clem"]


@needs_real_replays
def test_damaged_replays_load_or_are_refused_and_nothing_else() -> None:
    chance = random.Random(3)
    small = sorted(real_replays(), key=lambda path: path.stat().st_size)[:8]
    reasons = []
    for i in range(60):
        data = bytearray(small[i % len(small)].read_bytes())
        for _ in range(chance.choice((1, 5, 50))):
            data[chance.randrange(len(data))] = chance.randrange(256)
        if chance.random() < 0.3:
            data = data[: chance.randrange(4, len(data))]
        try:
            observe(parse(bytes(data)))
        except ReplayError as error:
            reasons.append(str(error))
    assert len(reasons) > 5
    assert all(reason.endswith(".") for reason in reasons)
