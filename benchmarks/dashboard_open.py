"""How long the dashboard needs to show a long history: from the click to the drawn charts, in a real Chromium.

    python benchmarks/watch_history.py --keep FOLDER       # makes a run of a million versions and a million games
    python benchmarks/dashboard_open.py FOLDER

The dashboard runs already, but has not looked at the run before. Wall time, the least of three, each of a new process;
beside it the CPU time of the server, which a busy machine changes less.
"""

from __future__ import annotations

import contextlib
import re
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import psutil

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tools.chromium import MISSING, Browser, find_chromium

LIMIT_SECONDS = 2.0
TRIES = 3
_PAGES = {"Overview": "", "Learning": "/learning", "Games": "/games"}
_DRAWN = "document.querySelectorAll('.chart svg path').length > 3 || !!document.querySelector('.games tbody tr')"


def main(arguments: list[str]) -> int:
    """Print a line for each page; 1 if one of them is slower than the limit."""
    run = Path(arguments[0]).resolve()
    program = find_chromium()
    if program is None:
        sys.exit(MISSING)
    slow = False
    with Browser(program) as browser:
        for name, path in _PAGES.items():
            seconds, cpu = min(_open(browser, run, path) for _ in range(TRIES))
            slow |= seconds > LIMIT_SECONDS
            print(f"{name:<9} {seconds:6.2f} s to the drawn page (limit {LIMIT_SECONDS:g} s), server CPU {cpu:.2f} s")
    return int(slow)


def _open(browser: Browser, run: Path, path: str) -> tuple[float, float]:
    command = [sys.executable, "-m", "understudy", "dashboard", str(run), "--dashboard.port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            found = re.search(r"http://\S+", server.stdout.readline())
            assert found is not None
            with contextlib.suppress(urllib.error.HTTPError):  # its 404: it is up, and has looked at no run
                urllib.request.urlopen(f"{found[0]}/run/none", timeout=60).close()
            used = psutil.Process(server.pid).cpu_times()
            begin = time.perf_counter()
            page = browser.open(f"{found[0]}/run/{run.name}{path}")
            page.wait_for(_DRAWN, 60)
            seconds = time.perf_counter() - begin
            now = psutil.Process(server.pid).cpu_times()
            page.close()
            return seconds, now.user + now.system - used.user - used.system
        finally:
            server.terminate()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
