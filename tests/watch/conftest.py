"""One learned run, made once and copied for tests that change it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from understudy.rundir import RunDir
from watch.prepared import learned_run


@pytest.fixture(scope="session")
def learned_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return learned_run(tmp_path_factory.mktemp("learned") / "run").root


@pytest.fixture
def learned(learned_template: Path, tmp_path: Path) -> RunDir:
    """Forty games learned from in four batches, by a learner that has stopped."""
    return RunDir.at(shutil.copytree(learned_template, tmp_path / "run"))
