from __future__ import annotations

import re
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
