"""The league: past versions play the other side, results are the learner's, and a run resumes exactly."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from understudy.games.game import open_game
from understudy.models.live import Interface, new_model
from understudy.models.state import to_bytes
from understudy.models.store import ModelStore
from understudy.parallel.league import League, with_league
from understudy.parallel.loop import TrainingLoopManager
from understudy.parallel.standings import Standings, versions_in
from understudy.run.lock import StopRequest
from understudy.rundir import RunDir
from understudy.settings import NetworkSettings, ParallelSettings, Settings, TrainingSettings

ACTIONS = tuple(f"{row}{column}" for row in "abc" for column in "123")


def versions(folder: Path, count: int) -> Path:
    place = folder / "versions"
    place.mkdir(parents=True)
    model = new_model(Interface(18, ACTIONS), NetworkSettings(hidden=(8,)), TrainingSettings(), 1)
    for number in range(1, count + 1):
        (place / f"{number:06d}.npz").write_bytes(to_bytes(dataclasses.replace(model, version=number)))
    return place


def play(league: League, steps: int, rng: np.random.Generator) -> tuple[list[float], list[int]]:
    """Random moves; the results of the matches of the league that have ended, and the learner's side in them."""
    states, legal = np.zeros((league.matches, 18), np.float32), np.zeros((league.matches, 9), np.bool_)
    results, sides_of = [], []
    for _ in range(steps):
        league.observe(states)
        league.legal(legal)
        sides = league.to_move()
        for match in range(4, league.matches):
            stones = states[match].reshape(2, 9).sum(axis=1)
            assert stones[0] == stones[1] - (sides[match] == 1)  # it is the learner's turn, and it sees its own stones
        step = league.step(np.argmax(np.where(legal, rng.random(legal.shape), -1), axis=1))
        for match in np.flatnonzero(step.over[4:]).tolist():
            results.append(float(step.rewards[4 + match]))
            sides_of.append(int(sides[4 + match]))
    return results, sides_of


def test_the_learner_is_always_to_move_and_gets_results_of_both_sides(tmp_path: Path) -> None:
    league = with_league("tictactoe", 12, 2 / 3, versions(tmp_path, 2))
    assert isinstance(league, League)
    league.reset(np.random.SeedSequence(1))
    results, sides = play(league, 200, np.random.default_rng(1))
    assert set(results) == {-1.0, 0.0, 1.0}
    assert 0.3 < np.mean(sides) < 0.7
    assert len(results) > 200


def test_opponents_with_even_results_are_drawn_most() -> None:
    standings = Standings()
    for number in range(200):
        standings.count("beaten", 1.0)
        standings.count("even", number % 2)
        standings.count("too strong", 0.0)
    chances = standings.chances(["beaten", "even", "too strong", "never met"])
    assert chances.sum() == pytest.approx(1)
    assert chances[1] > 4 * chances[0]
    assert chances[1] > 4 * chances[2]
    assert chances[3] == pytest.approx(chances[1], rel=0.05)  # few games so far: worth testing
    assert chances[0] > 0.02
    rng = np.random.default_rng(1)
    drawn = [standings.draw(["beaten", "even"], rng) for _ in range(500)]
    assert drawn.count("even") == pytest.approx(500 * chances[1] / (chances[0] + chances[1]), abs=40)


def test_old_results_fade_and_standings_are_continued_exactly() -> None:
    standings = Standings()
    for _ in range(1000):
        standings.count("7", 0.0)
    for _ in range(200):
        standings.count("7", 1.0)
    assert standings.expected("7") > 0.85  # all results together would say 0.17
    assert Standings(standings.snapshot()).snapshot() == standings.snapshot()


def test_kept_versions_are_found_and_nothing_else(tmp_path: Path) -> None:
    place = versions(tmp_path, 3)
    (place / "notes.npz").write_bytes(b"")
    assert versions_in(place) == [1, 2, 3]
    assert versions_in(tmp_path / "nothing") == []


def test_a_snapshot_continues_exactly(tmp_path: Path) -> None:
    place = versions(tmp_path, 3)
    one, other = (with_league("tictactoe", 12, 2 / 3, place) for _ in range(2))
    one.reset(np.random.SeedSequence(1))
    play(one, 90, np.random.default_rng(1))  # type: ignore[arg-type]
    saved = one.snapshot()
    assert saved is not None
    assert other.restore(saved).all()
    assert play(one, 60, np.random.default_rng(2)) == play(other, 60, np.random.default_rng(2))  # type: ignore[arg-type]
    assert one.snapshot() == other.snapshot()


def test_games_of_one_player_and_runs_without_versions_have_no_league(tmp_path: Path) -> None:
    assert type(with_league("drift", 8, 0.5, versions(tmp_path, 1))) is type(open_game("drift", 8))
    assert isinstance(with_league("tictactoe", 8, 0.5, tmp_path / "nothing"), League)  # until there is one: at random
    assert not isinstance(with_league("tictactoe", 8, 0.0, tmp_path), League)


@pytest.mark.slow
def test_self_play_with_a_league_learns(tmp_path: Path) -> None:
    run = RunDir.at(tmp_path)
    run.create()
    parallel = ParallelSettings(games_per_worker=16, batch_size=512, league_share=0.5, checkpoint_updates=2)
    loop = TrainingLoopManager(
        "tictactoe", Settings(parallel=parallel), store=ModelStore(run.model, run.ledger), seed=1
    )
    loop.run(StopRequest(), updates=12)
    assert loop.stats.updates == 12
    assert max(ModelStore(run.model, run.ledger).kept_versions()) >= 6
