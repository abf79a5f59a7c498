"""The page Models: the versions, the parent of each, and rollback."""

from __future__ import annotations

from collections.abc import Sequence

from nicegui import events, ui

from understudy.errors import RunDirError
from understudy.ledger.connection import Version
from understudy.watch import formats
from understudy.watch.dashboard import actions
from understudy.watch.dashboard.markup import Markup, empty, join, table, tag
from understudy.watch.dashboard.parts import Update, card, live_html
from understudy.watch.dashboard.run_notes import settings_table
from understudy.watch.dashboard.runs import Watched, in_reader
from understudy.watch.ledger_reading import open_ledger

_SHOWN = 60
_ROW = 34  # pixels; the drawing of the lineage beside the table has rows of the same height
_CLICKED = (
    "(event) => { const button = event.target.closest('[data-version]'); if (button) emit(button.dataset.version) }"
)


def show(watched: Watched) -> list[Update]:
    """The table of versions, with its lineage and a rollback button for each kept version."""
    versions: list[Version] = []
    seen: object = None
    with card("Model", metric="model_version"):
        updates = [live_html(lambda: summary(watched))]
    with card("Versions", "newest first; lines on the left show which version came from which"):
        content = ui.html("").classes("versions")

    with card("Settings", "of network and training; bold: not the default"):
        updates.append(live_html(lambda: settings_table(watched.snapshot.model.settings)))

    async def clicked(event: events.GenericEventArguments) -> None:
        if str(event.args).isdecimal():
            await actions.roll_back(watched, int(event.args))

    content.on("click", clicked, js_handler=_CLICKED)

    async def read() -> None:
        nonlocal versions
        versions = await in_reader(lambda: read_versions(watched))
        content.set_content(versions_table(versions, watched.snapshot.model.kept, watched.snapshot.model.version))

    def update() -> None:
        nonlocal seen
        model = watched.snapshot.model
        if (now := (model.version, model.kept, watched.snapshot.last_version_at)) != seen:
            seen = now
            ui.timer(0, read, once=True)

    update()
    return [*updates, update]


def read_versions(watched: Watched) -> list[Version]:
    """The newest versions, newest first."""
    if not watched.run.ledger.exists():
        return []
    try:
        with open_ledger(watched.run.ledger) as ledger:
            return ledger.versions(newest=_SHOWN)[::-1]
    except RunDirError:
        return []  # the overview shows problems of the ledger


def summary(watched: Watched) -> Markup:
    """The model that bots load."""
    model = watched.snapshot.model
    if not model.exists:
        return empty("There is no model yet; the bot makes the first one.")
    pairs = (
        ("Version", f"{model.version}"),
        ("Published", f"{formats.ago(model.at, watched.snapshot.at)} by {model.publisher or 'somebody'}"),
        ("Learned from", f"{formats.count(model.games)} games in {formats.count(model.updates)} updates"),
        ("Size", formats.size(model.bytes)),
        ("Kept", f"{len(model.kept)} versions to roll back to"),
        ("Actions", ", ".join(model.actions[:12]) + (" …" if len(model.actions) > 12 else "")),
    )
    tiles = (
        tag("div", tag("div", name, cls="name"), tag("div", value), cls="fact", data_fact=name) for name, value in pairs
    )
    return tag("div", *tiles, cls="fact-row")


def versions_table(versions: Sequence[Version], kept: Sequence[int], head: int | None) -> Markup:
    """One row for each version, with the lineage drawn in the first column."""
    if not versions:
        return empty("No version has been published yet.")
    rows = [
        (
            tag("b", f"v{v.version}") if v.version == head else f"v{v.version}",
            "–" if v.parent is None else f"v{v.parent}",
            formats.clock(v.at),
            tag("span", v.publisher, cls="tag amber" if v.publisher == "rollback" else "tag"),
            formats.count(v.games),
            formats.count(v.steps),
            formats.figure(v.loss),
            formats.figure(v.stats.get("entropy")),
            _way_back(v.version, kept, head),
        )
        for v in versions
    ]
    heads = ("Version", "From", "Published", "By", "Games", "Decisions", "Loss", "Entropy", "")
    return tag("div", lineage(versions), table(heads, rows, numbers=(4, 5, 6, 7)), cls="lineage")


def lineage(versions: Sequence[Version]) -> Markup:
    """A dot for each version and a line to its parent; a rollback bends to the side."""
    place = {version.version: number for number, version in enumerate(versions)}
    parts = []
    for number, version in enumerate(versions):
        y = _ROW * (number + 1.5)
        target = place.get(version.parent if version.parent is not None else -1)
        if target is not None:
            end = _ROW * (target + 1.5)
            bend = 0 if target == number + 1 else 22
            path = f"M34 {y:g} C{34 - bend} {y:g} {34 - bend} {end:g} 34 {end:g}"
            parts.append(tag("path", d=path, cls="from back" if bend else "from"))
    for number, version in enumerate(versions):
        kind = "dot back" if version.publisher == "rollback" else "dot"
        parts.append(tag("circle", cx=34, cy=f"{_ROW * (number + 1.5):g}", r=4.5, cls=kind))
    height = _ROW * (len(versions) + 1)
    return tag("svg", join(parts), width=44, height=height, viewBox=f"0 0 44 {height}", aria_hidden="true")


def _way_back(version: int, kept: Sequence[int], head: int | None) -> Markup:
    if version == head:
        return tag("span", "in use", cls="tag green")
    if version not in kept:
        return tag("span", "no longer kept", cls="muted small")
    return tag("button", "Roll back", cls="button", data_version=version)
