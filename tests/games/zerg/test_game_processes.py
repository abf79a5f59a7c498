from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from understudy.games.zerg.game_processes import process_pool

SCRIPT = """
import sys, time
from pathlib import Path
from understudy.games.zerg.game_processes import process_pool

def work(note):
    while True:
        Path(note).write_text(str(time.time()))
        time.sleep(0.02)

if __name__ == "__main__":
    with process_pool(1) as pool:
        pool.submit(work, sys.argv[1]).result()
"""


def test_players_work() -> None:
    with process_pool(2) as pool:
        assert list(pool.map(abs, [-1, 2, -3])) == [1, 2, 3]


@pytest.mark.slow
def test_players_end_when_their_parent_is_killed(tmp_path: Path) -> None:
    script, note = tmp_path / "script.py", tmp_path / "note"
    script.write_text(SCRIPT)
    parent = subprocess.Popen([sys.executable, str(script), str(note)])
    try:
        while parent.poll() is None and not note.exists():
            time.sleep(0.05)
    finally:
        parent.kill()
        parent.wait()
    deadline = time.monotonic() + 60
    before, now = None, note.read_text()
    while now != before and time.monotonic() < deadline:
        time.sleep(1.0)
        before, now = now, note.read_text()
    assert now == before, "the player continues without its parent"
