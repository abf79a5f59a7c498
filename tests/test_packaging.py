from __future__ import annotations

import tomllib
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "understudy"


def test_an_installed_package_has_every_file_that_is_not_code() -> None:
    """setuptools takes along what a pattern names; a new style sheet or table without one would be missing."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]
    patterns = settings["package-data"]["understudy"]
    files = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*")
        if path.is_file() and path.suffix not in (".py", ".pyc") and not path.suffix.startswith(".nb")
    }
    assert {"watch/dashboard/style.css", "py.typed"} <= files
    assert {file for file in files if not any(fnmatch(file, pattern) for pattern in patterns)} == set()
    assert [pattern for pattern in patterns if not list(PACKAGE.glob(pattern))] == []


def test_every_folder_of_code_is_a_package() -> None:
    """setuptools finds packages by their __init__.py; code in a folder without one would be missing."""
    folders = {path.parent for path in PACKAGE.rglob("*.py")}
    assert {folder for folder in folders if not (folder / "__init__.py").exists()} == set()
