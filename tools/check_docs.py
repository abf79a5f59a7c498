"""Checks the documentation: links, anchors, code fences, headings, and the prose: `python tools/check_docs.py`.

It needs the standard library only and looks at README.md, the other pages beside it, and docs/. A problem is printed as
FILE:LINE: what is wrong, and what to do. Exit code 1 if there is any.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_LINK = re.compile(r"!?\[(?:[^\]\[]|\[[^\]]*\])*\]\(([^)\s]+)(?:\s+\"[^\"]*\")?\)")
_HEADING = re.compile(r"^(#{1,6}) (.+)$")
_LONGEST_SENTENCE = 60  # words
_AVOIDED = {
    r"\b(simply|obviously|of course|clearly|easily)\b": "leave it out: what is simple is not for the text to judge",
    r"\b(utili[sz]e|leverage)\b": "write 'use'",
    r"\bin order to\b": "write 'to'",
    r"\b(please)\b": "leave it out",
    r"\b(\w+) \1\b(?! \|)": "a word stands twice",
    r"\b(the (?:above|below)-mentioned|aforementioned)\b": "name it",
}
_TWICE_IS_RIGHT = {"had had", "that that"}


def main() -> int:
    """Check every page and print what is wrong."""
    pages = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / ".github").rglob("*.md")])
    problems = [
        f"{page.relative_to(ROOT).as_posix()}:{line}: {text}" for page in pages for line, text in check_page(page)
    ]
    for problem in problems:
        print(problem)
    print(f"{len(pages)} pages, {len(problems)} problems")
    return 1 if problems else 0


def check_page(page: Path) -> Iterator[tuple[int, str]]:
    """Line number and text of each problem of a page."""
    text = page.read_text(encoding="utf-8")
    yield from _fences(text)
    prose = without_code(text)
    yield from _headings(prose)
    yield from _links(page, prose)
    if page.parent.name != "ko":
        yield from check_prose(prose)


def without_code(text: str) -> str:
    """The text with code blocks and code between backticks blanked out; line numbers stay."""
    text = re.sub(r"^(?: {4}|\t).*$", "", without_blocks(text), flags=re.MULTILINE)
    return re.sub(r"(`+)[^`\n]+?\1", "`x`", text)


def without_blocks(text: str) -> str:
    """The text with code blocks blanked out."""
    return re.sub(r"^```.*?^```$", lambda block: "\n" * block[0].count("\n"), text, flags=re.MULTILINE | re.DOTALL)


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub and MkDocs make them."""
    found: set[str] = set()
    counts: dict[str, int] = {}
    for line in without_blocks(page.read_text(encoding="utf-8")).splitlines():
        if heading := _HEADING.match(line):
            plain = re.sub(r"[`*]|\]\([^)]*\)|\[", "", heading[2]).lower()
            slug = re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", plain).strip())
            number = counts.get(slug, 0)
            counts[slug] = number + 1
            found.add(f"{slug}_{number}" if number else slug)
    return found


def check_prose(prose: str) -> Iterator[tuple[int, str]]:
    """Words to avoid, doubled words, and sentences that are too long."""
    for number, line in enumerate(prose.splitlines(), 1):
        for pattern, advice in _AVOIDED.items():
            for found in re.finditer(pattern, line, re.IGNORECASE):
                if found[0].lower() not in _TWICE_IS_RIGHT:
                    yield number, f"{found[0]!r}: {advice}"
    for number, sentence in _sentences(prose):
        words = len(sentence.split())
        if words > _LONGEST_SENTENCE:
            start = " ".join(sentence.split()[:6])
            yield number, f"a sentence of {words} words ({start} ...); make two of it (at most {_LONGEST_SENTENCE})"


def _sentences(prose: str) -> Iterator[tuple[int, str]]:
    """Each sentence of the running text with the line it begins on; tables, lists and headings end one."""
    start, lines = 1, list[str]()
    for number, line in enumerate([*prose.splitlines(), ""], 1):
        if line.strip() and not re.match(r"\s*([|#>!<]|[-*] |\d+\. )", line):
            if not lines:
                start = number
            lines.append(line)
            continue
        for sentence in re.split(r"(?<=[.!?:;])\s+", " ".join(lines)):
            yield start, sentence
        lines = []


def _fences(text: str) -> Iterator[tuple[int, str]]:
    marks = [number for number, line in enumerate(text.splitlines(), 1) if line.startswith("```")]
    if len(marks) % 2:
        yield marks[-1], "a code block is not closed"


def _headings(prose: str) -> Iterator[tuple[int, str]]:
    before = 0
    for number, line in enumerate(prose.splitlines(), 1):
        if heading := _HEADING.match(line):
            level = len(heading[1])
            if level > before + 1 and before:
                yield number, f"a heading of level {level} below one of level {before}"
            before = level


def _links(page: Path, prose: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(prose.splitlines(), 1):
        for link in _LINK.findall(line):
            if re.match(r"[a-z][a-z0-9+.-]*:", link):
                continue
            name, _, anchor = link.partition("#")
            target = (page.parent / name).resolve() if name else page
            if not target.exists():
                yield number, f"{link} does not exist"
            elif anchor and target.suffix == ".md" and anchor not in anchors(target):
                yield number, f"{link}: the page has no heading with this anchor"


if __name__ == "__main__":
    sys.exit(main())
