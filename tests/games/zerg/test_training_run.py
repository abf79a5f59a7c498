from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("sc2")
pytest.importorskip("numba")

from understudy.agent import RLAgent
from understudy.errors import SettingsError
from understudy.experience.episode import read_episode
from understudy.experience.notes import RECORDING
from understudy.games.zerg import state, training_run
from understudy.games.zerg.challenges import Challenge
from understudy.games.zerg.history import GameLog, PlayedGame, plot_win_rate, win_rate_table
from understudy.games.zerg.one_game import GameSetup, find_starcraft
from understudy.games.zerg.run_options import parse_options
from understudy.games.zerg.sample_games import samples_of
from understudy.games.zerg.strategies import NAMES as STRATEGIES
from understudy.games.zerg.training_run import CRASHES_THAT_STOP, _fitted, main
from understudy.learner.statistics import Statistics
from understudy.run.state import Activity, RunState
from understudy.rundir import RunDir
from understudy.settings import StorageSettings

SHORT = ["--difficulty", "VeryEasy", "--time-limit", "40", "--practice", "0", "--game", "proving-ground"]

RECORD_BYTES = 4 + 4 + 8 + 8 + 8 + 8 + state.STATE_DIM * 4 + 1  # of a decision in a journal


@pytest.mark.slow
def test_games_are_played_learned_from_and_continued_by_a_second_start(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--run-dir", str(tmp_path), "--games", "3", *SHORT]
    assert main(arguments) == 0
    first = capsys.readouterr().out
    assert "Playing on the proving ground" in first
    assert [line.split("]")[0] for line in first.splitlines() if line.startswith("[GAME")] == [
        "[GAME 1",
        "[GAME 2",
        "[GAME 3",
    ]
    assert "3 games, 0 won, 0 crashed" in first
    assert main([*arguments, "--instances", "2", "--practice", "1"]) == 0
    second = capsys.readouterr().out
    assert "Continuing: 3 games were played here before" in second
    assert "[BACKGROUND LEARNING] STATISTICS" in second
    assert sorted(game.number for game in GameLog(tmp_path).games) == [0, 1, 2, 3, 4, 5]
    learned = [read_episode(path, StorageSettings()) for path in RunDir.at(tmp_path).archive.glob("*.npz")]
    assert sum(episode.meta.game == "zerg" for episode in learned) == 6
    recorded = [episode.meta.extra[RECORDING] for episode in learned if RECORDING in episode.meta.extra]
    assert sorted(recorded) == sorted(path.name for path in samples_of(RunDir.at(tmp_path)))
    assert len(recorded) >= 1  # the first game; another one a minute later
    assert sum(episode.meta.game == "zerg-direct" for episode in learned) > 0  # practice beside the second session
    assert not list(RunDir.at(tmp_path).buffer.glob("*.npz"))
    assert json.loads(RunDir.at(tmp_path).step_time.read_text())["seconds"] > 0  # for the learner, which makes room


@pytest.mark.slow
def test_a_killed_run_goes_on_and_learns_what_was_decided_in_the_game_under_way(tmp_path: Path) -> None:
    run = RunDir.at(tmp_path)
    script = "import sys; from understudy.games.zerg.training_run import main; sys.exit(main(sys.argv[1:]))"
    flags = ["--run-dir", str(tmp_path), "--games", "0", *SHORT, "--time-limit", "1000"]
    killed = subprocess.Popen([sys.executable, "-c", script, *flags], stdout=subprocess.DEVNULL)
    try:
        while killed.poll() is None and not any(path.stat().st_size > 3_000 for path in run.live.glob("*.journal")):
            time.sleep(0.05)
    finally:
        killed.kill()
        killed.wait()
    (journal,) = run.live.glob("*.journal")
    decisions = (journal.stat().st_size - len(journal.read_bytes().split(b"\n", 1)[0])) // RECORD_BYTES
    assert main(["--run-dir", str(tmp_path), "--games", "1", *SHORT]) == 0
    learned = {e.meta.id: e for e in (read_episode(path, StorageSettings()) for path in run.archive.glob("*.npz"))}
    assert learned.keys() > {journal.stem}
    assert len(learned[journal.stem]) == decisions - 1  # nobody saw what the last one led to
    assert [game.number for game in GameLog(tmp_path).games] == [0]


@pytest.mark.slow
def test_a_game_that_was_over_before_the_kill_is_written_down_by_the_next_start(tmp_path: Path) -> None:
    arguments = ["--run-dir", str(tmp_path), *SHORT]
    assert main([*arguments, "--games", "2"]) == 0
    path = tmp_path / "games.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0])  # as if the kill had come between the game's end and its line
    history = GameLog(tmp_path)
    assert history.recover(RunDir.at(tmp_path)) == 1
    assert [json.loads(line) for line in path.read_bytes().splitlines()] == [json.loads(line) for line in lines]
    assert GameLog(tmp_path).recover(RunDir.at(tmp_path)) == 0


class NoLearner:
    """Stands in for the learner where a test is not about it."""

    def __init__(self, **_: Any) -> None:
        self.stopped = False

    def start(self) -> bool:
        return True

    def stop(self, *, drain: bool = False) -> dict[str, Any]:
        assert drain
        return self.get_stats()

    def get_stats(self) -> dict[str, Any]:
        return Statistics(state=RunState(Activity.RUNNING), model_version=0).as_dict()


def record(challenge: Challenge, result: str = "Victory", error: str = "") -> PlayedGame:
    return PlayedGame(challenge.number, challenge.race, challenge.difficulty, challenge.build, "m", result, error=error)


@pytest.fixture
def no_learner(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training_run, "BackgroundParallelLearner", NoLearner)


@pytest.mark.usefixtures("no_learner")
def test_five_crashes_in_a_row_stop_the_run_and_single_ones_do_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def play_one(challenge: Challenge, setup: GameSetup) -> PlayedGame:
        crashes = challenge.number % 2 == 0 if challenge.number < 6 else True
        return record(challenge, "Crash", "the disk is on fire") if crashes else record(challenge)

    monkeypatch.setattr(training_run, "play_one", play_one)
    assert main(["--run-dir", str(tmp_path), "--games", "100", "--practice", "0"]) == 1
    assert len(GameLog(tmp_path).games) == 6 + CRASHES_THAT_STOP
    assert "the disk is on fire" in capsys.readouterr().err


@pytest.mark.usefixtures("no_learner")
def test_ctrl_c_ends_with_a_summary(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def play_one(challenge: Challenge, setup: GameSetup) -> PlayedGame:
        if challenge.number == 2:
            raise KeyboardInterrupt
        return record(challenge)

    monkeypatch.setattr(training_run, "play_one", play_one)
    assert main(["--run-dir", str(tmp_path), "--games", "0", "--practice", "0"]) == 0
    assert "This session: 2 games, 2 won, 0 crashed." in capsys.readouterr().out
    assert (tmp_path / "win_rate.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (KeyboardInterrupt(), 130, "wait for the next start"),
        (ModuleNotFoundError("No module", name="numba.core"), 1, "the library 'numba.core' is missing. Install it"),
    ],
)
def test_what_ends_a_run_before_its_first_game_is_said(
    error: BaseException,
    code: int,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def run(_self: training_run.TrainingRun) -> int:
        raise error

    monkeypatch.setattr(training_run.TrainingRun, "run", run)
    assert main(["--run-dir", str(tmp_path)]) == code
    assert said in capsys.readouterr().err


def test_a_model_of_other_features_is_said_before_anything_starts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = [f"feature {n}" for n in range(state.STATE_DIM)]
    RLAgent(state.STATE_DIM, STRATEGIES, run_dir=tmp_path, features=names).close()
    assert main(["--run-dir", str(tmp_path), "--games", "1", *SHORT]) == 1
    said = capsys.readouterr()
    assert "another list of features" in said.err
    assert "another run directory" in said.err
    assert "GAME" not in said.out


def test_a_module_of_our_own_that_is_missing_is_a_defect(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(_self: training_run.TrainingRun) -> int:
        raise ModuleNotFoundError("No module", name="understudy.nowhere")

    monkeypatch.setattr(training_run.TrainingRun, "run", run)
    with pytest.raises(ModuleNotFoundError):
        main(["--run-dir", str(tmp_path)])


def test_a_line_cut_short_by_a_kill_is_left_out_and_the_next_game_is_whole(tmp_path: Path) -> None:
    history = GameLog(tmp_path)
    for number in range(2):
        history.add(PlayedGame(number, "Terran", "Hard", "Rush", "m", "Victory"))
    path = tmp_path / "games.jsonl"
    path.write_bytes(path.read_bytes()[:-20])
    again = GameLog(tmp_path)
    assert len(again.games) == 1
    again.add(PlayedGame(1, "Zerg", "Hard", "Rush", "m", "Defeat"))
    assert [game.race for game in GameLog(tmp_path).games] == ["Terran", "Zerg"]


def test_a_line_that_is_too_long_for_the_terminal_goes_on_below() -> None:
    parts = (
        "[GAME 9] [#########.] 9/10",
        "Protoss CheatInsane Timing: Victory in 10:12, +0.91",
        "model v14",
        "won 4/9",
    )
    assert _fitted(parts, 120).count("\n") == 0
    narrow = _fitted(parts, 80).splitlines()
    assert max(map(len, narrow)) <= 80
    assert narrow == [f"{parts[0]}  {parts[1]}", "    model v14 | won 4/9"]


def test_the_table_shows_the_win_rate_over_the_games() -> None:
    games = [PlayedGame(n, "Terran", "Hard", "Rush", "m", "Victory" if n >= 5 else "Defeat") for n in range(10)]
    lines = win_rate_table(games, blocks=2).splitlines()
    assert lines[1].split()[:5] == ["1-5", "0", "5", "0", "0%"]
    assert lines[2].split()[:5] == ["6-10", "5", "0", "0", "100%"]
    assert win_rate_table([]) == "No game has been finished."


def test_the_plot_is_a_picture(tmp_path: Path) -> None:
    games = [PlayedGame(n, "Terran", "Hard", "Rush", "m", "Victory") for n in range(3)]
    assert plot_win_rate(games, tmp_path / "plot.png")
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")


def test_flags_win_over_variables_and_variables_over_defaults() -> None:
    environment = {"ZERG_GAMES": "7", "ZERG_RACE": "Zerg", "ZERG_NO_EXPLORATION": "1"}
    options = parse_options(["--race", "Terran"], environment)
    assert (options.games, options.race, options.no_exploration) == (7, "Terran", True)
    assert parse_options([], {}).minutes == 4.5
    assert parse_options(["--games", "3"], {}).minutes is None


def test_a_wrong_variable_is_said() -> None:
    with pytest.raises(SettingsError, match="ZERG_GAMES cannot be used: 'many' is not a whole number"):
        parse_options([], {"ZERG_GAMES": "many"})
    with pytest.raises(SettingsError, match="one of"):
        parse_options([], {"ZERG_RACE": "Orc"})


def test_starcraft_is_found_by_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SC2PATH", str(tmp_path))
    with pytest.raises(SettingsError, match="unset it to play on the proving ground"):
        find_starcraft()
    (tmp_path / "Versions").mkdir()
    assert find_starcraft() == str(tmp_path)
