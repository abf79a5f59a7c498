"""The page of replay analysis: openings with their evidence, and the timing of milestones."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from nicegui import ui

from understudy.errors import RunDirError
from understudy.games.spec import WorkSummary
from understudy.games.zerg.replays.ledger import ReplayTable
from understudy.rundir import RunDir
from understudy.watch import formats
from understudy.watch.dashboard import charts
from understudy.watch.dashboard.charts import Line, Options
from understudy.watch.dashboard.markup import Markup, empty, table, tag
from understudy.watch.dashboard.overview import tile
from understudy.watch.dashboard.parts import Update, box, card, chart_card, live_html
from understudy.watch.dashboard.runs import Watched, in_reader
from understudy.watch.ledger_reading import open_ledger
from understudy.watch.snapshot import RunSnapshot

_MOST_BYTES = 50_000_000
_OPENINGS = 8
_LATEST = 12
_NONE = WorkSummary("", {})


def show(watched: Watched) -> list[Update]:
    """Build the page; it is refreshed when the file or the number of replays changes."""
    taught: dict[str, Any] = {}
    replays: list[tuple[str, str, str]] = []
    seen: object = None
    updates = [live_html(lambda: counts(watched))]
    with box("grid wide"):
        updates.append(chart_card("milestone_seconds", lambda: milestones(taught), empty=_NOTHING, tall=True))
        updates.append(chart_card("growth_by_minute", lambda: growth(taught), empty=_NOTHING, tall=True))
    with card("Openings"):
        updates.append(live_html(lambda: openings(taught)))
    with card("Latest replays"):
        updates.append(live_html(lambda: latest(replays)))

    async def read() -> None:
        nonlocal taught, replays
        taught, replays = await in_reader(lambda: (read_build_orders(watched), read_replays(watched)))
        for update_part in updates:
            update_part()

    def update() -> None:
        nonlocal seen
        if (now := _done(watched)) != seen:
            seen = now
            ui.timer(0, read, once=True)

    update()
    return [*updates, update]


_NOTHING = "Nothing has been learned from replays yet. `understudy replays DIR --run-dir RUN_DIR` analyses a folder."


def wanted(_run: RunDir, snapshot: RunSnapshot) -> bool:
    """Whether the run has analysed replays, or is about to."""
    return not snapshot.work.get("replays", _NONE).empty


def _done(watched: Watched) -> WorkSummary:
    return watched.snapshot.work.get("replays", _NONE)


def read_build_orders(watched: Watched) -> dict[str, Any]:
    """The match-ups of the file; empty if there is no readable file."""
    path = watched.run.build_orders
    try:
        if path.stat().st_size > _MOST_BYTES:
            return {}
        content = json.loads(path.read_bytes())
        return dict(content["matchups"])
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def read_replays(watched: Watched) -> list[tuple[str, str, str]]:
    """(name, outcome, reason) of the latest replays."""
    if not watched.run.ledger.exists():
        return []
    try:
        with open_ledger(watched.run.ledger) as ledger:
            return ReplayTable(ledger, create=False).latest(_LATEST)
    except RunDirError:
        return []  # the overview shows problems of the ledger


def counts(watched: Watched) -> Markup:
    """The number of replays by outcome."""
    found = _done(watched)
    rows = (
        ("Analysed", formats.count(found.counts.get("analysed", 0)), "replays"),
        ("Rejected", formats.count(found.counts.get("rejected", 0)), "or set aside"),
        ("Waiting", formats.count(found.counts.get("waiting", 0)), "replays"),
        ("Build orders", formats.ago(found.changed_at, watched.snapshot.at), "last written"),
    )
    return tag("div", *(tile(*row) for row in rows), cls="tiles")


def milestones(taught: Mapping[str, Any]) -> Options | None:
    """For each match-up, the time of each milestone."""
    rows = []
    for matchup, about in taught.items():
        events = [
            (float(when["seconds"]["mean"]), f"{name.replace('_', ' ')} {_clock(when['seconds']['mean'])}")
            for name, when in about.get("milestones", {}).items()
            if isinstance(when, dict) and isinstance(when.get("seconds"), dict)
        ]
        rows.append((matchup, sorted(events)[:24]))
    return charts.timeline(rows, x_name="game clock") if any(events for _, events in rows) else None


def _clock(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


def growth(taught: Mapping[str, Any]) -> Options | None:
    """Drones and army supply by the minute, over all match-ups."""
    about = taught.get("overall", {})
    lines = [
        Line(name, list(enumerate(about[key])), charts.COLORS[number])
        for number, (key, name) in enumerate((("drones_by_minute", "drones"), ("army_supply_by_minute", "army supply")))
        if about.get(key)
    ]
    return charts.line_chart(lines, x_name="minute of the game", low=0) if lines else None


def openings(taught: Mapping[str, Any]) -> Markup:
    """The observed openings, best first."""
    rows = [
        (matchup, c["name"], c["opening"], formats.count(c["observations"]), formats.percent(c["win_rate"]))
        for matchup, about in taught.items()
        if matchup != "overall"
        for c in sorted(about.get("clusters", []), key=lambda cluster: -cluster["win_rate"])[:_OPENINGS]
    ]
    if not rows:
        return empty("No opening has been learned yet.")
    return table(("Match-up", "Opening", "Order", "Seen", "Win rate"), rows, numbers=(3, 4))


def latest(replays: list[tuple[str, str, str]]) -> Markup:
    """The latest replays."""
    if not replays:
        return empty("No replay has been analysed in this run.")
    level = {"analysed": "green", "rejected": "red"}
    rows = [
        (name, tag("span", outcome, cls=f"tag {level.get(outcome, 'amber')}"), reason)
        for name, outcome, reason in replays
    ]
    return table(("Replay", "Outcome", "Why"), rows)
