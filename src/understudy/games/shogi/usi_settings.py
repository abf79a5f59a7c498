"""The options of our USI engine and their values."""

from __future__ import annotations

from pathlib import Path

from understudy.games.shogi.actions import BLACK
from understudy.games.shogi.inference import BACKENDS
from understudy.games.shogi.levels import FULL, LEVELS, StrengthLevel
from understudy.games.shogi.usi_options import UsiOption, setoption

NETWORK_DELAY = 300  # ms to the clock and back on a busy machine; a late move loses, a shorter thought hardly
MOST_NODES = 300_000  # nodes of one search; each takes about 2.8 KB of memory
NEVER = 99_999
_NAME = "Understudy"


def _spin(name: str, default: int, least: int, most: int) -> UsiOption:
    return UsiOption(name, "spin", str(default), least, most)


def _listed() -> dict[str, UsiOption]:
    options = (
        _spin("USI_Hash", 64, 1, 65_536),
        UsiOption("USI_Ponder", "check", "false"),
        _spin("MultiPV", 1, 1, 100),
        _spin("Nodes", 0, 0, MOST_NODES),
        _spin("MateNodes", 10_000, 0, 10_000_000),
        _spin("Level", FULL, 1, FULL),
        _spin("ResignValue", NEVER, 0, NEVER),
        _spin("DrawValueBlack", 0, -100, 100),
        _spin("DrawValueWhite", 0, -100, 100),
        _spin("Contempt", 0, -100, 100),
        UsiOption("BookFile", "filename"),
        _spin("BookMoves", 24, 0, 1000),
        _spin("NetworkDelay", NETWORK_DELAY, 0, 10_000),
        UsiOption("Backend", "combo", "fastest", choices=("fastest", *BACKENDS)),
    )
    return {option.name: option for option in options}


class EngineSettings:
    """The options with their values."""

    def __init__(self) -> None:
        self.listed = _listed()
        self._values = {option.name: option.default for option in self.listed.values()}

    def set(self, name: str, value: str) -> None:
        """Set an option; EngineError with the options or values that are allowed if it is not valid."""
        line = setoption(self.listed, name, value, _NAME)
        self._values[name] = line.partition(" value ")[2]

    def number(self, name: str) -> int:
        """The value of a numeric option."""
        return int(self._values[name])

    def text(self, name: str) -> str:
        """The value of any option."""
        return self._values[name]

    @property
    def ponder(self) -> bool:
        """Whether the user interface may send `go ponder`."""
        return self._values["USI_Ponder"] == "true"

    @property
    def book(self) -> Path | None:
        """The file of the book."""
        return Path(self._values["BookFile"]) if self._values["BookFile"] else None

    @property
    def level(self) -> StrengthLevel | None:
        """A weaker level; None for full strength."""
        number = self.number("Level")
        return None if number == FULL else LEVELS[number - 1]

    def draw_value(self, turn: int) -> float:
        """The value of a draw for the engine when it plays this colour, −1 to 1."""
        own = self.number("DrawValueBlack" if turn == BLACK else "DrawValueWhite")
        return min(max(own - self.number("Contempt"), -100), 100) / 100
