"""The documentation as a site, the code in it, its links and its prose."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
from tools import check_docs, write_commands_doc
from tools.chromium import Browser

import understudy
from page_blocks import ROOT, blocks, run_blocks
from understudy.watch.dashboard.pages import TABS
from watch.dashboard.conftest import chromium_or_skip
from watch.prepared import learned_run

PAGES = sorted(page.relative_to(ROOT / "docs").as_posix() for page in (ROOT / "docs").rglob("*.md"))
# Blocks of these pages are run by separate tests, or are parts of a program that the page builds up.
ELSEWHERE = {
    "add-a-game.md": "the example it is a part of is run by tests/games; see the test below",
    "episode-format.md": "tests/check/test_episodes.py",
    "other-languages.md": "tests/serve/test_page.py",
    "your-bot.md": "tests/test_guides.py",
    "your-environment.md": "tests/test_guides.py",
    "watching.md": "its program follows a run until Ctrl-C; see the test below",
}
_LOADED = re.compile(r"<(?:script|img|iframe|source)[^>]*?\ssrc=\"([^\"]+)\"|<link[^>]*?\shref=\"([^\"]+)\"")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("mkdocs")
    pytest.importorskip("mkdocstrings")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.slow
def test_the_site_builds_without_warnings_and_loads_nothing_from_elsewhere(site: Path) -> None:
    loaded = {
        (page.name, address)
        for page in site.rglob("*.html")
        for found in _LOADED.finditer(page.read_text(encoding="utf-8"))
        for address in found.groups()
        if address
    }
    assert len(loaded) > 20
    assert {(page, address) for page, address in loaded if re.match(r"(https?:)?//", address)} == set()
    styles = "".join(style.read_text(encoding="utf-8") for style in site.rglob("*.css"))
    assert not re.search(r"@import|url\(['\"]?(https?:)?//", styles)


@pytest.mark.slow
def test_every_public_name_is_in_the_reference_and_korean_pages_say_that_they_are(site: Path) -> None:
    reference = (site / "api.html").read_text(encoding="utf-8")
    documented = set(re.findall(r'<h\d id="understudy\.[\w.]*?(\w+)" class="doc', reference))
    assert set(understudy.__all__) <= documented
    assert '<html lang="ko"' in (site / "ko" / "start.html").read_text(encoding="utf-8")
    assert '<html lang="en"' in (site / "start.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_site_is_searched_follows_the_theme_and_fits_a_phone(site: Path) -> None:
    serve = partial(QuietHandler, directory=str(site))
    with ThreadingHTTPServer(("127.0.0.1", 0), serve) as server, Browser(chromium_or_skip()) as browser:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_address[1]}"
        tab = browser.open(f"{address}/ko/start.html", 390, 800, dark=True)
        tab.wait_for("document.body.dataset.mdColorScheme === 'slate'")
        assert tab.evaluate("document.documentElement.scrollWidth") == 390
        tab.resize(1280, 900)
        for words in ("rollback", "대시보드"):
            tab.go(f"{address}/index.html")
            tab.type("input.md-search__input", words)
            tab.wait_for("document.querySelectorAll('.md-search-result__item').length > 1")
        assert tab.complaints == []
        assert [at for at in tab.requested if not at.startswith((address, "data:", "blob:"))] == []
        server.shutdown()


class QuietHandler(SimpleHTTPRequestHandler):
    """Serves files and says nothing."""

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def test_every_page_is_in_the_navigation() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    missing = [page for page in PAGES if f": {page}\n" not in navigation]
    assert not missing, f"add {missing} to `nav` in mkdocs.yml"


def test_every_korean_page_has_the_figures_files_and_messages_of_the_english_one() -> None:
    """What the English page has between backticks is on the Korean one too: messages and names are not translated."""
    english = {
        "start": "start",
        "logs": "logs",
        "troubleshooting": "faq",
        "settings": "advanced-settings",
        "background-learning": "background-learning",
    }
    for korean, page in english.items():
        there = (ROOT / "docs" / "ko" / f"{korean}.md").read_text(encoding="utf-8")
        named = re.findall(r"`([^`\n]+)`", check_docs.without_blocks((ROOT / "docs" / f"{page}.md").read_text("utf-8")))
        assert [text for text in named if text not in there] == [], korean


def test_the_page_of_the_commands_is_that_of_the_commands() -> None:
    page = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    assert page == write_commands_doc.document(), "run `python tools/write_commands_doc.py`"


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if page not in ELSEWHERE])
def test_code_blocks_run(page: str, tmp_path: Path) -> None:
    wanted = [content for language, content in blocks(page) if language in ("python", "sh")]
    if wanted:
        assert len(run_blocks(page, tmp_path, seconds=900)) == len(wanted)  # kernels may have to be compiled
    assert not [language for language, _ in blocks(page) if language in ("py", "bash", "shell", "console")]


def test_the_spec_of_the_page_about_games_is_that_of_the_example() -> None:
    (spec,) = [content for language, content in blocks("add-a-game.md") if language == "python"]
    assert spec in (ROOT / "examples" / "connect_four.py").read_text(encoding="utf-8")


def test_the_callback_of_the_page_about_watching_is_told_of_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (program,) = [content for language, content in blocks("watching.md") if language == "python"]
    run = learned_run(tmp_path / "local_training", games=2)
    capsys.readouterr()
    monkeypatch.chdir(tmp_path)
    exec(program.replace("Print())", "Print(), poll_seconds=0)"), {})  # it ends where a reader waits for more
    assert capsys.readouterr().out.count("against") == 2
    assert run.ledger.exists()


@pytest.mark.slow
def test_the_program_of_the_readme_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (program,) = re.findall(r"^```python\n(.*?)^```", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE | re.DOTALL)
    monkeypatch.chdir(tmp_path)
    exec(program, {"playing": Steps(5), "state": np.zeros(50, np.float32), "reward": 1.0})
    assert len(list((tmp_path / "local_training" / "data" / "archive").glob("*.npz"))) == 1


class Steps:
    """Is true `count` times."""

    def __init__(self, count: int) -> None:
        self._left = count

    def __bool__(self) -> bool:
        self._left -= 1
        return self._left >= 0


def test_the_pictures_are_of_this_version_and_of_every_page_of_the_dashboard() -> None:
    page = (ROOT / "docs" / "pictures.md").read_text(encoding="utf-8")
    assert f"version {understudy.__version__}." in page, "run `make pictures`"
    shown = re.findall(r"images/([\w-]+)-(?:light|dark)\.png", page)
    assert {name.removesuffix("-phone") for name in shown} >= {*TABS, "runs", "game", "battles", "shogi", "missing"}
    files = {path.name for path in (ROOT / "docs" / "images").glob("*.png")}
    used = set(re.findall(r"images/([\w-]+\.png)", page + (ROOT / "docs" / "dashboard.md").read_text("utf-8")))
    assert files - used <= {"monitor.png"}


def test_links_and_prose_of_the_documentation(capsys: pytest.CaptureFixture[str]) -> None:
    code = check_docs.main()
    assert code == 0, capsys.readouterr().out


def test_the_checker_finds_what_is_wrong(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    (tmp_path / "other.md").write_text("# There\n\n## A `heading` of it\n", encoding="utf-8")
    page.write_text(
        "# Title\n\n### Too deep\n\n[gone](gone.md) [other](other.md#not-there) [fine](other.md#a-heading-of-it)\n\n"
        f"It is simply the the best. {' '.join(map(str, range(62)))}.\n\n`simply in code`\n\n"
        "```text\nsimply in a block\n```\n\n```\n",
        encoding="utf-8",
    )
    found = [(line, text.split(":")[0].split("(")[0]) for line, text in check_docs.check_page(page)]
    assert sorted(found) == [
        (3, "a heading of level 3 below one of level 1"),
        (5, "gone.md does not exist"),
        (5, "other.md#not-there"),
        (7, "'simply'"),
        (7, "'the the'"),
        (7, "a sentence of 62 words "),
        (15, "a code block is not closed"),
    ]
