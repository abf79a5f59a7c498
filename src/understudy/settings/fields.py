"""The definition of a setting: a documented field of a section with limits, and the conversion of its value."""

from __future__ import annotations

import dataclasses
import difflib
import json
import math
import typing
from collections.abc import Callable, Iterable
from dataclasses import field
from typing import Any, Literal

from understudy.errors import SettingsError

_FEW = 8  # names that fit into a message


def setting(
    default: Any,
    doc: str,
    at_least: float | None = None,
    at_most: float | None = None,
    choices: Callable[[], Iterable[str]] | None = None,
    sane: float | None = None,
    auto: int | None = None,
) -> Any:
    """A field of a section: default, description, the range of a number, or the allowed choices.

    A value above `sane` is refused if a person sets it, but a model that has it still loads. `auto` is the number for
    the word "auto".
    """
    limits = {"at_least": at_least, "at_most": at_most, "choices": choices, "sane": sane, "auto": auto}
    return field(default=default, metadata={"doc": doc, **limits})


class Section:
    """A group of settings. Creating one, also by dataclasses.replace(), checks every value."""

    __slots__ = ()

    def __post_init__(self) -> None:
        for f in fields_of(type(self)):
            _check(f, getattr(self, f.name), f"{type(self).__name__}.{f.name}")


def fields_of(kind: type[Any]) -> tuple[dataclasses.Field[Any], ...]:
    """The fields of a section. With `from __future__ import annotations`, their types are initially text."""
    fields = dataclasses.fields(kind)
    if any(isinstance(f.type, str) for f in fields):
        types = typing.get_type_hints(kind)
        for f in fields:
            f.type = types[f.name]
    return fields


def known_name(name: str, names: Iterable[str], where: str, kind: str) -> str:
    """The name if it is one of `names`; otherwise SettingsError with the nearest one."""
    names = list(names)
    if name not in names and len(names) <= _FEW:
        raise SettingsError(f"{where}: {name!r} is not a {kind}; possible: {', '.join(names)}.")
    if name not in names:
        nearest = difflib.get_close_matches(name, names, 1, 0.0)[0]
        raise SettingsError(f"{where}: {name!r} is not a {kind}; the nearest known one is {nearest!r}.")
    return name


def parse(f: dataclasses.Field[Any], text: str) -> Any:
    """Turn the text of a flag or variable into the plain value that a TOML file would have held."""
    text = text.strip()  # on Windows, `set NAME=value && ...` leaves a space at the end
    if typing.get_origin(f.type) is tuple:
        return [_number(part) for part in text.replace("(", "").replace(")", "").split(",") if part.strip()]
    if f.type is bool:
        return {
            "1": True,
            "true": True,
            "yes": True,
            "on": True,
            "0": False,
            "false": False,
            "no": False,
            "off": False,
        }.get(text.lower(), text)
    return _number(text) if f.type in (int, float) else text


def _number(text: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def convert(f: dataclasses.Field[Any], value: Any, where: str) -> Any:
    """Convert the plain value of a file, flag or model to the field's type; SettingsError if it does not fit."""
    if typing.get_origin(f.type) is tuple and isinstance(value, list):
        value = tuple(value)
    elif f.type is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    elif value == "auto" and f.metadata["auto"] is not None:
        value = f.metadata["auto"]
    _check(f, value, where)
    return value


def _check(f: dataclasses.Field[Any], value: Any, where: str) -> None:
    if typing.get_origin(f.type) is Literal:
        known_name(value, typing.get_args(f.type), where, "choice")
        return
    if f.metadata["choices"] is not None:
        known_name(value, f.metadata["choices"](), where, "choice")
    kind = int if typing.get_origin(f.type) is tuple else f.type
    members = value if isinstance(value, tuple) else (value,)
    if isinstance(value, tuple) != (typing.get_origin(f.type) is tuple) or not all(_is(kind, m) for m in members):
        wanted = "a list of whole numbers" if isinstance(f.default, tuple) else _KIND_NAMES[kind]
        raise SettingsError(f"{where} is {value!r}; it must be {wanted}, for example {json.dumps(f.default)}.")
    low, high = f.metadata["at_least"], f.metadata["at_most"]
    for number in members:
        if (low is not None and not number >= low) or (high is not None and not number <= high):
            limits = " and ".join(
                f"at {word} {bound:g}" for word, bound in (("least", low), ("most", high)) if bound is not None
            )
            raise SettingsError(f"{where} is {number!r}; it must be {limits}.")


def _is(kind: Any, value: Any) -> bool:
    if kind is float:
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return type(value) is kind


_KIND_NAMES: dict[Any, str] = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}


def sane_value(f: dataclasses.Field[Any], value: Any, where: str) -> Any:
    """The value; SettingsError if it is unreasonably large."""
    if (most := f.metadata["sane"]) is not None and value > most:
        raise SettingsError(f"{where} is {value!r}; values of more than {most:g} make no sense. Default: {f.default}.")
    return value
