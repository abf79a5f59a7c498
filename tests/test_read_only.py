"""A run that this user may only read: what reads works, what writes says what to do, and nothing is changed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from understudy.games.game import open_game
from understudy.ledger.connection import Ledger
from understudy.models.live import Interface, new_model
from understudy.models.store import ModelStore
from understudy.rundir import RunDir
from understudy.settings import NetworkSettings, TrainingSettings

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="root is made an ordinary user with Linux' capabilities"
)

# Modes of files do not stop root, so a process of root gives up the capabilities that let it pass.
_PROGRAM = """
import ctypes, os, sys
for capability in (1, 2):  # DAC_OVERRIDE and DAC_READ_SEARCH
    ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP; refused to others than root, who need it not
os.execv(sys.executable, [sys.executable, "-c", sys.argv[1], *sys.argv[2:]])
"""
_COMMANDS = """
import contextlib, io, json, sys
from understudy.cli import main
found = []
for line in sys.argv[1:]:
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
        code = main(line.split())
    found.append((code, out.getvalue(), err.getvalue()))
print(json.dumps(found))
"""


def with_commands(folder: Path, *lines: str) -> list[tuple[int, str, str]]:
    """Exit code, output and errors of some command lines, run by a user to whom file modes apply."""
    command = [sys.executable, "-c", _PROGRAM, _COMMANDS, *lines]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: list[tuple[int, str, str]] = json.loads(done.stdout)
    return found


@pytest.fixture(params=["closed ledger", "ledger with a log"])
def read_only(request: pytest.FixtureRequest, run: RunDir) -> RunDir:
    """A run of two versions; in the second kind the newer one is only in the write-ahead log."""
    game = open_game("tictactoe", 1)
    first = new_model(Interface(game.state_dim, game.actions), NetworkSettings(hidden=(8,)), TrainingSettings(), seed=0)
    game.close()
    store = ModelStore(run.model, run.ledger)
    made = store.create(first)
    if request.param == "closed ledger":
        store.publish(made, made, publisher="test", stats={"game": "tictactoe"})
    else:
        with Ledger(run.ledger):  # as one that was killed leaves it: the log is not folded in
            store.publish(made, made, publisher="test", stats={"game": "tictactoe"})
            copies = [(path, path.read_bytes()) for path in run.root.glob("understudy.sqlite*")]
        for path, content in copies:
            path.write_bytes(content)
        run.ledger.with_name(f"{run.ledger.name}-shm").unlink()
        assert run.ledger.with_name(f"{run.ledger.name}-wal").stat().st_size
    for path in (run.root, *run.root.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    return run


@pytest.mark.slow
def test_what_reads_works_and_what_writes_says_what_to_do(read_only: RunDir, tmp_path: Path) -> None:
    run, before = read_only.root, _content(read_only.root)
    readers = [
        f"models {run}",
        f"gate {run}",
        f"evaluate {run} --games 2 --json",
        f"export {run} --csv --to out",
        f"monitor {run} --once",
        f"status {run}",
    ]
    writers = [
        f"models {run} --rollback 1",
        f"gate {run} pin 1",
        f"export {run} --csv",
        f"pause {run}",
        f"resume {run}",
        f"note {run} text",
        f"learn {run} --once",
        f"arena {run} random --games 2",
        f"selfplay tictactoe --run-dir {run} --updates 1",
    ]
    stop = f"stop {run}"
    lines = (*readers, *writers, stop)
    found = dict(zip(lines, with_commands(tmp_path, *lines), strict=True))
    for line in readers:
        code, _, error = found[line]
        assert (code, error) == (0, ""), f"{line}: {error}"
    assert "      2       1  " in found[readers[0]][1]
    assert found[stop][0] == 1
    assert "there is nothing to stop" in found[stop][2]
    assert json.loads(found[readers[2]][1])["version"] == 2
    assert len((tmp_path / "out" / "versions.csv").read_text().splitlines()) == 3
    for line in writers:
        code, _, error = found[line]
        assert code == 1, f"{line}: {error}"
        assert str(run) in error, line
        assert "llow" in error or "--to FOLDER" in error, error
        assert "doctor" not in error, error
        assert "Errno" not in error, error
    assert _content(run) == before


def _content(folder: Path) -> dict[Path, bytes | None]:
    return {path: path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}
