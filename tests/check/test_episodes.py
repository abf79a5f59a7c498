"""`understudy validate`, and the page that specifies the format it checks."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from game_files import put_game
from page_blocks import ROOT, run_blocks
from understudy.agent import RLAgent
from understudy.check.episodes import report
from understudy.cli import main
from understudy.experience.episode import META_FIELDS, Episode
from understudy.models.state import ModelState
from understudy.rundir import RunDir


def test_a_sound_game_is_valid_and_a_broken_one_is_not(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = put_game(tmp_path)
    assert main(["validate", str(good)]) == 0
    assert "12 decisions, 4 features, 3 actions, Victory" in capsys.readouterr().out
    (tmp_path / "bad.npz").write_bytes(good.read_bytes()[:-30])
    assert main(["validate", str(tmp_path)]) == 1
    out = capsys.readouterr().out
    assert "INVALID" in out
    assert "is not an .npz, or its end is missing" in out
    assert out.endswith("1 valid, 1 invalid.\n")


def test_json_has_one_object_per_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put_game(tmp_path, 0)
    put_game(tmp_path, 1)
    assert main(["validate", "--json", str(tmp_path)]) == 0
    reports = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [found["valid"] for found in reports] == [True, True]
    assert reports[0]["id"] != reports[1]["id"]


def test_nothing_to_check_and_a_missing_file_are_failures(tmp_path: Path) -> None:
    assert main(["validate", str(tmp_path)]) == 1
    assert main(["validate", str(tmp_path / "nowhere.npz")]) == 1


def test_a_game_of_another_model_is_valid_but_does_not_fit_the_run(
    run: RunDir, first_model: ModelState, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    game = tmp_path / "game.npz"
    np.savez(game, states=np.ones((3, 9), np.float32), actions=np.array([0, 1, 0]), rewards=np.ones(3, np.float32))
    assert main(["validate", str(game)]) == 0
    assert main(["validate", str(game), "--run-dir", str(run.root)]) == 1
    assert "states has 9 features, the model 4" in capsys.readouterr().out


def test_notes_say_what_would_make_a_game_more_useful(tmp_path: Path) -> None:
    game = tmp_path / "game.npz"
    np.savez(game, states=np.ones((3, 2), np.float32), actions=np.array([0, 1, 0]), rewards=np.zeros(3, np.float32))
    notes = report(game)["notes"]
    assert [note.split(":")[0] for note in notes] == [
        "no log_probs",
        "all rewards are 0",
        "no id in meta",
        "the result is Unknown",
    ]
    assert report(put_game(tmp_path))["notes"] == []


def test_the_page_names_every_array_and_every_key_of_meta() -> None:
    page = (ROOT / "docs" / "episode-format.md").read_text(encoding="utf-8")
    arrays, meta = page.split("## The arrays")[1].split("## `meta`")
    meta = meta.split("## The file")[0]

    def first_column(text: str) -> set[str]:
        cells = re.findall(r"^\| (`[^|]+) \|", text, re.MULTILINE)
        return {name for cell in cells for name in re.findall(r"`(\w+)`", cell)}

    assert first_column(arrays) == {name for name in Episode.__slots__ if name != "meta"} | {"meta"}
    assert first_column(meta) == META_FIELDS


@pytest.mark.slow
def test_games_written_as_the_page_says_are_valid_and_learned_from(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_blocks("episode-format.md", tmp_path)
    buffer = tmp_path / "my_run" / "data" / "buffer"
    assert main(["validate", str(buffer)]) == 0
    assert capsys.readouterr().out.endswith("2 valid, 0 invalid.\n")
    (buffer / "game_20260125_143100_Defeat.npz").unlink()  # it has another number of features
    RLAgent(8, 3, run_dir=tmp_path / "my_run").close()
    assert main(["learn", str(tmp_path / "my_run"), "--once"]) == 0
    assert len(list((tmp_path / "my_run" / "data" / "archive").glob("*.npz"))) == 1
