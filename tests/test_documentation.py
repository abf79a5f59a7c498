from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_tests_and_files_named_in_a_page_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    known = set(
        re.findall(r"def (test_\w+)", "".join(p.read_text(encoding="utf-8") for p in ROOT.rglob("tests/**/*.py")))
    )
    named = set(re.findall(r"`(test_\w+)`", text))
    assert named <= known, named - known
    for link in re.findall(r"\]\((?!http)([^)#]+)", text):
        assert (page.parent / link).exists(), link
    for path in re.findall(r"`((?:tests|docs|tools|examples|benchmarks)/[\w./-]+)`", text):
        assert (ROOT / path).exists(), path


def test_the_page_of_the_architecture_lists_every_module_and_no_other() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    package, listed = "", set()
    for line in page[page.index("## Every module") :].splitlines():
        if heading := re.fullmatch(r"### ([\w/]+)/", line):
            package = "" if heading[1] == "understudy" else heading[1] + "/"
        elif row := re.match(r"\| `(\w+\.py)` \| \S", line):
            listed.add(package + row[1])
    source = ROOT / "src" / "understudy"
    there = {path.relative_to(source).as_posix() for path in source.rglob("*.py")}
    assert listed == there, "run `python tools/write_architecture_doc.py`"


def test_the_page_of_the_architecture_counts_the_lines_of_every_package() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    table = page[page.index("## Lines of code") : page.index("## Every module")]
    counted: dict[str, tuple[str, int]] = {}
    for names, now in re.findall(r"^\| (top level|`.*`) \| \S+ \| ([\d,]+) \|$", table, re.MULTILINE):
        counted |= dict.fromkeys(re.findall(r"`([\w/]+)/`", names) or [""], (names, int(now.replace(",", ""))))
    source, lines = ROOT / "src" / "understudy", Counter[tuple[str, int]]()
    for path in source.rglob("*.py"):
        package = path.relative_to(source).parent.as_posix().removeprefix(".")
        listed = next(known for known in ("/".join(package.split("/")[:2]), package.split("/")[0]) if known in counted)
        lines[counted[listed]] += len(path.read_text(encoding="utf-8").splitlines())
    wrong = {names: (said, now) for (names, said), now in lines.items() if abs(said - now) > max(250, now / 8)}
    assert not wrong, "run `python tools/write_architecture_doc.py`"


def test_files_of_the_walks_through_the_code_exist() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    walks = page[page.index("## Three walks") : page.index("## The ladder core")]
    named = re.findall(r"`([\w/]+\.py)`", walks)
    assert len(named) > 30
    assert not [name for name in named if not (ROOT / "src" / "understudy" / name).exists()]
