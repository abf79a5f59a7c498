"""Processes are killed at random moments: every game is learned once, none is lost, all machines agree."""

from __future__ import annotations

from pathlib import Path

import pytest

from remote.namespaces import available
from remote.storm import storm


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["folder", "s3"])
def test_every_game_is_learned_once_whatever_is_killed(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if kind == "s3":
        pytest.importorskip("obstore")
        pytest.importorskip("moto")
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION", "AWS_ENDPOINT_URL"):
            monkeypatch.setenv(name, "set by the storm")  # and restored afterwards
    apart = kind == "s3" and available()
    found = storm(kind, kills=6, seconds=6.0, folder=tmp_path, apart=apart, restart_every=4)
    assert found["kills"] == 6
    assert found["games"] >= 20
    if kind == "s3":
        assert found["restarts"] == 1
