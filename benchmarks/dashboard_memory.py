"""What the dashboard keeps of pages that were opened and left: its memory before and after 1,500 page loads.

    python benchmarks/dashboard_memory.py RUN_DIR
    python benchmarks/dashboard_memory.py RUN_DIR --chromium 150     # tabs of a browser, which are closed again

Without a browser a page is loaded and its socket never opened, as by a program that polls the address.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tools.chromium import MISSING, Browser, find_chromium

LIMIT_MB = 150.0
_PAGES = ("", "/learning", "/games", "/models", "/machine", "/stage")
_SHOWN_EVERY = 300


def main() -> int:
    """Print the memory as pages are loaded; 1 if more than the limit is kept."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run_dir", type=Path)
    parser.add_argument("--loads", type=int, default=1500, metavar="N")
    parser.add_argument("--chromium", type=int, default=0, metavar="N", help="open and close N tabs in its place")
    options = parser.parse_args()
    run = options.run_dir.resolve()
    with _dashboard(run) as (address, server):
        if not options.chromium:
            return _measure(server, options.loads, lambda number: _fetch(_page(address, run, number)))
        program = find_chromium()
        if program is None:
            sys.exit(MISSING)
        with Browser(program) as browser:
            return _measure(server, options.chromium, lambda number: _visit(browser, _page(address, run, number)))


def _measure(server: psutil.Process, loads: int, load: Callable[[int], None]) -> int:
    for number in range(len(_PAGES)):  # each page once: what is imported and read at first is no leak
        load(number)
    first = before = server.memory_info().rss / 1e6
    start = time.perf_counter()
    for number in range(1, loads + 1):
        load(number)
        if number % _SHOWN_EVERY == 0 or number == loads:
            now = server.memory_info().rss / 1e6
            print(
                f"{number:>6,} page loads: {now:6.0f} MB ({now - before:+.0f} MB), {time.perf_counter() - start:.0f} s"
            )
            before = now
    kept = server.memory_info().rss / 1e6 - first
    print(f"{kept:.0f} MB more than after one load of each page (limit {LIMIT_MB:.0f} MB)")
    return int(kept > LIMIT_MB)


def _page(address: str, run: Path, number: int) -> str:
    return f"{address}/run/{run.name}{_PAGES[number % len(_PAGES)]}"


def _fetch(url: str) -> None:
    with urllib.request.urlopen(url, timeout=60) as answer:
        answer.read()


def _visit(browser: Browser, url: str) -> None:
    page = browser.open(url)
    page.wait_for("document.body && document.body.innerText.length > 100", 60)
    page.close()


@contextmanager
def _dashboard(run: Path) -> Iterator[tuple[str, psutil.Process]]:
    command = [sys.executable, "-m", "understudy", "dashboard", str(run), "--dashboard.port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            found = re.search(r"http://\S+", server.stdout.readline())
            assert found is not None
            yield found[0], psutil.Process(server.pid)
        finally:
            server.terminate()


if __name__ == "__main__":
    sys.exit(main())
