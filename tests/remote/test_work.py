"""`understudy work`: machines that play for a bucket."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from understudy.cli import main
from understudy.errors import RemoteError, RemoteUnavailable
from understudy.experience.episode import read_episode
from understudy.models.store import ModelStore
from understudy.remote.bucket import Bucket
from understudy.remote.head import read_head
from understudy.remote.layout import GAMES
from understudy.remote.work import game_of, work
from understudy.rundir import RunDir
from understudy.settings import RemoteSettings, Settings, StorageSettings

SETTINGS = Settings(remote=RemoteSettings(free_bytes=0, poll_seconds=0.1, push_seconds=0.1))


def test_every_player_of_every_game_is_sent_with_its_own_rewards(tmp_path: Path) -> None:
    bucket = tmp_path / "bucket"
    run = RunDir.at(tmp_path / "run")
    facts = work(run, str(bucket), SETTINGS, threading.Event(), game="tictactoe", games=10)
    paths = [path for path in (bucket / GAMES).rglob("*") if path.is_file()]
    assert facts["games_up"] == len(paths) == 20
    episodes = [read_episode(path, StorageSettings()) for path in paths]
    assert sum(float(episode.rewards.sum()) for episode in episodes) == pytest.approx(0)
    results = [episode.meta.result for episode in episodes]
    assert results.count("Victory") == results.count("Defeat")
    assert {episode.meta.game for episode in episodes} == {"tictactoe"}


def test_the_next_machine_plays_the_same_game_with_the_model_of_the_bucket(tmp_path: Path) -> None:
    url = str(tmp_path / "bucket")
    runs = [RunDir.at(tmp_path / name) for name in ("first", "second")]
    work(runs[0], url, SETTINGS, threading.Event(), game="tictactoe", games=1)
    assert main(["work", url, "--games", "1", "--run-dir", str(runs[1].root)]) == 0
    first, second = (ModelStore(run.model, run.ledger).load() for run in runs)
    assert first.arrays["parameters"].tobytes() == second.arrays["parameters"].tobytes()
    head = read_head(Bucket(url))
    assert head is not None
    assert head.model.version == second.version


def test_the_first_model_is_what_the_game_recommends(tmp_path: Path) -> None:
    run = RunDir.at(tmp_path / "run")
    work(run, str(tmp_path / "bucket"), SETTINGS, threading.Event(), game="parallel.small:Recommending", games=1)
    made = ModelStore(run.model, run.ledger).load()
    assert made.spec.network.hidden == (7, 5)
    assert made.training.gae_lambda == 0.5


def test_the_game_of_a_bucket_is_named_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    url = str(tmp_path / "bucket")
    assert main(["work", url, "--run-dir", str(tmp_path / "run")]) == 1
    assert "--game" in capsys.readouterr().err
    assert game_of(Bucket(url), "tictactoe") == game_of(Bucket(url), None) == "tictactoe"
    with pytest.raises(RemoteError, match="tictactoe"):
        game_of(Bucket(url), "drift")


@pytest.mark.slow
def test_a_machine_that_learns_gets_the_games_of_the_others(tmp_path: Path) -> None:
    url, stop = str(tmp_path / "bucket"), threading.Event()
    work(RunDir.at(tmp_path / "player"), url, SETTINGS, stop, game="tictactoe", games=5)
    stop = threading.Event()
    timer = threading.Timer(20.0, stop.set)
    timer.start()

    def look() -> None:
        while not stop.wait(0.2):
            head = read_head(Bucket(url))
            if head is not None and any(consumed.ranges == [[1, 10]] for consumed in head.consumed.values()):
                stop.set()

    threading.Thread(target=look, daemon=True).start()
    facts = work(RunDir.at(tmp_path / "learner"), url, SETTINGS, stop, learn=True)
    timer.cancel()
    assert facts["games_down"] == 10
    head = read_head(Bucket(url))
    assert head is not None
    assert [consumed.ranges for consumed in head.consumed.values()] == [[[1, 10]]]


@pytest.mark.slow
def test_a_machine_that_starts_offline_plays_on_and_sends_its_games_later(
    s3_url: str, s3_address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    run = RunDir.at(tmp_path / "run")
    work(run, s3_url, SETTINGS, threading.Event(), game="tictactoe", games=1)
    monkeypatch.setattr(Bucket.__init__, "__kwdefaults__", {**(Bucket.__init__.__kwdefaults__ or {}), "patience": 0.1})
    monkeypatch.setattr("understudy.remote.work._LAST_SECONDS", 0.1)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    facts = work(run, s3_url, SETTINGS, threading.Event(), games=3)
    assert facts["games_up"] == 0
    assert "with the local model" in caplog.text
    monkeypatch.setenv("AWS_ENDPOINT_URL", s3_address)
    assert work(run, s3_url, SETTINGS, threading.Event(), games=1)["games_up"] == 8
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    with pytest.raises(RemoteUnavailable):
        work(RunDir.at(tmp_path / "new"), s3_url, SETTINGS, threading.Event(), game="tictactoe", games=1)
