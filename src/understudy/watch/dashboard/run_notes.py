"""People's notes about a run, and its settings."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path

from nicegui import context, ui

from understudy.errors import UnderstudyError
from understudy.run.remarks import Remark, add_remark, read_remarks
from understudy.settings import sections
from understudy.watch import formats
from understudy.watch.dashboard.markup import Markup, empty, join, table, tag
from understudy.watch.dashboard.parts import Update, box, card
from understudy.watch.dashboard.runs import Watched, in_reader


def notes_card(watched: Watched) -> Update:
    """The notes, and an input to write another one."""
    seen: object = None
    with card("Notes"):
        content = ui.html("")
        with box("filters"):
            text = ui.input(placeholder="Write a note about this run").props("dense outlined maxlength=2000")
            text.classes("note-input")
            with box("button", "button") as button:
                ui.label("Add note")

    async def read() -> None:
        found = await in_reader(lambda: read_remarks(watched.run))
        content.set_content(notes(found, watched.run.root))

    async def add() -> None:
        by = f"the dashboard ({context.client.ip or 'address unknown'})"
        written = str(text.value or "")
        try:
            await in_reader(lambda: add_remark(watched.run, written, by))
        except (UnderstudyError, OSError) as error:
            ui.notify(str(error), type="negative")
            return
        text.set_value("")
        await read()

    button.on("click", add)

    def update() -> None:
        nonlocal seen
        if (now := watched.remarks_stamp) != seen or seen is None:
            seen = now or 0
            ui.timer(0, read, once=True)

    update()
    return update


def notes(found: Sequence[Remark], run_dir: Path) -> Markup:
    """The notes, newest first."""
    if not found:
        return empty(
            f'No notes yet. Write down what this run tries, and why. In a terminal: `understudy note {run_dir} "TEXT"`'
        )
    rows = []
    for note in found:
        when = tag("div", f"{formats.clock(note.at)}, {note.by}", cls="muted small")
        rows.append(tag("div", tag("div", note.text), when, cls="note"))
    return tag("div", *rows, cls="notes")


def settings_table(settings: Mapping[str, object]) -> Markup:
    """The settings of network and training of a model; those that differ from the defaults come first, in bold."""
    if not settings:
        return empty("They appear with the first model.")
    usual = defaults()
    rows = sorted(settings.items(), key=lambda item: (_same(item[1], usual.get(item[0])), item[0]))
    cells = [
        (
            name if _same(value, usual.get(name)) else tag("b", name),
            as_text(value),
            "" if _same(value, usual.get(name)) else f"default: {as_text(usual.get(name))}",
        )
        for name, value in rows
    ]
    return tag("div", table(("Setting", "Value", ""), cells), cls="long")


def difference_table(runs: Sequence[tuple[str, Mapping[str, object]]]) -> Markup:
    """The settings in which some runs differ, with a column for each run."""
    known = [(name, settings) for name, settings in runs if settings]
    if len(known) < 2:
        return empty("Settings are compared once two runs have a model.")
    names = sorted({name for _, settings in known for name in settings})
    rows = [
        (name, *(as_text(settings.get(name)) for _, settings in known))
        for name in names
        if any(not _same(settings.get(name), known[0][1].get(name)) for _, settings in known)
    ]
    if not rows:
        return empty("All runs have the same settings of network and training.")
    return join([table(("Setting", *(name for name, _ in known)), rows)])


def defaults() -> dict[str, object]:
    """The default of every setting, by name."""
    return {
        f"{section}.{field.name}": field.default if field.default is not dataclasses.MISSING else None
        for section, kind in sections().items()
        for field in dataclasses.fields(kind)
    }


def as_text(value: object) -> str:
    """A setting's value as text."""
    if value is None:
        return "–"
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value)) or "none"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _same(one: object, other: object) -> bool:
    return as_text(one) == as_text(other)
