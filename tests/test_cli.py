from __future__ import annotations

from pathlib import Path

import pytest

from game_files import make_model, put_game
from understudy.cli import main
from understudy.models.store import ModelStore
from understudy.run.status import read_status
from understudy.rundir import RunDir


def test_help_names_every_command_and_setting(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(["--help"])
    out = capsys.readouterr().out
    assert all(command in out for command in ("learn", "doctor", "models"))
    with pytest.raises(SystemExit, match="0"):
        main(["learn", "--help-all"])
    assert "--training.learning-rate X" in capsys.readouterr().out


def test_a_wrong_setting_ends_with_one_clear_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["learn", str(tmp_path), "--training.gamma", "2"]) == 1
    assert capsys.readouterr().err == "understudy: --training.gamma is 2.0; it must be at least 0 and at most 1.\n"


def test_models_lists_versions_and_goes_back_to_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = RunDir.at(tmp_path)
    assert main(["models", str(tmp_path)]) == 1
    assert "No model has been published" in capsys.readouterr().err
    run.create()
    store = ModelStore(run.model, run.ledger)
    state = store.create(make_model())
    store.publish(state, state, publisher="learner")
    assert main(["models", str(tmp_path)]) == 0
    assert "learner" in capsys.readouterr().out
    assert main(["models", str(tmp_path), "--rollback", "1"]) == 0
    assert "published again, as version 3" in capsys.readouterr().out
    assert store.load().version == 3
    assert main(["models", str(tmp_path), "--average", "9"]) == 0
    assert "The mean of 2 versions is published as version 4" in capsys.readouterr().out
    assert "Request: average" in run.log.read_text()
    assert main(["models", str(tmp_path), "--average", "1"]) == 1
    assert "at least two versions" in capsys.readouterr().err
    assert main(["models", str(tmp_path), "--rollback", "99"]) == 1
    assert "Version 99 is not kept" in capsys.readouterr().err


def test_watching_without_training_leaves_games_where_they_are(tmp_path: Path) -> None:
    run = RunDir.at(tmp_path)
    run.create()
    ModelStore(run.model, run.ledger).create(make_model())
    path = put_game(run.buffer)
    assert main(["learn", str(tmp_path), "--once", "--no-training"]) == 0
    assert path.exists()
    assert read_status(run.status)["buffer_files"] == 1
