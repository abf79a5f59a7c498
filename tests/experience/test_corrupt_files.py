from __future__ import annotations

import tracemalloc
from collections import Counter
from pathlib import Path

import pytest

from experience.corrupt_files import MARKER, corrupt_files, sound_file
from understudy.errors import EpisodeError
from understudy.experience.episode import Expected, read_episode
from understudy.settings import StorageSettings

EXPECTED = Expected(state_dim=12, n_actions=5, features_hash="0123456789abcdef")


@pytest.fixture(scope="module")
def damaged(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Path, str]]:
    return corrupt_files(tmp_path_factory.mktemp("corrupt"), 2000, seed=7, expected=EXPECTED)


def test_the_games_that_the_damage_is_done_to_are_sound(tmp_path: Path) -> None:
    for seed in range(50):
        (tmp_path / "x.npz").write_bytes(sound_file(seed, EXPECTED, tmp_path))
        assert len(read_episode(tmp_path / "x.npz", StorageSettings(), EXPECTED)) >= 8


@pytest.mark.slow
def test_every_damaged_file_is_refused_with_a_reason_in_bounded_memory(damaged: list[tuple[Path, str]]) -> None:
    limits = StorageSettings()
    accepted, reasons = [], []
    tracemalloc.start()
    for path, kind in damaged:
        try:
            read_episode(path, limits, EXPECTED)
        except EpisodeError as error:
            reasons.append((kind, str(error).removeprefix(path.name)))
        else:
            accepted.append(path.name)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert accepted == []
    assert len(reasons) == 2000
    assert all(len(reason) >= 10 for _, reason in reasons)
    kinds = Counter(kind for kind, _ in reasons)
    assert len(kinds) == 18
    assert min(kinds.values()) >= 100
    assert peak < 8_000_000
    assert not (damaged[0][0].parent / MARKER).exists()


def test_the_same_seed_gives_the_same_files(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    kinds = [kind for _, kind in corrupt_files(first, 36, 3, Expected(4, 3))]
    corrupt_files(second, 36, 3, Expected(4, 3))
    assert "wrong-features" not in kinds
    for path in first.iterdir():
        if "pickled" not in path.name:  # those name the folder they would write to
            assert path.read_bytes() == (second / path.name).read_bytes(), path.name
