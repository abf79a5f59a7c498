"""Makes the pictures in docs/images from real runs: the dashboard in both themes and on a phone, and the monitor.

    python tools/screenshots.py RUN_DIR [MORE_RUN_DIRS ...]

It starts a dashboard of its own and looks at it in Chromium. The first run is the one whose pages are shown; the page
that compares runs is made where there are several, those of replays and shogi if one of the runs has any.
"""

from __future__ import annotations

import argparse
import io
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import IO

import numpy as np
from PIL import Image

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tools.chromium import MISSING, Browser, Tab, find_chromium

from understudy.rundir import RunDir

ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs" / "images"
_SETTLED_SECONDS = 1.5  # fonts, and the first refresh
_TERMINAL = 100
_TALLEST = 1400
_DRAWN = """document.querySelector('.page > *')
    && [...document.querySelectorAll('.chart')].every(c => !c.offsetParent || c.querySelector('svg path'))"""
_BOTTOM = "Math.max(...[...document.querySelectorAll('.page > *')].map(e => e.getBoundingClientRect().bottom))"


def main() -> int:
    """Make every picture that the runs allow."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run_dirs", nargs="+", metavar="RUN_DIR")
    names = "overview, phone, game, monitor … (default: all)"
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help=names)
    options = parser.parse_args()
    program = find_chromium()
    if program is None:
        sys.exit(MISSING)
    IMAGES.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "understudy", "dashboard", *options.run_dirs, "--dashboard.port", "0"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as server:
        assert server.stdout is not None
        try:
            address = _address(server.stdout)
            with Browser(program) as browser:
                _photograph(browser, address, [RunDir.at(run).root.name for run in options.run_dirs], options.only)
                if not options.only or "monitor" in options.only:
                    _terminal(browser, options.run_dirs[0], environment)
        finally:
            server.terminate()
    return 0


def _photograph(browser: Browser, address: str, runs: list[str], only: list[str]) -> None:
    run = f"/run/{runs[0]}"
    pages = [
        ("overview", run, 1280, (False, True)),
        ("learning", f"{run}/learning", 1280, (True,)),
        ("results", f"{run}/results", 1280, (False,)),
        ("games", f"{run}/games", 1280, (True,)),
        ("models", f"{run}/models", 1280, (False,)),
        ("machine", f"{run}/machine", 1280, (True,)),
        ("phone", run, 390, (False, True)),
    ]
    page = browser.open(f"{address}{run}")
    for tab, where in _optional_tabs(page, address, runs).items():
        pages.append((tab, where, 1280, (False,)))
    pages += [("runs", "/", 1280, (True,))] if len(runs) > 1 else []
    if not only or "game" in only:
        page.go(f"{address}{run}/games")
        link = page.wait_for("document.querySelector('.games a[data-game]')?.getAttribute('href')")
        pages.append(("game", link, 1280, (False,)))
    for name, path, width, themes in [page for page in pages if not only or page[0] in only]:
        for dark in themes:
            target = IMAGES / f"{name}-{'dark' if dark else 'light'}.png"
            opened = browser.open(f"{address}{path}", width, 900, dark=dark)
            opened.wait_for(_DRAWN)
            time.sleep(_SETTLED_SECONDS)
            if name == "shogi":
                opened.click('[aria-label="last"]')
                opened.wait_for_text("The game has ended.")
                opened.click('[aria-label="back"]')  # to the last decision, with what was thought of it
                opened.wait_for("!document.body.innerText.includes('The game has ended.')")
            opened.resize(width, min(int(opened.evaluate(_BOTTOM)) + 24, _TALLEST))
            time.sleep(_SETTLED_SECONDS / 2)
            _save(opened, target)
            opened.close()


def _optional_tabs(page: Tab, address: str, runs: list[str]) -> dict[str, str]:
    """Where replays and shogi are shown: in the first run that has them."""
    found: dict[str, str] = {}
    for run in runs:
        page.go(f"{address}/run/{run}")
        time.sleep(_SETTLED_SECONDS)
        for tab in page.evaluate("[...document.querySelectorAll('.tab')].map(t => t.innerText.toLowerCase())"):
            if tab in ("watch", "replays", "shogi"):
                found.setdefault(tab, f"/run/{run}/{'battles' if tab == 'watch' else tab}")
    return found


def _terminal(browser: Browser, run_dir: str, environment: dict[str, str]) -> None:
    """One frame of the monitor, as a terminal of 100 columns shows it."""
    from rich.console import Console  # noqa: PLC0415 - the monitor's own library
    from rich.text import Text  # noqa: PLC0415

    command = [sys.executable, "-m", "understudy", "monitor", run_dir, "--once"]
    colours = {**environment, "FORCE_COLOR": "1", "COLUMNS": str(_TERMINAL), "TERM": "xterm-256color"}
    frame = subprocess.run(command, capture_output=True, text=True, check=True, env=colours).stdout
    place = str(RunDir.at(run_dir).root)
    frame = frame.replace(place, Path(place).name.ljust(len(place)))  # where it lies here says nothing to others
    console = Console(record=True, width=_TERMINAL, file=io.StringIO())
    console.print(Text.from_ansi(frame.rstrip()))
    drawn = console.export_svg(title=f"understudy monitor {Path(run_dir).name}")
    drawn = re.sub(r"@font-face \{.*?\}", "", drawn, flags=re.DOTALL).replace("Fira Code", "DejaVu Sans Mono")
    page = browser.open("about:blank", 1000, 600)
    page.evaluate(f"document.body.style.margin = 0; document.body.innerHTML = {drawn!r}; 1")
    page.resize(1000, int(page.evaluate("document.querySelector('svg').getBoundingClientRect().height")) + 1)
    _save(page, IMAGES / "monitor.png")


def _save(page: Tab, target: Path) -> None:
    """Save with a palette of the colours that matter most, exactly as they are: a third of the size, and no tint."""
    page.screenshot(target)
    with Image.open(target) as opened:
        image = opened.convert("RGB")
    colors, counts = np.unique(np.asarray(image).reshape(-1, 3), axis=0, return_counts=True)
    palette = Image.new("P", (1, 1))
    vivid = np.ptp(colors.astype(int), axis=1) / 255  # a small lamp counts for more than the edges of letters
    palette.putpalette(colors[np.argsort(-counts * (1 + 30 * vivid))[:256]].flatten().tolist())
    image.quantize(palette=palette, dither=Image.Dither.NONE).save(target, optimize=True)
    print(f"{target.relative_to(ROOT)}  {target.stat().st_size // 1000} kB", flush=True)


def _address(said: IO[str]) -> str:
    for line in said:
        if found := re.search(r"http://\S+", line):
            return found[0]
    sys.exit("The dashboard did not start.")


if __name__ == "__main__":
    sys.exit(main())
