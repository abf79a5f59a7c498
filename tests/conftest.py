"""Fixtures that several files share. Tests run with one BLAS thread, as the product does, and only pytest ends them."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import pytest

from understudy.machine.priority import ONE_BLAS_THREAD

os.environ.update(ONE_BLAS_THREAD)  # before NumPy is imported
_end = os._exit

if TYPE_CHECKING:
    from understudy.models.state import ModelState
    from understudy.rundir import RunDir


def _end_loudly(status: int) -> NoReturn:
    """Code of the product that ends its process must not end the tests as if all had passed."""
    print(f"\nos._exit({status}) in the process of the tests: those that follow were not run.", file=sys.stderr)
    _end(status or 70)


def _same_priority(_: int) -> int:
    """Code of the product that lowers its priority must not slow down all tests: it could not be raised again."""
    return 0


os._exit = _end_loudly
if (
    signal.getsignal(signal.SIGINT) is signal.SIG_IGN
):  # in a job in the background; the programs that tests start hear it
    signal.signal(signal.SIGINT, signal.default_int_handler)
if os.name == "posix":
    os.nice = _same_priority


@pytest.fixture
def run(tmp_path: Path) -> RunDir:
    """An empty run directory."""
    from understudy.rundir import RunDir  # noqa: PLC0415 - after the number of threads is set

    made = RunDir.at(tmp_path / "run")
    made.create()
    return made


@pytest.fixture
def first_model(run: RunDir) -> ModelState:
    """The run has an untrained model, version 1, for the games of game_files.py."""
    from game_files import make_model  # noqa: PLC0415
    from understudy.models.store import ModelStore  # noqa: PLC0415

    return ModelStore(run.model, run.ledger).create(make_model())
