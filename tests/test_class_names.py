"""One name, one thing: no two public classes of the package share a name."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1] / "src" / "understudy"


def classes_by_name(folder: Path) -> dict[str, list[str]]:
    """Name of a public class → the lines that define one, methods' and functions' inner classes included."""
    found = defaultdict(list)
    for path in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(f"{path.relative_to(folder).as_posix()}:{node.lineno}")
    return found


def test_no_two_public_classes_share_a_name() -> None:
    shared = {name: places for name, places in classes_by_name(SOURCE).items() if len(places) > 1}
    assert not shared


def test_classes_that_share_a_name_are_found(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "one.py").write_text("class Game: ...\nclass _Private: ...\n")
    (tmp_path / "inner" / "two.py").write_text("class _Private: ...\ndef make():\n    class Game: ...\n")
    assert classes_by_name(tmp_path) == {"Game": ["inner/two.py:3", "one.py:1"]}
