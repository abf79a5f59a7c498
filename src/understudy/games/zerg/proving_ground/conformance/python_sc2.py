"""Runs python-sc2's own live tests, unmodified, against the proving ground as the game's executable."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from understudy.errors import SettingsError
from understudy.games.zerg.proving_ground.conformance.report import Check, GroupReport
from understudy.games.zerg.proving_ground.install import install

TIME_LIMIT = 1800  # seconds for one file
TAIL = 3  # lines of a failed file that are shown
_MAP = re.compile(r"maps\.get\(\s*[\"']([^\"']+)[\"']")
_AFTER_THE_TIME = re.compile(r"^\S+ \S+ \| (\w+)\s*\| \S+ - (.*)$", re.MULTILINE)


class LiveTest(NamedTuple):
    """One of python-sc2's files, and how its parts are counted."""

    group: str
    path: str
    counted: Callable[[str, str], tuple[int, int]]  # source and output; passed and total


def _methods(source: str) -> list[str]:
    tree = ast.parse(source)
    return [node.name for node in ast.walk(tree) if isinstance(node, ast.AsyncFunctionDef) and node.name[:5] == "test_"]


def _messages(output: str) -> set[str]:
    return {message for _, message in _AFTER_THE_TIME.findall(output)}


def _automatic(source: str, output: str) -> tuple[int, int]:
    """Methods that begin with test_. The others are numbered actions, or none ran after a failure."""
    methods = _methods(source)
    actions = [name for name in methods if "_actions" in name]
    passed = sum(message.startswith("Action test") for message in _messages(output))
    finished = len(methods) - len(actions) if passed else 0
    return passed + finished, len(methods)


def _queries(source: str, output: str) -> tuple[int, int]:
    """Cases of placement, and the tests of rally points."""
    cases = [
        len(node.value.elts)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.List) and _names(node) == ["test_cases"]
    ]
    rallies = sum("rally" in name for name in _methods(source))
    passed = sum(message.startswith("Test case successful") for message in _messages(output))
    return passed, sum(cases) + rallies


def _names(node: ast.Assign) -> list[str]:
    return [target.id for target in node.targets if isinstance(target, ast.Name)]


def _upgrades(source: str, output: str) -> tuple[int, int]:
    """Upgrades that the file began to research; if it finished, all of them."""
    begun = len([message for message in _messages(output) if message.startswith("Spawning ")])
    done = "Action test 1 successful." in _messages(output)
    return begun if done else max(0, begun - 1), max(1, begun)


def _damage(source: str, output: str) -> tuple[int, int]:
    """Pairs of units times levels that the file tests; it stops at the first difference."""
    sizes = {
        name: len(node.value.elts)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.List | ast.Set)
        for name in _names(node)
    }
    pairs = sizes.get("attacker_units", 0) * sizes.get("defender_units", 0) * sizes.get("upgrade_levels", 1)
    return (pairs if "Action test 1001 successful." in _messages(output) else 0), max(1, pairs)


def _battery(source: str, output: str) -> tuple[int, int]:
    return int(any(message.startswith("Success") for message in _messages(output))), 1


def _examples(source: str, output: str) -> tuple[int, int]:
    """Example bots; each must run until the time limit."""
    total = source.count('"bot_class_name":')
    ties = {message for message in _messages(output) if message.startswith("Result for player 1") and "Tie" in message}
    return min(len(ties), total), total


FILES = (
    LiveTest("python-sc2 autotest", "test/autotest_bot.py", _automatic),
    LiveTest("python-sc2 queries", "test/queries_test_bot.py", _queries),
    LiveTest("python-sc2 upgrades", "test/upgradestest_bot.py", _upgrades),
    LiveTest("python-sc2 battery", "test/battery_overcharge_bot.py", _battery),
    LiveTest("python-sc2 damage (pairs)", "test/damagetest_bot.py", _damage),
    LiveTest("python-sc2 example bots", "test/run_example_bots_vs_computer.py", _examples),
)


def run_test_files(folder: Path) -> Iterator[GroupReport]:
    """Run the files of a python-sc2 checkout; each counts its parts."""
    if not (folder / FILES[0].path).is_file():
        raise SettingsError(f"{folder} has no {FILES[0].path}; give the folder of a python-sc2 checkout.")
    folder = folder.resolve()
    names = {name for path in folder.glob("test/*.py") for name in _MAP.findall(path.read_text(encoding="utf-8"))}
    with tempfile.TemporaryDirectory() as game:
        install(Path(game), tuple(sorted(names)))
        for file in FILES:
            if (folder / file.path).is_file():
                yield _run(file, folder, game)


def _run(file: LiveTest, folder: Path, game: str) -> GroupReport:
    environment = {**os.environ, "SC2PATH": game, "PYTHONIOENCODING": "utf-8"}
    try:
        done = subprocess.run(
            [sys.executable, file.path],
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            timeout=TIME_LIMIT,
            check=False,
        )
        output, code = done.stdout.decode("utf-8", "replace"), done.returncode
    except subprocess.TimeoutExpired as late:
        output, code = (late.stdout or b"").decode("utf-8", "replace"), -1
    passed, total = file.counted((folder / file.path).read_text(encoding="utf-8"), output)
    report = GroupReport(file.group, passed, total)
    if passed < total or code != 0:
        last = " / ".join(line.strip() for line in output.strip().splitlines()[-TAIL:])
        report.failures.append(Check(file.path, False, f"exit code {code}: {last}"))
        report.passed = min(passed, total - 1)
    return report
