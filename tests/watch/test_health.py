from __future__ import annotations

import dataclasses
import shutil
import time
from pathlib import Path

import numpy as np
import pytest

from game_files import make_episode, put_game
from understudy import RLAgent
from understudy.experience.episode import file_name, write_episode
from understudy.rundir import RunDir
from understudy.watch.health import Health, judge
from understudy.watch.history import RunHistory, Series
from understudy.watch.progress import judge_progress, of_games
from understudy.watch.snapshot import RunSnapshot, read_run
from understudy.watch.win_rates import Rates, Results
from watch.prepared import learn_all, new_run, set_status


def health(run: RunDir) -> Health:
    return judge(read_run(run))


def names(found: Health) -> list[str]:
    return [trouble.name for trouble in found.troubles]


@pytest.fixture
def run(learned: RunDir) -> RunDir:
    """A healthy run: its learner sends heartbeats, and games arrive."""
    set_status(learned)
    return learned


def test_a_run_that_is_well_is_green(run: RunDir) -> None:
    assert health(run).light == "green", health(run)
    assert ": version 5, learned " in health(run).sentence


def test_a_line_that_was_shown_to_be_worse_is_red_and_the_evidence_is_told(run: RunDir) -> None:
    sentence = "The line (version 9) was taken off the stage: in 12 comparisons it scored -0.80 points a game."
    set_status(run, gate={"sentence": "v5 is on stage.", "last_harm": {"at": time.time(), "sentence": sentence}})
    found = health(run)
    assert (found.light, names(found)) == ("red", ["worse model taken off"])
    assert sentence in found.sentence
    assert f"understudy gate {run.root}" in found.sentence
    set_status(run, gate={"sentence": "v5 is on stage.", "last_harm": None})
    assert health(run).light == "green"


def test_a_stopped_learner_is_grey_and_red_once_games_wait(run: RunDir) -> None:
    set_status(run, state="stopped", heartbeat_age=90)
    found = health(run)
    assert (found.light, names(found)) == ("grey", [])
    assert found.headline == "Finished, 1m 30s ago"
    assert f"understudy learn {run.root}" in found.sentence
    put_game(run.buffer)
    found = health(run)
    assert found.light == "red"
    assert "1 game waits" in found.sentence


def test_a_full_disk_is_red(run: RunDir, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage(run.root)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=1_000_000))
    found = health(run)
    assert (found.light, names(found)) == ("red", ["disk full"])
    assert "The disk is full (1 MB are free): games and models cannot be saved. Make room" in found.sentence
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=19_000_000))
    assert "The disk is almost full (19 MB are free): soon games" in health(run).sentence
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=300_000_000))
    assert names(health(run)) == ["disk nearly full"]


def test_a_learner_that_met_a_full_disk_is_red_whatever_the_disk_says_now(run: RunDir) -> None:
    set_status(run, state="waiting: [Errno 28] No space left on device: 'x'")
    assert names(health(run)) == ["disk full"]


@pytest.mark.slow
def test_a_growing_rejected_folder_is_amber_then_red_and_shows_the_latest_reason(run: RunDir) -> None:
    for number in range(8):
        (run.buffer / f"bad{number}.npz").write_bytes(b"nonsense")
    learn_all(run)
    set_status(run)
    found = health(run)
    assert (found.light, names(found)) == ("amber", ["files rejected"])
    assert "8 of the last 48 files could not be used" in found.sentence
    assert "too short for an .npz" in found.sentence
    assert str(run.rejected) in found.sentence
    for number in range(100):
        (run.buffer / f"worse{number}.npz").write_bytes(b"nonsense")
    learn_all(run)
    set_status(run)
    assert health(run).light == "red"


def test_a_few_rejected_files_are_no_trouble(run: RunDir) -> None:
    (run.buffer / "bad.npz").write_bytes(b"nonsense")
    learn_all(run)
    set_status(run)
    assert read_run(run).rejected.count == 1
    assert health(run).light == "green"


def test_a_batch_that_gives_nan_is_amber_and_names_the_game(run: RunDir) -> None:
    episode = make_episode(seed=99, model_version=1)
    huge = dataclasses.replace(episode, rewards=np.full(len(episode), 3e38, np.float32))
    write_episode(run.buffer / file_name(huge.meta), huge, compress=False)
    learn_all(run)
    set_status(run)
    found = health(run)
    assert (found.light, names(found)) == ("amber", ["NaN batch"])
    assert f"{file_name(huge.meta)} was rejected as the cause" in found.sentence
    assert "Check the states and rewards of that game" in found.sentence


def test_a_stale_heartbeat_is_red_and_says_for_how_long(run: RunDir) -> None:
    set_status(run, heartbeat_age=125, pid=4711)
    found = health(run)
    assert (found.light, names(found)) == ("red", ["stale heartbeat"])
    assert "The learner (pid 4711) has sent no heartbeat for 2m 5s" in found.sentence


def test_a_run_without_a_learner_is_red_once_games_wait(tmp_path: Path) -> None:
    run = new_run(tmp_path / "run")
    assert (health(run).light, health(run).headline) == ("grey", "Not started")
    put_game(run.buffer)
    found = health(run)
    assert (found.light, names(found)) == ("red", ["no learner"])


def test_a_run_without_new_games_is_amber(run: RunDir) -> None:
    later = time.time() + 3600
    set_status(run)
    seen = read_run(run)
    found = judge(dataclasses.replace(seen, at=later))
    assert (found.light, names(found)) == ("amber", ["no games coming"])


def test_games_that_wait_while_the_learner_does_nothing_are_a_stall(run: RunDir) -> None:
    put_game(run.buffer, age=300)
    set_status(run, batch_wanted=1)
    seen = read_run(run)
    later = dataclasses.replace(
        seen, at=seen.at + 200, learner=dataclasses.replace(seen.learner, started_at=seen.at - 500)
    )
    found = judge(later)
    assert (found.light, names(found)) == ("red", ["queue stalled"])
    of_two = dataclasses.replace(
        later, learner=dataclasses.replace(later.learner, stats={**later.learner.stats, "batch_wanted": 2})
    )
    assert judge(of_two).light == "green"  # it waits for another game
    assert judge(of_two).sentence.endswith("1 game waits for a batch of 2.")
    training = dataclasses.replace(later, learner=dataclasses.replace(later.learner, state="training"))
    assert judge(training).light == "green"


@pytest.mark.parametrize(
    ("state", "name"),
    [
        ("paused by request of Ann", "paused by request"),
        ("waiting: The model cannot be used. It is damaged.", "learner in trouble"),
    ],
)
def test_a_learner_that_waits_says_what_for(run: RunDir, state: str, name: str) -> None:
    put_game(run.buffer)
    set_status(run, state=state)
    assert names(health(run)) == [name]


@pytest.mark.parametrize(
    ("state", "name"),
    [
        ("paused for the game", "waiting for the machine"),
        ("waiting for CPU", "waiting for the machine"),
        ("waiting for a model (the bot makes the first one)", "waiting for a model"),
    ],
)
def test_waiting_is_no_problem_until_nothing_was_learned_for_long(run: RunDir, state: str, name: str) -> None:
    put_game(run.buffer)
    set_status(run, state=state, state_since=time.time() - 20)
    assert health(run).light == "green"
    seen = read_run(run)
    later = judge(dataclasses.replace(seen, at=seen.at + 700))
    assert (later.light, names(later)) == ("amber", [name])


def test_every_state_of_a_learner_has_a_phase_with_its_detail_and_time(run: RunDir) -> None:
    put_game(run.buffer)
    texts = {
        "running": "Running, for 1m 0s",
        "training": "Running, for 1m 0s",
        "waiting for CPU": "Waiting for CPU, for 20s",
        "paused for the game": "Waiting for the game, which needs the machine, for 20s",
        "paused by request of Ann": "Paused by Ann, for 20s",
        "waiting: No space left on device": "Waiting after an error, for 20s",
        "stopped": "Finished, 5s ago",
        "failed": "Failed, 5s ago",
    }
    now = time.time()
    for state, text in texts.items():
        set_status(run, state=state, state_since=now - 20, started_at=now - 60, heartbeat_age=5)
        assert judge(dataclasses.replace(read_run(run), at=now + 0.1)).headline == text


def test_more_games_than_the_learner_can_learn_are_amber(run: RunDir) -> None:
    for number in range(201):
        (run.buffer / f"game_20260101_000000_Victory_{number}.npz").touch()
    assert names(health(run)) == ["queue long"]


def test_a_batch_is_not_longer_than_its_games_have_waited(run: RunDir) -> None:
    set_status(run, state="training", started_at=time.time() - 5000)
    put_game(run.buffer, age=60)
    seen = dataclasses.replace(read_run(run), last_version_at=time.time() - 2000)
    assert "long batch" not in names(judge(seen))
    put_game(run.buffer, 1, age=700)
    seen = dataclasses.replace(read_run(run), last_version_at=time.time() - 2000)
    assert "training on one batch for 11m 40s" in judge(seen).sentence


def test_workers_that_died_are_amber(run: RunDir) -> None:
    set_status(run, worker_deaths=2)
    assert names(health(run)) == ["workers died"]


def test_a_damaged_ledger_and_model_are_red_and_point_to_the_doctor(run: RunDir) -> None:
    run.ledger.write_bytes(b"no database" * 500)
    run.ledger.with_name(f"{run.ledger.name}-wal").unlink(missing_ok=True)
    run.model.write_bytes(b"no model")
    found = health(run)
    assert found.light == "red"
    assert names(found) == ["ledger damaged", "model damaged"]
    assert f"understudy doctor --fix {run.root}" in found.sentence


def test_an_empty_folder_lacks_nothing_and_says_how_to_begin(tmp_path: Path) -> None:
    found = health(RunDir.at(tmp_path))
    assert (found.light, found.phase.word, names(found)) == ("grey", "not started", [])
    assert "Start a bot with this run: `python run_with_training.py" in found.sentence


def test_a_run_whose_bot_learns_without_a_learner_has_started(tmp_path: Path) -> None:
    run = RunDir.at(tmp_path)
    with RLAgent(2, ("left", "right"), run_dir=tmp_path, seed=0) as agent:
        agent.select_action([0, 1])
        assert health(run).phase.word == "running"
        agent.end_episode("Victory")
    found = health(run)
    assert (found.light, found.phase.word, names(found)) == ("grey", "finished", [])
    assert "Start the bot again" in found.sentence


def test_a_directory_that_is_not_there_is_red_and_says_how_to_begin(tmp_path: Path) -> None:
    found = health(RunDir.at(tmp_path / "nothing"))
    assert (found.light, names(found)) == ("red", ["missing"])
    assert "makes one" in found.sentence


def test_refused_updates_of_self_play_are_amber() -> None:
    seen = RunSnapshot("run", 1000.0, exists=True)
    stats = {"selfplay": {"refused_updates": 3}}
    learner = dataclasses.replace(seen.learner, seen=True, alive=True, state="running", stats=stats)
    assert names(judge(dataclasses.replace(seen, learner=learner))) == ["NaN batch"]


def rates(*points: tuple[int, float, int]) -> Rates:
    x, value, games = (list(column) for column in zip(*points, strict=True))
    return Rates(x=x, to=x, at=[0.0] * len(x), value=value, low=value, high=value, games=games, played=x)


def test_progress_tells_improvement_from_chance() -> None:
    assert judge_progress(RunHistory()).sentence == "No game with a winner yet."
    assert of_games(rates((10, 0.5, 10))).sentence.endswith("too few games to compare.")
    better = of_games(rates((50, 0.2, 50), (100, 0.6, 50)))
    assert (better.light, better.word) == ("green", "Getting better")
    assert better.sentence.endswith("20% of the 50 before.")
    worse = of_games(rates((50, 0.6, 50), (100, 0.2, 50)))
    assert (worse.light, worse.word) == ("red", "Getting worse")
    same = of_games(rates((50, 0.5, 50), (100, 0.54, 50)))
    assert (same.light, same.word) == ("", "No change shown")


def test_progress_compares_spans_that_share_no_game() -> None:
    last_fifty = rates((50, 0.1, 50), (75, 0.5, 50), (100, 0.9, 50))
    assert "10% of the 50 before" in of_games(last_fifty).sentence


def test_progress_is_by_evaluation_where_the_bot_has_no_games_of_its_own() -> None:
    evaluated = rates((1, 0.2, 40), (9, 0.8, 40))
    history = RunHistory(others={"evaluation": Results(evaluated, evaluated)})
    found = judge_progress(history)
    assert found.verdict == "better"
    assert found.sentence == "Version 9 won 80% of 40 evaluation games, version 1 won 20%."


def test_a_mean_return_alone_gives_no_verdict() -> None:
    returns = Series(x=list(range(40)), value=[0.0] * 20 + [1.0] * 20)
    found = judge_progress(RunHistory(metrics={"mean_return": returns}))
    assert (found.verdict, found.light) == ("unknown", "")
    assert found.sentence.startswith("The mean return went from 0 in the first quarter to 1 in the last.")


def test_games_archived_unlearned_are_amber_with_the_reason_until_it_is_long_ago(run: RunDir) -> None:
    set_status(run, skipped={"no room": 1200, "too old": 3}, skipped_at=time.time() - 60)
    found = health(run)
    assert (found.light, names(found)) == ("amber", ["games skipped"])
    assert (
        "archived without learning, the last one 1m 0s ago: 3 waited longer than learner.max_file_age; 1,200 were"
        in (found.sentence)
    )
    assert "storage.buffer_games" in found.troubles[0].advice
    set_status(run, skipped_at=time.time() - 7200)
    assert health(run).light == "green"


def test_a_game_without_winners_gets_better_by_its_returns() -> None:
    rng = np.random.default_rng(1)
    low, high = (rng.normal(mean, 30, 60).tolist() for mean in (100.0, 200.0))
    rising, falling = (judge_progress(RunHistory(returns=values)) for values in ([*low, *high], [*high, *low]))
    assert (rising.verdict, falling.verdict) == ("better", "worse")
    assert rising.sentence.startswith("The last 60 games have a mean return of ")
    assert judge_progress(RunHistory(returns=[500.0] * 100)).verdict == "no change shown"
    assert judge_progress(RunHistory(returns=low[:30])).verdict == "unknown"
    chance = [judge_progress(RunHistory(returns=rng.normal(0, 1, 100).tolist())).verdict for _ in range(400)]
    assert chance.count("better") + chance.count("worse") < 40  # 20 are expected of a test at the 95 % level


def test_self_play_of_one_player_is_judged_by_its_mean_return() -> None:
    points = list(range(40))
    rising = Series(points, value=[float(n) for n in points], games=[1000.0 * n for n in points])
    assert judge_progress(RunHistory(metrics={"mean_return": rising}, players=1)).verdict == "better"
    assert judge_progress(RunHistory(metrics={"mean_return": rising}, players=2)).verdict == "unknown"
    flat = Series(points, value=[float(n % 2) for n in points], games=[1000.0 * n for n in points])
    assert judge_progress(RunHistory(metrics={"mean_return": flat}, players=1)).verdict == "no change shown"


def test_a_game_that_was_learned_early_in_a_long_run_counts_as_better() -> None:
    points = list(range(400))
    solved = Series(points, value=[min(25.0 + 25 * n, 490 + n % 10) for n in points], games=[30.0 * n for n in points])
    found = judge_progress(RunHistory(metrics={"mean_return": solved}, players=1))
    assert found.verdict == "better"
    assert found.sentence.startswith("The mean return went from 25 at the start to 49")


def test_a_mean_return_that_only_fluctuates_is_seldom_taken_for_a_change() -> None:
    rng, points = np.random.default_rng(2), list(range(36))
    games = [100.0 * n for n in points]
    verdicts = [
        judge_progress(
            RunHistory(
                metrics={"mean_return": Series(points, value=rng.normal(0, 1, 36).tolist(), games=games)}, players=1
            )
        ).verdict
        for _ in range(400)
    ]
    assert 400 - verdicts.count("no change shown") < 40  # 20 are expected of a test at the 95 % level


def test_a_value_out_of_range_is_a_note_with_feature_value_and_game_until_it_is_long_ago(run: RunDir) -> None:
    found = [{"feature": f"enemy_{n}", "value": 10.0**n, "game": "game_1.npz"} for n in range(8, 13)]
    set_status(run, outliers=found, outliers_at=time.time() - 60)
    seen = health(run)
    assert (seen.light, names(seen)) == ("green", ["values out of range"])
    assert "1m 0s ago: enemy_8 was 1e+08 in game_1.npz; enemy_9 was 1e+09 in game_1.npz; " in seen.troubles[0].what
    assert seen.troubles[0].what.endswith("enemy_10 was 1e+10 in game_1.npz; 2 more features.")
    assert "Check the bot's code that computes it" in seen.troubles[0].advice
    set_status(run, outliers_at=time.time() - 7200)
    assert names(health(run)) == []


def test_a_broken_model_is_red_and_says_what_to_do(run: RunDir) -> None:
    trouble = {"what": "Model version 9 is broken: x.", "advice": "`understudy models RUN_DIR --rollback 8`."}
    set_status(run, state="waiting: Model version 9 is broken: x.", model_trouble=trouble)
    found = health(run)
    assert (found.light, names(found)) == ("red", ["model broken"])
    assert found.sentence == "Model version 9 is broken: x. `understudy models RUN_DIR --rollback 8`."


def test_a_queue_is_long_by_the_size_of_the_batches_that_it_goes_into(run: RunDir) -> None:
    seen = read_run(run)
    busy = dataclasses.replace(seen, buffer=dataclasses.replace(seen.buffer, count=900, oldest_at=seen.at))
    assert names(judge(busy)) == ["queue long"]
    fast = dataclasses.replace(busy, metrics={**busy.metrics, "games": 300})
    assert judge(fast).light == "green"


def test_a_loop_that_hangs_is_red_though_its_heart_beats(run: RunDir) -> None:
    set_status(run, loop_seconds=3.0)
    assert health(run).light == "green"
    set_status(run, loop_seconds=14.0)
    found = health(run)
    assert (found.light, names(found)) == ("red", ["learner hangs"])
    assert "has made no progress for 14s" in found.sentence
    set_status(run, state="training", loop_seconds=14.0)  # a long step is no hang
    assert health(run).light == "green"
    set_status(run, state="training", loop_seconds=150.0)
    assert names(health(run)) == ["learner hangs"]


def test_a_clock_that_differs_is_amber_and_says_by_how_much(run: RunDir) -> None:
    set_status(run, heartbeat_age=-600, host="other")
    read_run(run)
    set_status(run, heartbeat_age=-601, host="other")  # its heartbeat changes
    found = health(run)
    assert (found.light, names(found)) == ("amber", ["clocks differ"])
    assert "The learner's clock is 10m 0" in found.sentence
    assert "ahead of the clock of this machine" in found.sentence


def test_network_drives_synchronised_folders_and_conflict_copies_are_told(
    run: RunDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("understudy.watch.snapshot.network_kind", lambda _: "nfs4")
    monkeypatch.setattr("understudy.watch.snapshot.synchronised_by", lambda _: "OneDrive")
    found = health(run)
    assert (found.light, names(found)) == ("green", ["network drive", "synchronised folder"])
    assert "SQLite's write-ahead log does not work between machines" in found.troubles[0].advice
    (run.root / "understudy (Anna's conflicted copy 2026-01-25).sqlite").touch()
    found = health(run)
    assert (found.light, names(found)[0]) == ("amber", "conflict copies")
    assert "Anna's conflicted copy" in found.sentence
    assert f"understudy doctor --fix {run.root}" in found.sentence
