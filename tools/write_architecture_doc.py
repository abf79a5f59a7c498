"""Writes the tables at the end of docs/architecture.md: `python tools/write_architecture_doc.py`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "understudy"
TARGET = ROOT / "docs" / "architecture.md"
LINES_HEADING, MODULES_HEADING = "## Lines of code", "## Every module"
BEFORE = {
    "top level": 3009,
    "settings/": 453,
    "acting/ ledger/ files/ run/": 0,
    "learner/ jobs/ machine/": 3235,
    "experience/": 1330,
    "learning/": 1675,
    "networks/": 2208,
    "kernels/": 914,
    "models/": 620,
    "parallel/": 2225,
    "remote/": 0,
    "serve/": 0,
    "sc2/": 0,
    "tune/": 0,
    "watch/": 5204,
    "check/": 1143,
    "games/": 631,
    "games/shogi/": 3690,
    "games/zerg/": 14032,
}
"""Packages → lines in commit 6ab2997, before games became plug-ins. `games/` is what is in no game's own folder."""


def modules() -> Iterator[tuple[str, str, str]]:
    """The package, file and first sentence of each module; a package's own sentence comes first, as `__init__.py`."""
    for path in sorted(
        PACKAGE.rglob("*.py"), key=lambda path: (path.parent.as_posix(), path.name != "__init__.py", path)
    ):
        text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        first = " ".join(text.split("\n\n")[0].split()).replace("|", "\\|")
        folder = path.parent.relative_to(PACKAGE).as_posix()
        yield ("understudy" if folder == "." else folder), path.name, first


def lines_of_code() -> dict[str, int]:
    """The rows of `BEFORE` → lines now."""
    counts = dict.fromkeys(BEFORE, 0)
    row_of = {package: row for row in BEFORE for package in row.split()}
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE).parent.parts
        game = "/".join(parts[:2]) + "/"
        row = "top level" if not parts else row_of.get(game) or row_of[f"{parts[0]}/"]
        counts[row] += len(path.read_text(encoding="utf-8").splitlines())
    return counts


def lines_table() -> str:
    """The part of docs/architecture.md that counts lines, rounded to hundreds."""
    lines = [
        LINES_HEADING,
        "",
        "Lines of the `.py` files before games became plug-ins (commit `6ab2997`) and now, to the nearest hundred.",
        "Before, `learner/`, `jobs/` and `machine/` were `background/`; `acting/`, `ledger/`, `files/` and `run/` were",
        "parts of it and of the top level; shogi's torch networks and convolutions were in `networks/` and `kernels/`.",
        "New since then: the gate in `models/`, `remote/`, `serve/`, `tune/`.",
        "",
        "| package | before | now |",
        "|---|---|---|",
    ]
    now = lines_of_code()
    rows = [(row, BEFORE[row], now[row]) for row in BEFORE] + [("all", sum(BEFORE.values()), sum(now.values()))]
    for row, before, after in rows:
        names = row if "/" not in row else ", ".join(f"`{package}`" for package in row.split())
        lines.append(f"| {names} | {round(before, -2):,} | {round(after, -2):,} |".replace("| 0 |", "| – |"))
    return "\n".join(lines) + "\n\n"


def modules_table() -> str:
    """The part of docs/architecture.md that lists every module."""
    lines = [
        MODULES_HEADING,
        "",
        "The first sentence of each module, written by `python tools/write_architecture_doc.py`.",
    ]
    for package, rows in groupby(modules(), key=lambda row: row[0]):
        lines += ["", f"### {package}/", "", "| file | what it is |", "|---|---|"]
        lines += [f"| `{name}` | {first} |" for _, name, first in rows]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    page = TARGET.read_text(encoding="utf-8")
    TARGET.write_text(page[: page.index(LINES_HEADING)] + lines_table() + modules_table(), encoding="utf-8")
