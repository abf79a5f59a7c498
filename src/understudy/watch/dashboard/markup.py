"""HTML that is safe by construction: text that is not Markup is escaped, because names and reasons come from files."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

from understudy.ledger.history import result_kind


class Markup(str):
    """Text that is HTML."""

    __slots__ = ()


def tag(name: str, *children: object, **attributes: object) -> Markup:
    """An element. `cls` is its class, `data_x` its data-x; an attribute that is None or False is omitted."""
    inside = "".join(child if isinstance(child, Markup) else html.escape(str(child)) for child in children)
    given = "".join(
        f' {"class" if key == "cls" else key.replace("_", "-")}="{html.escape(str(value))}"'
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    return Markup(f"<{name}{given}>{inside}</{name}>")


def join(parts: Iterable[Markup]) -> Markup:
    """Elements one after the other."""
    return Markup("".join(parts))


def table(heads: Sequence[str], rows: Iterable[Sequence[object]], *, numbers: Iterable[int] = ()) -> Markup:
    """A table; columns with these indices hold numbers and are right-aligned."""
    right = frozenset(numbers)

    def row(kind: str, cells: Sequence[object]) -> Markup:
        return tag("tr", *(tag(kind, cell, cls="num" if i in right else None) for i, cell in enumerate(cells)))

    body = join(row("td", cells) for cells in rows)
    return tag("div", tag("table", tag("thead", row("th", heads)), tag("tbody", body), cls="plain"), cls="scroll")


def facts(pairs: Iterable[tuple[str, object]]) -> Markup:
    """Names and values, one line each."""
    return tag("dl", *(part for name, value in pairs for part in (tag("dt", name), tag("dd", value))), cls="facts")


def with_commands(text: str, *, copied: bool = True) -> Markup:
    """Text in which parts between backticks are commands; each gets a copy button."""
    parts = []
    for number, part in enumerate(text.split("`")):
        if number % 2 == 0:
            parts.append(tag("span", part))
        elif copied:
            button = tag("button", cls="copy", title="Copy", aria_label=f"Copy {part}", data_copy=part)
            parts.append(tag("span", tag("code", part), button, cls="command"))
        else:
            parts.append(tag("code", part))
    return join(parts)


def light(level: str) -> Markup:
    """A status light: green, amber or red; any other level is off."""
    return tag("span", cls=f"light {level}", role="img", aria_label=level)


def empty(text: str) -> Markup:
    """The text shown while there is no data; a part between backticks is a command to copy."""
    return tag("div", with_commands(text), cls="empty")


def result_tag(result: str) -> Markup:
    """A result in its colour."""
    return tag("span", result or "?", cls=f"tag {('green', 'red', 'amber', '')[result_kind(result)]}")
