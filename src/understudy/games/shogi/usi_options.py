"""Options of USI engines: parsing and printing the line of an option, and checking its values."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from understudy.games.shogi.errors import EngineError

IMPLIED = ("USI_Ponder", "USI_Hash")
"""Options that the protocol defines for every engine, whether it lists them or not."""
_KINDS = ("check", "spin", "combo", "button", "string", "filename")
_KEYWORDS = re.compile(r" (default|min|max|var)(?= |$)")
_SHOWN = 60  # options in a message; some engines have hundreds
_LONGEST = 300  # characters of a number or name in a message
_MOST_DIGITS = 18


@dataclass(frozen=True, slots=True)
class UsiOption:
    """One option: its name, type, default and allowed values."""

    name: str
    kind: str
    default: str = ""
    least: int | None = None
    most: int | None = None
    choices: tuple[str, ...] = ()

    @classmethod
    def parse(cls, line: str) -> UsiOption | None:
        """Parse `option name NAME type KIND …`; None for any other line."""
        found = re.fullmatch(r"option name (\S.*?) type (\w+)(.*)", line.strip())
        if found is None or found[2] not in _KINDS:
            return None
        parts = _KEYWORDS.split(found[3])
        pairs = [(key, value.strip()) for key, value in zip(parts[1::2], parts[2::2], strict=True)]
        told = dict(pairs)
        return cls(
            found[1],
            found[2],
            told.get("default", "").replace("<empty>", ""),
            _number(told.get("min", "")),
            _number(told.get("max", "")),
            tuple(value for key, value in pairs if key == "var"),
        )

    def line(self) -> str:
        """The line that declares this option."""
        parts = [f"option name {self.name} type {self.kind}"]
        if self.kind != "button":
            parts.append(f"default {self.default or '<empty>'}")
        if self.kind == "spin":
            parts.append(f"min {self.least} max {self.most}")
        parts += [f"var {choice}" for choice in self.choices]
        return " ".join(parts)

    def values(self) -> str:
        """The allowed values, as text."""
        match self.kind:
            case "spin":
                return f"{self.least} to {self.most}"
            case "check":
                return "true or false"
            case "combo":
                return " or ".join(self.choices)
            case "button":
                return "no value"
            case kind:
                return "a path" if kind == "filename" else "text"

    def check(self, value: str) -> str:
        """The value in the form that the engine expects; EngineError with the allowed values if it is not valid."""
        taken: str | None = value
        match self.kind:
            case "spin":
                number = _number(value)
                low, high = self.least, self.most
                inside = number is not None and (low is None or number >= low) and (high is None or number <= high)
                taken = str(number) if inside else None
            case "check":
                taken = value.lower() if value.lower() in ("true", "false") else None
            case "combo":
                taken = next((choice for choice in self.choices if choice.lower() == value.lower()), None)
            case "button":
                taken = value if not value else None
            case _:
                taken = None if re.search(r"[\r\n]", value) else value
        if taken is None:
            raise EngineError(f"The option {self.name} takes {self.values()[:_LONGEST]}, not {value[:40]!r}.")
        return taken


def setoption(listed: Mapping[str, UsiOption], name: str, value: str, engine: str) -> str:
    """The line that sets an option of an engine; EngineError with the listed options if there is no such option."""
    if name in IMPLIED and name not in listed:
        return f"setoption name {name} value {value}"
    option = listed.get(name)
    if option is None:
        raise EngineError(f"{engine} has no option {name!r}{_nearest(name, listed)} It lists {_all(listed.values())}.")
    taken = option.check(value)
    return f"setoption name {name}" + (f" value {taken}" if option.kind != "button" else "")


def _nearest(name: str, listed: Iterable[str]) -> str:
    plain = {re.sub(r"[\s_]", "", known).lower(): known for known in listed}
    found = difflib.get_close_matches(re.sub(r"[\s_]", "", name).lower(), plain, n=1)
    return f"; did you mean {plain[found[0]]!r}?" if found else "."


def _all(options: Iterable[UsiOption]) -> str:
    texts = [f"{option.name} ({option.values()})" if len(option.choices) < 9 else option.name for option in options]
    if not texts:
        return "none"
    more = f" and {len(texts) - _SHOWN} more" if len(texts) > _SHOWN else ""
    return ", ".join(texts[:_SHOWN]) + more


def _number(text: str) -> int | None:
    digits = text.removeprefix("-")
    return int(text) if digits.isascii() and digits.isdecimal() and len(digits) <= _MOST_DIGITS else None
