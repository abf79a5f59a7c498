"""The gate's comparison continues on the ladder, and the games there are evidence in the run, each once."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest

from games.zerg.arena.stand_in import BOT, TOKEN, Arena, agent, serving, zipped
from games.zerg.arena.test_push import pushed, run_with_versions
from understudy.experience.episode import read_episode
from understudy.games.zerg.arena.client import ArenaClient
from understudy.games.zerg.arena.comparison import FILE
from understudy.games.zerg.arena.pull import Pulled, pull
from understudy.models.gate import Gate
from understudy.models.gate_state import GateState
from understudy.models.store import ModelStore
from understudy.rundir import RunDir
from understudy.settings import GateSettings, StorageSettings

CHAMPION, CANDIDATE = 2, 4


def pulled(arena: Arena, run: RunDir) -> Pulled:
    made = ArenaClient(TOKEN, arena.url, timeout=5, sleep=lambda _: None)
    return pull(made, run, BOT, say=lambda _: None)


def gate_of(run: RunDir) -> Gate:
    return Gate(run.ledger, ModelStore(run.model, run.ledger))


def state_of(run: RunDir) -> GateState:
    state = gate_of(run).look()
    assert state is not None
    return state


@pytest.fixture
def run(tmp_path: Path) -> RunDir:
    """A run whose gate has version 2 as champion; the line is at version 4."""
    run = run_with_versions(tmp_path / "run", 3)
    gate_of(run).use(GateSettings())
    gate_of(run).promote(CHAMPION, "the test")
    return run


def unpacked(content: bytes, folder: Path) -> Path:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        archive.extractall(folder)
    return folder


def play(folder: Path, games: int, seed: int = 3) -> list[int]:
    """Games on the ladder with these data: the candidate wins, the champion loses; returns who played."""
    played = []
    with agent(folder, online_training=True, try_out=False, seed=seed) as bot:
        for _ in range(games):
            bot.begin_episode(opponent_id="rival")
            for step in range(3):
                bot.select_action([step, 1.0])
            played.append(bot.model_version)
            bot.end_episode("Defeat" if bot_plays_champion(played[-1]) else "Victory")
    return played


def bot_plays_champion(version: int) -> bool:
    return version == CHAMPION


def test_games_of_the_ladder_are_evidence_once_and_decide(run: RunDir, tmp_path: Path) -> None:
    with serving() as arena:
        assert pushed(arena, run)
        ladder = unpacked(arena.data, tmp_path / "ladder")
        played = play(ladder, 20)
        assert set(played) == {CHAMPION, CHAMPION + 1}, "what is trained there does not play"
        assert played.count(CHAMPION) == 15, "the candidate plays its share of each block of four"
        arena.data = zipped(ladder)
        assert pulled(arena, run) == Pulled(0, 20, 0, 0, 5)
        contest = state_of(run).contest
        assert contest is not None
        assert (contest.seen, contest.mean) == (5, 1.0)
        records = [read_episode(path, StorageSettings()).meta for path in run.buffer.glob("*.npz")]
        assert {(meta.result, meta.model_version) for meta in records} == {("Defeat", CHAMPION), ("Victory", CANDIDATE)}
        assert pulled(arena, run).comparisons == 0
        play(ladder, 4, seed=4)
        arena.data = zipped(ladder)
        assert pulled(arena, run).comparisons == 1, "the blocks that are known are not counted again"
        assert not pushed(arena, run), "the comparison on the ladder goes on"
        play(ladder, 30, seed=5)  # the ladder's own gate has decided; here, more evidence is needed
        arena.data = zipped(ladder)
        pulled(arena, run)
        assert state_of(run).champion == CHAMPION
        assert pushed(arena, run), "another comparison of the same two"
        ladder = unpacked(arena.data, tmp_path / "again")
        play(ladder, 20, seed=6)
        arena.data = zipped(ladder)
        pulled(arena, run)
        assert state_of(run).champion == CANDIDATE
        assert pushed(arena, run), "there is a new champion"


def test_a_comparison_that_is_over_and_one_of_another_run_count_for_nothing(run: RunDir, tmp_path: Path) -> None:
    other = run_with_versions(tmp_path / "other", 5)
    gate_of(other).use(GateSettings())
    gate_of(other).promote(CHAMPION, "the test")
    with serving() as arena:
        assert pushed(arena, run)
        ladder = unpacked(arena.data, tmp_path / "ladder")
        play(ladder, 8)
        arena.data = zipped(ladder)
        assert pulled(arena, other).comparisons == 0
        gate_of(run).promote(3, "the test")
        assert pulled(arena, run) == Pulled(0, 8, 0, 0, 0)
        assert state_of(run).contest is None


def test_results_that_cannot_be_read_cost_the_evidence_and_no_game(run: RunDir, tmp_path: Path) -> None:
    with serving() as arena:
        assert pushed(arena, run)
        ladder = unpacked(arena.data, tmp_path / "ladder")
        play(ladder, 8)
        ledger = RunDir.at(ladder).ledger
        ledger.write_bytes(ledger.read_bytes()[:1000])
        arena.data = zipped(ladder)
        assert pulled(arena, run) == Pulled(0, 8, 0, 0, 0)


def test_who_wants_no_comparison_on_the_ladder_gets_the_champion_alone(run: RunDir) -> None:
    with serving() as arena:
        assert pushed(arena, run, compare=False)
        with zipfile.ZipFile(io.BytesIO(arena.data)) as archive:
            assert archive.namelist() == ["models/rl_agent_model.npz"]
        assert pushed(arena, run), "now it is wanted"
        with zipfile.ZipFile(io.BytesIO(arena.data)) as archive:
            assert FILE in archive.namelist()
