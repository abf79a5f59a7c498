from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from game_files import put_game
from understudy.games.shogi.pages.files import records_of
from understudy.rundir import RunDir
from understudy.watch.dashboard.runs import Runs, Watched


@pytest.fixture
def watched(tmp_path: Path) -> Watched:
    run = RunDir.at(tmp_path / "run")
    run.create()
    return Watched("run", run, 0.0)


def test_a_run_that_nobody_has_looked_at_is_not_called_broken(watched: Watched) -> None:
    assert (watched.health.light, watched.health.sentence) == ("grey", "Not read yet.")


def test_a_game_is_found_in_its_folder_only(watched: Watched) -> None:
    game = put_game(watched.run.archive)
    assert watched.file("archive", game.name) == game.resolve()
    assert watched.file("buffer", game.name) is None
    assert watched.file("archive", "another.npz") is None


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("archive", "../../../secret.npz"),
        ("archive", "..\\..\\..\\secret.npz"),
        ("archive", ".."),
        ("archive", ""),
        ("archive", "x/../secret.npz"),
        ("archive", "inside.npz\x00.txt"),
        ("..", "secret.npz"),
        ("buffer/../archive", "inside.npz"),
        ("live", "inside.npz"),
    ],
)
def test_whatever_is_not_a_plain_name_is_refused(watched: Watched, folder: str, name: str) -> None:
    put_game(watched.run.root.parent).rename(watched.run.root.parent / "secret.npz")
    put_game(watched.run.archive).rename(watched.run.archive / "inside.npz")
    assert watched.file(folder, name) is None


def test_a_link_that_leads_out_of_the_run_is_refused(watched: Watched) -> None:
    secret = put_game(watched.run.root.parent)
    (watched.run.archive / "link.npz").symlink_to(secret)
    (watched.run.root / "game.csa").symlink_to(secret)
    assert watched.file("archive", "link.npz") is None
    assert records_of(watched.run) == {}


def test_runs_of_the_same_name_are_told_apart(tmp_path: Path) -> None:
    runs = Runs([RunDir.at(tmp_path / place / "my run") for place in "abc"], 1.0)
    assert runs.names == ["my-run", "my-run~2", "my-run~3"]
    found = runs.get("my-run~2")
    assert found is not None
    assert found.run.root == tmp_path / "b" / "my run"
    assert runs.get("../b") is None


def test_a_look_finds_what_has_changed(watched: Watched) -> None:
    asyncio.run(watched.look())
    assert watched.snapshot.buffer.count == 0
    put_game(watched.run.buffer)
    asyncio.run(watched.look(at_once=True))
    assert watched.snapshot.buffer.count == 1
    assert watched.health.light == "red"  # it waits, and no learner has ever run
