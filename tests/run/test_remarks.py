from __future__ import annotations

from pathlib import Path

import pytest

from understudy.cli import main
from understudy.errors import SettingsError
from understudy.run.remarks import MOST_CHARACTERS, add_remark, read_remarks
from understudy.rundir import RunDir


def test_notes_are_read_newest_first_and_without_control_characters(tmp_path: Path) -> None:
    run = RunDir.at(tmp_path)
    assert read_remarks(run) == []
    add_remark(run, "a higher learning rate\x1b[2J", "Ann")
    add_remark(run, "two\nlines", "Bob")
    with run.remarks.open("a", encoding="utf-8") as stream:
        stream.write("not a note\n{}\n")
    newest, oldest = read_remarks(run)
    assert (newest.by, newest.text) == ("Bob", "two\nlines")
    assert oldest.text == "a higher learning rate\N{REPLACEMENT CHARACTER}[2J"


@pytest.mark.parametrize("text", ["", "  ", "x" * (MOST_CHARACTERS + 1)])
def test_an_empty_or_endless_note_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(SettingsError, match="1 to 2,000 characters"):
        add_remark(RunDir.at(tmp_path), text, "Ann")


def test_the_command_adds_a_note(tmp_path: Path) -> None:
    run = RunDir.at(tmp_path)
    run.create()
    assert main(["note", str(tmp_path), "seed 2 of the comparison"]) == 0
    assert [note.text for note in read_remarks(run)] == ["seed 2 of the comparison"]
