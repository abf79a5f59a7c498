from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

pytest.importorskip("nicegui")

from tools.chromium import Browser

from game_files import put_game
from understudy.errors import EpisodeError
from understudy.experience.notes import RECORDING
from understudy.games.zerg import sample_games
from understudy.games.zerg.challenges import Challenge
from understudy.games.zerg.direct.game import Opponent, StrategyGame
from understudy.games.zerg.pages.recorded import field, players, read_battle, supply_chart
from understudy.games.zerg.proving_ground.maps import make_map
from understudy.games.zerg.proving_ground.recording import Recording
from understudy.games.zerg.sample_games import KEPT, sample_recorder, samples_of
from understudy.rundir import RunDir
from watch.dashboard.conftest import browser
from watch.dashboard.served import dashboard

__all__ = ["browser"]  # a fixture

ABOUT = {"race": "Terran", "difficulty": "Hard", "build": "<b>Rush</b>"}


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Half a minute of a real game."""
    path = tmp_path_factory.mktemp("recorded") / "battle_20260101_000000_1.jsonl"
    game = StrategyGame(Opponent(race=1), time_limit=30.0)
    recorder = Recording(path, make_map(0), every=90, about=ABOUT)
    game._match.recorder = recorder
    while not game.play(0).result:
        pass
    recorder.close()
    return path


def test_a_recording_is_read_with_its_map_units_and_supply(recording: Path) -> None:
    battle = read_battle(recording)
    assert battle.title == "Zerg against Terran Hard <b>Rush</b> on ProvingGround-0"
    assert battle.result == "Tie"  # it was cut at its time limit
    assert battle.ground.startswith("data:image/png;base64,")
    first, last = battle.moments[0], battle.moments[-1]
    assert first.races == ("Zerg", "Terran")
    assert first.supply[0] == (13.0, 14.0)  # the bot has begun its first drone
    assert last.seconds == pytest.approx(30.0, abs=1.0)
    assert {unit.owner for unit in first.units} == {0, 1, 2}
    drawn = field(battle, 0)
    assert drawn.count("<circle") + drawn.count("<rect") == len(first.units)
    assert "12 Drone" in players(battle, 0)
    chart = supply_chart(battle, 0)
    assert chart is not None
    assert chart["series"][0]["data"][0] == [pytest.approx(0.0, abs=0.3), 13.0]


def test_what_is_no_recording_is_refused_with_a_reason(recording: Path, tmp_path: Path) -> None:
    lines = recording.read_text(encoding="utf-8").splitlines()
    head = json.loads(lines[0])
    for number, text in enumerate(
        (
            "",
            "nonsense\n",
            json.dumps({**head, "size": 10**9}) + "\n",
            json.dumps({**head, "ground": "AAAA"}) + "\n",
            lines[0] + "\n" + json.dumps({"loop": 1, "players": [], "units": [["<script>", 1, 2, 3, 4]]}) + "\n",
        )
    ):
        path = tmp_path / f"battle_{number}.jsonl"
        path.write_text(text, encoding="utf-8")
        with pytest.raises(EpisodeError, match="not a recording"):
            read_battle(path)
    cut = tmp_path / "battle_cut.jsonl"
    cut.write_text("\n".join(lines[:3]) + "\n" + lines[3][:50], encoding="utf-8")  # it is being written
    assert (len(read_battle(cut).moments), read_battle(cut).result) == (2, "not finished")


def test_few_games_are_recorded_and_few_recordings_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = RunDir.at(tmp_path)
    challenge = Challenge(3, "Terran", "Hard", "Rush", 0, 0)
    first = sample_recorder(run, challenge, ABOUT)
    first.close()
    assert sample_recorder(run, challenge, ABOUT) is None  # within a minute
    monkeypatch.setattr(sample_games, "_SECONDS_BETWEEN", 0.0)
    for number in range(KEPT + 3):
        recorder = sample_recorder(run, challenge._replace(number=number + 10), ABOUT)
        recorder.close()
        os.utime(samples_of(run)[0], (time.time(), time.time()))
    assert len(samples_of(run)) == KEPT


@pytest.mark.slow
def test_the_page_plays_a_recorded_game(recording: Path, tmp_path: Path, browser: Browser) -> None:
    run = RunDir.at(tmp_path / "run")
    run.create()
    run.games.mkdir()
    older = run.games / "battle_20250101_000000_1.jsonl"
    for path in (older, run.games / recording.name):
        path.write_bytes(recording.read_bytes())
    with dashboard(str(run.root)) as address:
        page = browser.open(f"{address}/run/run/battles")
        page.wait_for_text("Zerg against Terran Hard <b>Rush</b> on ProvingGround-0: Tie")
        page.wait_for("document.querySelector('.battle img')?.naturalWidth === 176")
        page.wait_for("document.querySelectorAll('.battle circle').length > 50")
        page.wait_for_text("0:30 of 0:30")  # it has played to its end automatically
        page.click('[aria-label="first"]')
        page.wait_for_text("0:00 of 0:30")
        game = put_game(run.buffer, 1, extra={RECORDING: older.name})
        page.go(f"{address}/run/run/game/buffer/{game.name}")
        page.click(f'a[href="/run/run/battles?file={older.name}"]')
        page.wait_for(f"!!document.querySelector('.filters')?.innerText.includes('{older.name}')")
        page.wait_for_text("Zerg against Terran Hard <b>Rush</b> on ProvingGround-0: Tie")
        older.unlink()
        page.go(f"{address}/run/run/game/buffer/{game.name}")
        page.wait_for_text("Every decision")
        assert not page.evaluate("!!document.querySelector('a[href*=\"battles?file\"]')")
        assert page.complaints == []
