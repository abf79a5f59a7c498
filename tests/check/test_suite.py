"""The general check measures what it says it measures."""

from __future__ import annotations

import json
import math
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from understudy.check.jobs import run_all
from understudy.check.measure import TaskOutcome, Watch
from understudy.check.runs import live, self_play
from understudy.check.suite import OURS, planned, require_defaults, write_results
from understudy.check.table import best_peer, mean_steps, table, verdict
from understudy.check.tasks import TASKS, Task, named, task_of
from understudy.errors import SettingsError

pytest.importorskip("gymnasium")
CARTPOLE = Task("small", "self-play", "CartPole-v1", 8000, 30.0, window=20, fresh=5, compared=True)


def watch(task: Task, learner: str = OURS) -> Watch:
    return Watch(task, learner, 0, stopped=lambda: False, say=lambda _: None)


def outcome(seed: int, reached: int | None, greedy: float = 500.0, learner: str = OURS) -> TaskOutcome:
    return TaskOutcome("small", learner, seed, reached=reached, greedy=greedy)


def test_the_goal_is_reached_when_the_mean_of_a_full_window_of_games_reaches_it() -> None:
    seen = watch(replace(CARTPOLE, goal=10.0, window=3))
    for game, result in enumerate([100.0, 0.0, 0.0, 0.0, 30.0, 0.0], start=1):
        seen.game(100 * game, result)
    assert seen.outcome.reached == 300
    assert seen.outcome.best == pytest.approx(100 / 3)
    assert seen.outcome.last == 10.0


def test_fewer_games_than_the_window_reach_no_goal() -> None:
    seen = watch(replace(CARTPOLE, window=3))
    seen.game(10, 1000.0)
    seen.game(20, 1000.0)
    assert seen.outcome.reached is None
    assert math.isnan(seen.outcome.last)


def test_a_task_is_solved_only_if_the_greedy_policy_reaches_the_goal_too() -> None:
    assert outcome(0, 5000, greedy=30.0).solved(CARTPOLE)
    assert not outcome(0, 5000, greedy=29.0).solved(CARTPOLE)
    assert not outcome(0, None, greedy=500.0).solved(CARTPOLE)


def test_a_task_with_marks_is_solved_if_every_mark_is_reached() -> None:
    task = replace(CARTPOLE, marks=((10, 0.3), (20, 0.5)))
    assert replace(outcome(0, None), marks={10: 0.3, 20: 0.6}).solved(task)
    assert not replace(outcome(0, 5), marks={10: 0.3, 20: 0.4}).solved(task)
    assert not replace(outcome(0, 5), marks={10: 0.9}).solved(task)


def test_our_steps_are_held_against_the_better_of_the_peers_settings() -> None:
    ours = [outcome(0, 1000), outcome(1, 3000)]
    peers = [outcome(0, 4000, learner="a"), outcome(1, None, learner="a"), outcome(0, 2500, learner="b")]
    assert mean_steps(CARTPOLE, peers[:2]) == (4000 + CARTPOLE.steps) / 2
    assert best_peer(CARTPOLE, peers) == 2500
    assert verdict(CARTPOLE, ours, peers) == ("2 of 2 solved, 0.80 × SB3's steps", True)
    assert verdict(CARTPOLE, ours, [outcome(0, 1000, learner="b")]) == ("2 of 2 solved, 2.00 × SB3's steps", False)
    assert verdict(CARTPOLE, ours, []) == ("2 of 2 solved", True)
    assert verdict(CARTPOLE, [*ours, outcome(2, None)], []) == ("2 of 3 solved", False)


def test_the_table_has_a_row_for_each_learner_and_names_what_failed() -> None:
    failed = replace(outcome(1, None, greedy=math.nan), error="its process died")
    rows, passed = table([CARTPOLE], [outcome(0, 1000), failed, outcome(0, 2000, learner="SB3 defaults")], OURS)
    assert not passed
    assert len(rows) == 3
    assert "1,000 / -" in rows[1]
    assert "its process died" in rows[1]
    assert "SB3 defaults" in rows[2]
    assert table([CARTPOLE], [], OURS)[1] is False  # nothing was shown


def test_peers_learn_an_environment_once_however_many_ways_we_learn_it() -> None:
    pytest.importorskip("stable_baselines3")
    runs = planned(named(["cartpole", "live-cartpole"]), [0, 1], ours=True, peers=True, stop_at_goal=False)
    assert [(run.task.name, run.learner, run.seed) for run in runs] == [
        *(("cartpole", learner, seed) for learner in (OURS, "SB3 defaults", "SB3 tuned") for seed in (0, 1)),
        ("live-cartpole", OURS, 0),
        ("live-cartpole", OURS, 1),
    ]


def test_tasks_have_names_of_their_own_and_an_unknown_one_is_an_error() -> None:
    assert len({task.name for task in TASKS}) == len(TASKS)
    with pytest.raises(SettingsError, match="no task chess; there is cartpole"):
        named(["cartpole", "chess"])


def test_any_environment_is_a_task_whose_goal_is_its_registered_threshold() -> None:
    assert task_of("Acrobot-v1", way="live", steps=7, goal=None) == Task("Acrobot-v1", "live", "Acrobot-v1", 7, -100.0)
    assert task_of("Acrobot-v1", way="self-play", steps=7, goal=-90.0).goal == -90.0
    with pytest.raises(SettingsError, match="without a reward threshold"):
        task_of("CliffWalking-v1", way="live", steps=7, goal=None)
    with pytest.raises(SettingsError, match="Gymnasium cannot make 'Nowhere-v0'"):
        task_of("Nowhere-v0", way="live", steps=7, goal=None)


def test_changed_settings_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    require_defaults()
    monkeypatch.setenv("UNDERSTUDY_TRAINING_GAMMA", "0.9")
    with pytest.raises(SettingsError, match=r"training\.gamma"):
        require_defaults()


def test_results_are_written_as_json_without_nan(tmp_path: Path) -> None:
    write_results(tmp_path / "out.json", [CARTPOLE], [outcome(0, None)])
    written = json.loads((tmp_path / "out.json").read_text())
    assert written["tasks"][0]["env"] == "CartPole-v1"
    assert written["runs"][0]["best"] is None


@pytest.mark.slow
def test_self_play_counts_games_and_evaluates_the_policy_that_it_trained() -> None:
    out = self_play(CARTPOLE, 0, watch(CARTPOLE))
    assert out.steps >= CARTPOLE.steps
    assert out.games > 100
    assert out.reached is not None
    assert out.reached <= out.steps
    assert out.greedy > 9.5  # no policy is quicker to fall


@pytest.mark.slow
def test_worker_processes_are_measured_like_self_play_in_one_process() -> None:
    task = replace(CARTPOLE, way="workers", goal=15.0)
    out = self_play(task, 0, watch(task))
    assert out.steps >= task.steps
    assert out.reached is not None
    assert out.greedy > 9.5


@pytest.mark.slow
def test_the_live_loop_learns_every_game_and_evaluates_what_was_published() -> None:
    task = Task("small ladder", "live", "ladder", 200, 0.5, window=5, fresh=3, marks=((10, 0.0),))
    out = live(task, 0, watch(task))
    assert (out.steps, out.games) == (200, 10)
    assert out.marks.keys() == {10}
    assert 0 <= out.greedy <= 1


def half(number: int) -> float:
    if number == 7:
        raise ValueError("seven")
    if number == 9:
        os._exit(3)
    return number / 2


@pytest.mark.slow
def test_a_run_that_fails_or_dies_does_not_end_the_others() -> None:
    results: dict[int, float | str] = {}
    run_all(half, [7, 9, 4], 2, results.__setitem__)
    assert results == {7: "ValueError: seven", 9: "its process died", 4: 2.0}


@pytest.mark.slow
def test_an_interrupted_check_waits_for_the_runs_under_way_and_begins_no_other() -> None:
    results: dict[int, float | str] = {}

    def done(number: int, result: float | str) -> None:
        results[number] = result
        if len(results) == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_all(half, list(range(0, 6, 2)), 1, done)
    assert results.keys() <= {0, 2}  # the second may have begun by then


def test_stable_baselines_learns_the_ladder_task_too() -> None:
    pytest.importorskip("stable_baselines3")
    from understudy.check.peer import DEFAULTS_NAME, train  # noqa: PLC0415 - needs the extra `bench`

    task = Task("small ladder", "live", "ladder", 400, 0.5, window=5, fresh=3, marks=((10, 0.0),))
    out = train(task, DEFAULTS_NAME, 0, watch(task, DEFAULTS_NAME))
    assert (out.steps, out.games) == (400, 20)
    assert out.marks.keys() == {10}


def test_stable_baselines_evaluates_with_the_statistics_that_it_trained_with() -> None:
    pytest.importorskip("stable_baselines3")
    from understudy.check.peer import TUNED_NAME, train  # noqa: PLC0415

    task = Task("small", "self-play", "Acrobot-v1", 4096, -499.0, window=5, fresh=2)
    out = train(task, TUNED_NAME, 0, watch(task, TUNED_NAME))
    assert out.steps >= 4096
    assert np.isfinite(out.greedy)
