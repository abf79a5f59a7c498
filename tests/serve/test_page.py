"""The page about other languages: its commands work in an empty folder, and it names every message."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from page_blocks import ROOT, run_blocks
from understudy.serve.protocol import MESSAGES


def test_the_page_names_every_message_and_every_field() -> None:
    page = (ROOT / "docs" / "other-languages.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", page, re.MULTILINE))
    assert set(rows) == set(MESSAGES)
    for name, message in MESSAGES.items():
        assert {*message.fields, *message.answer} - {"seq"} <= set(re.findall(r"`(\w+)`", rows[name])), name


@pytest.mark.slow
def test_the_commands_of_the_page_work_in_an_empty_folder(tmp_path: Path) -> None:
    printed = run_blocks("other-languages.md", tmp_path)
    assert printed[-1].startswith("5\n")
    assert len(list((tmp_path / "my_run" / "data" / "archive").glob("*.npz"))) == 1
