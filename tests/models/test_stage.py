"""What a bot plays with under the gate, through RLAgent itself."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from understudy.agent import RLAgent
from understudy.errors import RunDirError
from understudy.files.locks import FileLock
from understudy.ledger.gate import GateLedger
from understudy.models.gate import Gate
from understudy.models.store import ModelStore
from understudy.rundir import RunDir
from understudy.settings import GateSettings, Settings

STATE = np.ones(3, np.float32)


def bot(folder: Path, mode: str = "guard", **more: object) -> RLAgent:
    settings = Settings(gate=GateSettings(mode=mode, candidate_games=1))  # type: ignore[arg-type]
    return RLAgent(3, 2, run_dir=folder, hidden=(4,), settings=settings, seed=1, **more)  # type: ignore[arg-type]


def play(agent: RLAgent, result: str = "Victory") -> int:
    agent.begin_episode(opponent_id="somebody")
    agent.select_action(STATE)
    agent.observe_reward(1.0)
    return int(agent.end_episode(result)["model_version"])


def gate_games(folder: Path) -> list[tuple[str, int, float | None]]:
    with GateLedger(RunDir.at(folder).ledger) as ledger:
        return ledger.query("SELECT role, version, score FROM gate_games ORDER BY began")


def gate_of(folder: Path) -> Gate:
    run = RunDir.at(folder)
    return Gate(run.ledger, ModelStore(run.model, run.ledger))


def test_guard_is_the_default_and_the_champion_plays_a_share_as_control(tmp_path: Path) -> None:
    with RLAgent(3, 2, run_dir=tmp_path, hidden=(4,), seed=1, online_training=True) as agent:
        versions = [play(agent) for _ in range(21)]
    state = gate_of(tmp_path).look()
    assert state is not None
    assert state.settings == GateSettings()
    games = gate_games(tmp_path)
    controls = [game for game in games if game[0] == "control"]
    assert len(controls) == 4  # of 20: the first game is not compared, champion and line are the same
    assert {version for _, version, _ in controls} == {1}
    assert versions.count(1) == 4 + 1
    assert all(score == 1.0 for _, _, score in games)
    assert RunDir.at(tmp_path).versions.joinpath("000001.npz").exists()


def test_a_control_game_is_learned_by_the_line(tmp_path: Path) -> None:
    with bot(tmp_path, online_training=True) as agent:
        for _ in range(11):
            play(agent)
        assert "control" in {role for role, _, _ in gate_games(tmp_path)}
        assert agent.model_version == 12


def test_a_worse_line_leaves_the_stage_and_bots_load_the_champion(tmp_path: Path) -> None:
    run = RunDir.at(tmp_path)
    with bot(tmp_path, online_training=True) as agent:
        play(agent)
        champion = ModelStore(run.model, run.ledger).load_version(1).arrays["parameters"]
        for _ in range(60):
            agent.begin_episode(opponent_id="somebody")
            agent.select_action(STATE)
            agent.end_episode("Victory" if agent.model_version == 1 else "Defeat")
            state = gate_of(tmp_path).look()
            assert state is not None
            if state.stage == "champion":
                break
        else:
            raise AssertionError("the line was never taken off")
        agent.begin_episode()
        agent.select_action(STATE)
        assert np.array_equal(agent._playing.export().arrays["parameters"], champion)
    with RLAgent(3, 2, run_dir=tmp_path, record=False) as watcher:
        watcher.begin_episode()
        assert watcher.model_version == 1


def test_strict_plays_no_version_that_was_not_shown_to_be_better(tmp_path: Path) -> None:
    with bot(tmp_path, "strict", online_training=True) as agent:
        for _ in range(40):
            play(agent, "Defeat")
    games = gate_games(tmp_path)
    assert {role for role, _, _ in games} == {"champion", "challenger"}
    assert {version for role, version, _ in games if role == "champion"} == {1}
    assert sum(role == "challenger" for role, _, _ in games) <= len(games) * 0.25 + 1


def test_off_compares_nothing(tmp_path: Path) -> None:
    with bot(tmp_path, "off", online_training=True) as agent:
        assert [play(agent) for _ in range(5)] == [1, 2, 3, 4, 5]
    assert gate_games(tmp_path) == []


def test_what_was_chosen_for_the_run_stays_when_a_bot_has_default_settings(tmp_path: Path) -> None:
    bot(tmp_path, "strict").close()
    with bot(tmp_path, "strict") as agent:
        play(agent)
    with RLAgent(3, 2, run_dir=tmp_path) as agent:
        play(agent)
    state = gate_of(tmp_path).look()
    assert state is not None
    assert state.settings.mode == "strict"


def kill(agent: RLAgent) -> None:
    """What is left of a game when its process is killed: a journal that nobody holds."""
    assert agent._game is not None
    agent._game.journal.close()
    agent._game = None


def test_a_game_that_is_left_before_its_end_counts_as_lost_at_once(tmp_path: Path) -> None:
    with bot(tmp_path, online_training=True) as agent:
        play(agent)
        for _ in range(2):
            agent.begin_episode(opponent_id="somebody")
            agent.select_action(STATE)
        assert [score for _, _, score in gate_games(tmp_path)] == [0.0, None]
    assert [score for _, _, score in gate_games(tmp_path)] == [0.0, 0.0]


def test_without_its_ledger_a_bot_plays_what_is_on_stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RunDirError("The disk is full.")

    with bot(tmp_path, "strict", online_training=True) as agent:
        for _ in range(5):
            play(agent)
        assert agent.model_version > 1
        monkeypatch.setattr(Gate, "appoint", broken)
        assert play(agent) == 1


def test_a_game_whose_bot_died_counts_as_lost(tmp_path: Path) -> None:
    with bot(tmp_path, online_training=True) as agent:
        play(agent)
        agent.begin_episode(opponent_id="somebody")
        agent.select_action(STATE)
        kill(agent)
    run = RunDir.at(tmp_path)
    (journal,) = run.live.glob("*.journal")
    held = FileLock(journal)
    assert held.acquire(blocking=False)
    with GateLedger(run.ledger) as ledger, ledger.transaction() as db:
        db.execute("UPDATE gate_games SET began = ?", (time.time() - 3600,))
    with bot(tmp_path) as agent:
        play(agent)
        assert gate_games(tmp_path)[0][2] is None  # another process has its journal and may continue
    held.release()
    journal.unlink()
    with bot(tmp_path) as agent:
        play(agent)
    assert gate_games(tmp_path)[0][2] == 0.0


def test_a_game_that_ended_before_its_bot_died_keeps_its_result(tmp_path: Path) -> None:
    with bot(tmp_path, online_training=True) as agent:
        play(agent)
        play(agent)
    run = RunDir.at(tmp_path)
    with GateLedger(run.ledger) as ledger, ledger.transaction() as db:  # as if it was killed before its report
        db.execute("UPDATE gate_games SET finished = NULL, score = NULL, began = ?", (time.time() - 3600,))
    with bot(tmp_path) as agent:
        play(agent)
    assert gate_games(tmp_path)[0][2] == 1.0
