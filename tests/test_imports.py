"""Which package may import which.

A package may import only packages that stand before it in `MAY_IMPORT`, so the table permits no cycle. Imports inside
functions and under TYPE_CHECKING count, and so do texts that name a module, such as "understudy.watch.metrics:METRICS".
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "src" / "understudy"

MAY_IMPORT = {
    # What everything stands on
    "errors": "",
    "files": "errors",
    "games": "errors files",  # spec.py, game.py and saved.py: what a game is, not one game
    "settings": "errors games",
    "extras": "",
    "rundir": "errors files",
    "flags": "errors extras rundir settings",
    "numba_cache": "",
    # The parts of the loop
    "ledger": "errors",
    "networks": "errors games settings",
    "experience": "errors files ledger rundir settings",
    "learning": "errors experience networks settings",
    "acting": "errors experience files learning networks",
    "models": "errors acting experience files learning ledger networks rundir settings",
    "machine": "files settings",
    "run": "errors files games models rundir settings",
    # The programs
    "agent": "errors acting experience files learning ledger models run rundir settings",
    "sc2": "errors agent experience files rundir settings",  # what bots of one game share; on the ladder
    "jobs": "errors ledger machine rundir settings",
    "learner": "errors experience files flags games jobs learning ledger machine models run rundir settings",
    "parallel": "errors acting extras files flags games learning ledger machine models networks run rundir settings",
    "remote": "errors acting agent experience files flags games learner learning ledger machine models networks run "
    "rundir settings",
    "watch": "errors acting experience files flags games learner ledger machine models networks run rundir settings",
    "check": "errors acting agent experience files flags games learner ledger machine models networks parallel "
    "run rundir settings",
    "serve": "errors agent learner machine models run rundir settings",  # bots in other languages
    "tune": "errors check files flags games models parallel run rundir settings",
    "doctor": "errors experience files ledger models run rundir watch",
    "completion": "",
    "cli": "errors check completion doctor flags games learner ledger machine models parallel remote run rundir "
    "serve settings tune watch",
    "__main__": "cli",
}
"""Package or module of the core → what it may import. A package may import its own modules."""

OPEN_TO_GAMES = {
    *("errors", "extras", "settings", "flags", "rundir", "agent", "sc2"),
    *("files", "games", "numba_cache", "ledger", "acting", "networks", "experience", "learning", "models", "machine"),
    *("jobs.queue", "jobs.dispatch"),  # background work of a game
    *("learner.process", "learner.reports", "learner.last_evaluation"),  # a runner that plays and learns
    *(
        "parallel.loop",
        "parallel.loop_stats",
        "parallel.rollout",
        "parallel.standings",
    ),  # self-play from a program of the game's own
    *("run.control", "run.ladder_zip", "run.lock", "run.log", "run.status"),
    *("watch.formats", "watch.ledger_reading", "watch.metrics", "watch.snapshot"),  # pages of the dashboard
    *(f"watch.dashboard.{part}" for part in ("charts", "markup", "overview", "parts", "runs", "words")),
}
"""What of the core a game may import: whole packages, and single modules of those that are programs."""

LIBRARIES = {
    "machine": "psutil pynvml",
    "numba_cache": "llvmlite numba",
    "parallel": "ray",
    "remote": "obstore",
    "watch": "fastapi nicegui onnx rich uvicorn",
    "check": "gymnasium stable_baselines3 torch",
    "tune": "ray",
    "sc2": "sc2",
    "games.small": "gymnasium",
}
"""Libraries that parts of the core import, besides NumPy. Games have their own."""

INTERFACE = {"spec", "game", "saved"}
"""The modules of `games/` that belong to the core; the others are games."""

FACADE = "__init__"
"""`understudy/__init__.py` lists the public names, those of games too. Nothing in the package imports from it."""


_REFERENCE = re.compile(r"(understudy(?:\.\w+)+)(?::[\w.]+)?")


class Import(NamedTuple):
    """One imported module."""

    importer: str
    imported: str
    place: str
    later: bool = False
    """Under TYPE_CHECKING, or a text that is resolved when it is used: no part of a cycle."""


def modules() -> dict[str, Path]:
    """Every module of the package, by its dotted name below `understudy`."""
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)
        found[name] = path
    return found


def imports_of(name: str, path: Path, known: dict[str, Path]) -> Iterator[Import]:
    """Every import of a module of ours, wherever in the file it stands."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    checks = [n for n in ast.walk(tree) if isinstance(n, ast.If) and ast.unparse(n.test) == "TYPE_CHECKING"]
    only_types = {node for check in checks for part in check.body for node in ast.walk(part)}
    for node in ast.walk(tree):
        place = f"src/understudy/{path.relative_to(SOURCE).as_posix()}:{getattr(node, 'lineno', 0)}"
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{place} imports relatively"
            base = node.module or ""
            names = [f"{base}.{a.name}" for a in node.names if f"{base}.{a.name}" != "understudy.__version__"]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = _REFERENCE.fullmatch(node.value)
            names = [text[1]] if text is not None and text[1].partition(".")[2] in known else []
        else:
            continue
        for full in names:
            root, _, rest = full.partition(".")
            if root == "understudy":
                while rest and rest not in known:  # a name inside of a module
                    rest = rest.rpartition(".")[0]
                yield Import(name, rest or FACADE, place, node in only_types or isinstance(node, ast.Constant))


def libraries_of(path: Path) -> set[str]:
    """The libraries besides NumPy that a module imports, wherever in the file."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add((node.module or "").partition(".")[0])
    return found - sys.stdlib_module_names - {"understudy", "numpy"}


def unit(module: str) -> str:
    """The row of the table that a module belongs to; a game is its own."""
    first, _, rest = module.partition(".")
    if first == "games" and rest and rest.partition(".")[0] not in INTERFACE:
        inside = rest.partition(".")[0]
        return f"games.{inside}" if (SOURCE / "games" / inside).is_dir() else "games.small"
    return first


def objection(found: Import) -> str | None:
    """Why an import is not allowed, or None."""
    importer, imported = unit(found.importer), unit(found.imported)
    if importer == imported or found.importer == FACADE:
        return None
    if imported == FACADE:
        return "nothing in the package imports the public names from `understudy`; import them where they are defined"
    if imported.startswith("games."):
        by_game = importer.startswith("games.")
        return "a game does not import another game" if by_game else "the core does not import a game"
    if importer.startswith("games."):
        is_open = imported in OPEN_TO_GAMES or found.imported in OPEN_TO_GAMES
        return None if is_open else "this part of the core is not open to games"
    return None if imported in MAY_IMPORT[importer].split() else f"{importer} may not import {imported}"


ALL = modules()
IMPORTS = [found for name, path in ALL.items() for found in imports_of(name, path, ALL)]


def test_every_import_is_allowed() -> None:
    wrong = [f"{i.place} imports {i.imported}: {why}" for i in IMPORTS if (why := objection(i)) is not None]
    assert not wrong, "\n" + "\n".join(wrong)


def test_table_covers_the_core_and_permits_no_cycle() -> None:
    units = {unit(name) for name in ALL if not unit(name).startswith("games.")} - {FACADE}
    assert units == MAY_IMPORT.keys()
    order = list(MAY_IMPORT)
    for package, allowed in MAY_IMPORT.items():
        before = order[: order.index(package)]
        assert set(allowed.split()) <= set(before), f"{package} may import what stands after it"


def test_the_core_imports_only_the_listed_libraries() -> None:
    used: dict[str, set[str]] = {}
    for name, path in ALL.items():
        if unit(name) not in ("games.zerg", "games.shogi") and (found := libraries_of(path)):
            used.setdefault(unit(name), set()).update(found)
    assert used == {name: set(libraries.split()) for name, libraries in LIBRARIES.items()}


def test_no_module_imports_itself_through_others() -> None:
    edges: dict[str, set[str]] = {name: set() for name in ALL}
    for found in IMPORTS:
        if not found.later:
            edges[found.importer].add(found.imported)
    finished: set[str] = set()

    def visit(name: str, path: tuple[str, ...]) -> None:
        assert name not in path, "cycle: " + " → ".join([*path[path.index(name) :], name])
        if name not in finished:
            for other in edges[name] - {name}:
                visit(other, (*path, name))
            finished.add(name)

    for name in ALL:
        visit(name, ())


@pytest.mark.parametrize(
    ("importer", "imported", "why"),
    [
        ("learning.trainer", "watch.metrics", "learning may not import watch"),
        ("learner.loop", "games.zerg.bot", "the core does not import a game"),
        ("games.zerg.bot", "games.shogi.rules", "does not import another game"),
        ("games.zerg.bot", "parallel.worker", "not open to games"),
        ("learner.process", FACADE, "import them where they are defined"),
        ("games.gym", "games.game", None),
        ("games.spec", "games.gym", "the core does not import a game"),
    ],
)
def test_what_the_rules_say(importer: str, imported: str, why: str | None) -> None:
    found = objection(Import(importer, imported, "file.py:1"))
    assert found is None if why is None else why in (found or "")


def test_texts_that_name_a_module_count() -> None:
    file = SOURCE / "check" / "arena_command.py"
    assert "check.arena" in {i.imported for i in imports_of("check.arena_command", file, ALL) if i.later}


def test_imports_in_functions_and_single_names_are_found() -> None:
    file = SOURCE / "cli.py"
    found = {i.imported: i for i in imports_of("cli", file, ALL)}
    assert {"models.store", "watch.commands", "errors"} <= found.keys()
    lines = file.read_text(encoding="utf-8").splitlines()
    name, _, number = found["models.store"].place.rpartition(":")
    assert (name, lines[int(number) - 1].strip()) == (
        "src/understudy/cli.py",
        "from understudy.models.store import ModelStore",
    )
