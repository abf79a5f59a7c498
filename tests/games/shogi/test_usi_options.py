from __future__ import annotations

import pytest

from understudy.games.shogi.errors import EngineError
from understudy.games.shogi.usi_options import UsiOption, setoption

LINES = [
    "option name Skill Level type spin default 20 min -20 max 20",
    "option name Style type combo default Normal var Solid var Normal var Risky Play",
    "option name Ponder type check default false",
    "option name Book File type filename default <empty>",
    "option name Clear Hash type button",
]
LISTED = {option.name: option for option in map(UsiOption.parse, LINES) if option is not None}


@pytest.mark.parametrize("line", LINES)
def test_a_line_is_read_and_written(line: str) -> None:
    option = UsiOption.parse(line)
    assert option is not None
    assert option.line() == line


@pytest.mark.parametrize("line", ["", "option", "option name X", "option name X type odd", "id name X type check"])
def test_other_lines_list_no_option(line: str) -> None:
    assert UsiOption.parse(line) is None


@pytest.mark.parametrize(
    ("name", "value", "line"),
    [
        ("Skill Level", "-5", "setoption name Skill Level value -5"),
        ("Style", "risky play", "setoption name Style value Risky Play"),
        ("Ponder", "True", "setoption name Ponder value true"),
        ("Book File", "a b.db", "setoption name Book File value a b.db"),
        ("Clear Hash", "", "setoption name Clear Hash"),
        ("USI_Hash", "64", "setoption name USI_Hash value 64"),
    ],
)
def test_an_option_is_set(name: str, value: str, line: str) -> None:
    assert setoption(LISTED, name, value, "engine") == line


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("Skill Level", "21", "takes -20 to 20, not '21'"),
        ("Skill Level", "x", "takes -20 to 20, not 'x'"),
        ("Style", "Odd", "takes Solid or Normal or Risky Play"),
        ("Ponder", "1", "takes true or false"),
        ("Book File", "a\nquit", "takes a path"),
        ("skill_level", "3", "did you mean 'Skill Level'"),
        ("Nothing", "3", "engine has no option 'Nothing'. It lists Skill Level \\(-20 to 20\\), Style"),
    ],
)
def test_what_does_not_fit_is_refused(name: str, value: str, message: str) -> None:
    with pytest.raises(EngineError, match=message):
        setoption(LISTED, name, value, "engine")


def test_an_engine_without_options_says_so() -> None:
    with pytest.raises(EngineError, match="It lists none"):
        setoption({}, "Depth", "3", "engine")
