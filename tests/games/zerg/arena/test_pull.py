"""What the ladder knows comes into the run once, whatever breaks on the way."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from games.zerg.arena.stand_in import BOT, STRATEGIES, TOKEN, Arena, agent, ladder_data, serving
from understudy.cli import main
from understudy.experience.episode import read_episode
from understudy.games.zerg.arena import tokens as token_module
from understudy.games.zerg.arena.client import ArenaClient
from understudy.games.zerg.arena.errors import ArenaError
from understudy.games.zerg.arena.notes import read_notes
from understudy.games.zerg.arena.pull import Pulled, pull
from understudy.games.zerg.arena.tokens import VARIABLE, find_token
from understudy.rundir import RunDir
from understudy.sc2.opponents import OPPONENTS, OpponentMemory
from understudy.settings import StorageSettings


def client(arena: Arena, token: str = TOKEN) -> ArenaClient:
    return ArenaClient(token, arena.url, timeout=5, sleep=lambda _: None)


def quiet(_: str) -> None:
    """Progress that nobody reads."""


def new_run(folder: Path) -> RunDir:
    agent(folder, seed=1).close()
    return RunDir.at(folder)


def ids(run: RunDir) -> list[str]:
    return sorted(path.stem.rpartition("_")[2] for path in run.buffer.glob("*.npz"))


def test_games_memory_and_results_are_taken_in_once(tmp_path: Path) -> None:
    run = new_run(tmp_path / "run")
    with serving() as arena:
        arena.data = ladder_data(tmp_path / "data", 4)
        arena.matches = [("rival 0", "loss"), ("rival 1", "win"), ("rival 2", "tie")]
        assert pull(client(arena), run, BOT, replays=True, say=quiet) == Pulled(3, 4, 0, 1)
        first, memory = ids(run), (run.root / OPPONENTS).read_bytes()
        assert pull(client(arena), run, BOT, replays=True, say=quiet) == Pulled(0, 0, 0, 0)
        assert (ids(run), (run.root / OPPONENTS).read_bytes()) == (first, memory)
        arena.data = ladder_data(tmp_path / "data", 2, seed=1)
        arena.matches.append(("rival 0", "win"))
        assert pull(client(arena), run, BOT, say=quiet) == Pulled(1, 2, 0, 0)
    assert len(ids(run)) == 6
    results = read_notes(run.root).results
    assert [(entry["opponent"], entry["result"]) for entry in results.values()] == [
        ("rival 0", "Defeat"),
        ("rival 1", "Victory"),
        ("rival 2", "Tie"),
        ("rival 0", "Victory"),
    ]
    assert (run.root / "replays" / "lost" / "1000.SC2Replay").read_bytes() == b"replay /replays/1000"


def test_a_game_of_the_ladder_is_learned_from_here_too(tmp_path: Path) -> None:
    run = new_run(tmp_path / "run")
    with serving() as arena:
        arena.data = ladder_data(tmp_path / "data", 1)
        pull(client(arena), run, BOT, say=quiet)
    (path,) = run.buffer.glob("*.npz")
    episode = read_episode(path, StorageSettings())
    assert not episode.meta.trained_online
    assert (episode.meta.opponent_id, episode.meta.extra["origin"]) == ("rival 0", "ladder")
    assert main(["learn", str(run.root), "--once"]) == 0
    assert ids(run) == []
    with serving() as arena:
        arena.data = ladder_data(tmp_path / "data", 0)
        assert pull(client(arena), run, BOT, say=quiet).games == 0, "the ledger knows the game"


def test_the_memory_is_as_if_the_games_had_been_played_here(tmp_path: Path) -> None:
    run = new_run(tmp_path / "run")
    with serving() as arena:
        arena.data = ladder_data(tmp_path / "data", 6)
        pull(client(arena), run, BOT, say=quiet)
    memory = OpponentMemory(run.root / OPPONENTS, STRATEGIES)
    assert memory.choose_opening("rival 0", 2, {"wall": 0.5, "expand": 0.45}) in ("wall", "expand")
    raw = json.loads((run.root / OPPONENTS).read_text())
    assert raw["opponents"]["id rival 1"]["games"] == pytest.approx(1.98)  # two games; the first has faded a little
    assert len(raw["games"]) == 6


def test_a_match_that_still_runs_is_taken_in_later(tmp_path: Path) -> None:
    run = new_run(tmp_path / "run")
    with serving() as arena:
        arena.matches = [("a", "win"), ("b", None), ("c", "win")]
        assert pull(client(arena), run, BOT, say=quiet).results == 1
        arena.matches[1] = ("b", "loss")
        assert pull(client(arena), run, BOT, say=quiet).results == 2


@pytest.mark.parametrize("faults", [[500, 503], [None, "cut", "cut"], [429, None, "cut", 502]])
def test_a_server_that_stumbles_is_asked_again(tmp_path: Path, faults: list[int | str | None]) -> None:
    run = new_run(tmp_path / "run")
    with serving() as arena:
        arena.data = ladder_data(tmp_path / "data", 2)
        arena.faults = list(faults)
        assert pull(client(arena), run, BOT, say=quiet).games == 2
        assert len(arena.requests) == 3 + sum(fault is not None for fault in faults)


def test_a_server_that_stays_down_changes_nothing(tmp_path: Path) -> None:
    run = new_run(tmp_path / "run")
    with serving() as arena:
        arena.faults = [503] * 50
        with pytest.raises(ArenaError, match=r"503 .*tried 5 times"):
            pull(client(arena), run, BOT, say=quiet)
    assert read_notes(run.root).last == 0


def test_a_wrong_token_is_said_and_not_tried_again(tmp_path: Path) -> None:
    run = new_run(tmp_path / "run")
    with serving() as arena:
        with pytest.raises(ArenaError, match=r"refuses the token .*ladder login"):
            pull(client(arena, "wrong"), run, BOT, say=quiet)
        assert len(arena.requests) == 1


def test_a_token_goes_over_no_open_connection_and_is_in_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ArenaError, match="not https"):
        ArenaClient(TOKEN, "http://aiarena.net")
    run = new_run(tmp_path / "run")
    monkeypatch.setenv(VARIABLE, TOKEN)
    with serving() as arena:
        arena.matches = [("rival", "win")]
        flags = ["--ladder.url", arena.url, "--ladder.bot", str(BOT)]
        assert main(["ladder", "pull", str(run.root), *flags]) == 0
        assert main(["ladder", "status", str(run.root), *flags]) == 0
    assert "rival" in capsys.readouterr().out
    assert not [path for path in run.root.rglob("*") if path.is_file() and TOKEN.encode() in path.read_bytes()]
    monkeypatch.delenv(VARIABLE)
    monkeypatch.setattr(token_module, "_keyring", lambda: None)
    with pytest.raises(ArenaError, match=VARIABLE):
        find_token("aiarena.net")


def test_data_that_are_damaged_or_foreign_are_left_out(tmp_path: Path) -> None:
    run = new_run(tmp_path / "run")
    with serving() as arena:
        arena.data = b"no zip"
        with pytest.raises(ArenaError, match="not a zip"):
            pull(client(arena), run, BOT, say=quiet)
        good = tmp_path / "data"
        ladder_data(good, 2)
        (broken,) = good.rglob("*_Defeat_*.npz")
        broken.write_bytes(broken.read_bytes()[:100])
        (good / "data" / "archive" / "game_1_Victory_..evil.npz").write_bytes(b"x")
        arena.data = ladder_data(good, 0)
        found = pull(client(arena), run, BOT, say=quiet)
    assert (found.games, found.rejected) == (1, 1)
    assert len(ids(run)) == 1


@pytest.mark.slow
def test_a_pull_that_is_killed_at_any_moment_loses_and_doubles_nothing(tmp_path: Path) -> None:
    chance = random.Random(0)
    run, calm = new_run(tmp_path / "run"), new_run(tmp_path / "calm")
    code = (
        "import sys\nfrom understudy.games.zerg.arena.client import ArenaClient\n"
        "from understudy.games.zerg.arena.pull import lock, pull\nfrom understudy.rundir import RunDir\n"
        "print('ready', flush=True)\nrun = RunDir.at(sys.argv[2])\n"
        f"with lock(run): pull(ArenaClient({TOKEN!r}, sys.argv[1]), run, {BOT})\n"
    )
    with serving() as arena:
        arena.data = ladder_data(tmp_path / "data", 30)
        arena.matches = [(f"rival {n}", "win") for n in range(6)]
        arena.delay = 0.03
        killed = 0
        for _ in range(8):
            process = subprocess.Popen(
                [sys.executable, "-c", code, arena.url, str(run.root)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
            )
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(chance.uniform(0.0, 0.25))
            process.kill()
            killed += process.wait() != 0
            process.communicate()
        arena.delay = 0.0
        pull(client(arena), run, BOT, say=quiet)
        pull(client(arena), calm, BOT, say=quiet)
    assert killed >= 3
    assert ids(run) == ids(calm)
    assert len(ids(calm)) == 30
    assert json.loads((run.root / OPPONENTS).read_text()) == json.loads((calm.root / OPPONENTS).read_text())
    assert read_notes(run.root).results == read_notes(calm.root).results
