from __future__ import annotations

from pathlib import Path

import pytest

from understudy.experience.episode import EpisodeMeta, file_name
from understudy.files.conflicts import conflict_copies, is_conflict_copy


@pytest.mark.parametrize(
    "name",
    [
        "understudy (Anna's conflicted copy 2026-01-25).sqlite",
        "rl_agent_model.sync-conflict-20260125-143022-ABCDEFG.npz",
        "status_conflict-20260125-143022.json",
        "understudy (conflict 2026-01-25 14-30-22).sqlite",
    ],
)
def test_names_of_conflict_copies(name: str) -> None:
    assert is_conflict_copy(name)


def test_names_of_files_of_a_run_are_none() -> None:
    names = [
        "understudy.sqlite",
        "understudy.sqlite-wal",
        "000123.npz",
        file_name(EpisodeMeta(result="Conflict")),
        "a (1).npz",
    ]
    assert [name for name in names if is_conflict_copy(name)] == []


def test_folders_are_searched_and_missing_ones_left_out(tmp_path: Path) -> None:
    copy = tmp_path / "model.sync-conflict-20260125-143022-ABCDEFG.npz"
    copy.touch()
    (tmp_path / "model.npz").touch()
    assert list(conflict_copies((tmp_path / "none", tmp_path))) == [copy]
