"""Makes docs/images and docs/pictures.md: every page of the dashboard, in both themes, on a wide screen and a phone.

    python tools/screenshots.py [RUN_DIR MORE_RUN_DIRS ...] [--minutes M] [--only NAME ...]

Without runs it plays its own: a few seconds of CartPole and shogi, then the Zerg bot, which is still at it while the
pictures are taken. The first run is the one whose pages are shown; of the others what the first does not have. It
starts a dashboard of its own and looks at it in Chromium.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO

import numpy as np
from PIL import Image

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tools.chromium import MISSING, Browser, Tab, find_chromium

import understudy
from understudy.rundir import RunDir

ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs" / "images"
PAGE = ROOT / "docs" / "pictures.md"
_SETTLED_SECONDS = 1.5  # fonts, and the first refresh
_TERMINAL = 100
_TALLEST = 1400
_WIDE, _PHONE = 1280, 390
_OF_EACH = ("overview", "learning")  # pages that look different for other kinds of games
_SHORT = {
    "cartpole": (str(ROOT / "examples" / "cartpole.py"),),
    # A game to look at is saved with a version; on a busy machine a minute is few updates.
    "shogi": ("-m", "understudy", "selfplay", "shogi", "--seconds", "60", "--parallel.checkpoint-updates", "2"),
}
# Where the runs lie here says nothing to others.
_WITHOUT_FOLDERS = """(() => {
    const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walk.nextNode()) walk.currentNode.data = walk.currentNode.data.replaceAll(FOLDER, '');
})()"""
_DRAWN = """document.querySelector('.page > *')
    && [...document.querySelectorAll('.chart')].every(c => !c.offsetParent || c.querySelector('svg path'))"""
_TABS = "[...document.querySelectorAll('.tab')].map(t => [t.innerText, t.getAttribute('href')])"
_ARCHIVED = """document.querySelector('.games a[data-game][href*="/archive/"]')?.getAttribute('href')"""
_BOTTOM = "Math.max(...[...document.querySelectorAll('.page > *')].map(e => e.getBoundingClientRect().bottom))"


def main() -> int:
    """Make every picture that the runs allow."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run_dirs", nargs="*", metavar="RUN_DIR")
    parser.add_argument("--minutes", type=float, default=4.0, help="how long the Zerg bot plays first (default: 4)")
    parser.add_argument(
        "--only", nargs="+", default=[], metavar="NAME", help="overview, game, monitor … (default: all)"
    )
    options = parser.parse_args()
    program = find_chromium()
    if program is None:
        sys.exit(MISSING)
    IMAGES.mkdir(exist_ok=True)
    with ExitStack() as ending:
        runs = options.run_dirs or ending.enter_context(_played(options.minutes))
        browser = ending.enter_context(Browser(program))
        address = ending.enter_context(_dashboard(runs))
        shown = _photograph(browser, address, [RunDir.at(run).root for run in runs], options.only)
        if not options.only or "monitor" in options.only:
            _terminal(browser, runs[0], _environment())
        if not options.only:
            PAGE.write_text(document(shown), encoding="utf-8")
    return 0


@contextmanager
def _played(minutes: float) -> Iterator[list[str]]:
    """The folders of runs that are being played; the first one continues until the end."""
    with tempfile.TemporaryDirectory(prefix="understudy-", ignore_cleanup_errors=True) as folder:
        runs = {name: str(Path(folder) / name) for name in ("local_training", "cartpole", "shogi", "new")}
        Path(runs["new"]).mkdir()
        for name, arguments in _SHORT.items():
            print(f"Playing {name} ...", flush=True)
            command = [sys.executable, *arguments, "--run-dir", runs[name]]
            subprocess.run(command, check=True, env=_environment(), stdout=subprocess.DEVNULL)
        command = [
            sys.executable,
            str(ROOT / "run_with_training.py"),
            "--games",
            "0",
            "--run-dir",
            runs["local_training"],
        ]
        print(f"Playing Zerg games for {minutes:g} minutes ...", flush=True)
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, env=_environment()) as bot:
            try:
                time.sleep(60 * minutes)
                yield list(runs.values())
            finally:
                bot.terminate()


@contextmanager
def _dashboard(runs: list[str]) -> Iterator[str]:
    """The address of a dashboard of these runs."""
    command = [sys.executable, "-m", "understudy", "dashboard", *runs, "--dashboard.port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=_environment()) as server:
        assert server.stdout is not None
        try:
            yield _address(server.stdout)
        finally:
            server.terminate()


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT / "src")}


def _photograph(browser: Browser, address: str, runs: list[Path], only: list[str]) -> dict[str, str]:
    """Take all pictures; name and title of each page that was shown."""
    pages = _pages(browser, address, [run.name for run in runs])
    for name, (_, path) in pages.items():
        if only and name not in only:
            continue
        for width in (_WIDE, _PHONE):
            for dark in (False, True):
                tab = browser.open(f"{address}{path}", width, 900, dark=dark)
                _settle(tab, name, width)
                tab.evaluate(_WITHOUT_FOLDERS.replace("FOLDER", json.dumps(f"{runs[0].parent}{os.sep}")))
                _save(tab, IMAGES / picture(name, phone=width == _PHONE, dark=dark))
                tab.close()
    return {name: title for name, (title, _) in pages.items()}


def _pages(browser: Browser, address: str, runs: list[str]) -> dict[str, tuple[str, str]]:
    """Title and address of each page: all of the first run, then what only another run has."""
    found: dict[str, tuple[str, str]] = {"runs": ("Several runs", "/")} if len(runs) > 1 else {}
    tab = browser.open(f"{address}/run/{runs[0]}")
    for run in runs:
        tab.go(f"{address}/run/{run}")
        tab.wait_for(_DRAWN)
        for title, path in tab.evaluate(_TABS):
            name = Path(path).name
            if name not in found:
                found[name] = (title, path)
            elif name in _OF_EACH:
                found[f"{name}-{run}"] = (f"{title} of {run.replace('_', ' ')}", path)
        if "game" not in found:
            tab.go(f"{address}/run/{run}/games")
            link = tab.wait_for(_ARCHIVED)
            found["game"] = ("One game", link)
    tab.close()
    return found | {"missing": ("An address that does not exist", "/run/nothing")}


def _settle(tab: Tab, name: str, width: int) -> None:
    """Wait until everything is drawn, and make the window as high as the page."""
    tab.wait_for(_DRAWN if name != "missing" else "!!document.querySelector('h1')")
    time.sleep(_SETTLED_SECONDS)
    if name == "shogi":
        tab.click('[aria-label="last"]')
        tab.wait_for_text("The game has ended.")
        tab.click('[aria-label="back"]')  # to the last decision, with what was thought of it
        tab.wait_for("!document.body.innerText.includes('The game has ended.')")
    if name != "missing":
        tab.resize(width, min(int(tab.evaluate(_BOTTOM)) + 24, _TALLEST))
        time.sleep(_SETTLED_SECONDS / 2)


def picture(name: str, *, phone: bool, dark: bool) -> str:
    """The file of a picture."""
    return f"{name}{'-phone' if phone else ''}-{'dark' if dark else 'light'}.png"


def document(shown: dict[str, str]) -> str:
    """The text of docs/pictures.md."""
    lines = [
        "# Pictures",
        "",
        f"Every page of the dashboard of version {understudy.__version__}. `make pictures` makes them from runs",
        "of the Zerg bot, of CartPole, of shogi by self-play, and of a run that was not started.",
    ]
    for name, title in shown.items():
        lines += ["", f"## {title}", ""]
        for phone, width in ((False, 49), (True, 24)):
            for dark in (False, True):
                about = f"{title}{' on a phone' if phone else ''}, {'dark' if dark else 'light'}"
                file = picture(name, phone=phone, dark=dark)
                lines.append(f'<a href="images/{file}"><img src="images/{file}" width="{width}%" alt="{about}"></a>')
    return "\n".join(lines) + "\n"


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
