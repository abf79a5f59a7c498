"""The page Stage: ratings of the versions, champion and candidate, pairwise results, results by opponent."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from nicegui import ui

from understudy.watch import formats
from understudy.watch.dashboard import charts
from understudy.watch.dashboard.charts import Line, Options
from understudy.watch.dashboard.markup import Markup, empty, facts, join, table, tag
from understudy.watch.dashboard.parts import Update, box, card, chart_card, live_html
from understudy.watch.dashboard.runs import Watched, in_reader
from understudy.watch.stage import StageView, read_stage

_SHOWN = 10  # versions in the table of pairwise results
_DECISIONS = 12
_NOTHING = "There is no gate in this run yet: it is set up with the next game of a bot, or by a learner."


class StageReader:
    """The gate's report and the ratings of a run, read again after changes. None until the first reading."""

    def __init__(self, watched: Watched) -> None:
        self.view: StageView | None = None
        self.parts: list[Update] = []
        """The parts to redraw after each reading."""
        self._watched = watched
        self._seen: object = None

    def update(self) -> None:
        """Read again if something has changed."""
        snapshot = self._watched.snapshot
        gate = snapshot.learner.stats.get("gate") or {}
        counts = (gate.get("comparisons"), gate.get("simulated"), sum(snapshot.outcomes.values()))
        now = (snapshot.last_version_at, snapshot.last_game_at, counts)
        if now != self._seen:
            self._seen = now
            ui.timer(0, self._read, once=True)

    async def _read(self) -> None:
        self.view = await in_reader(lambda: read_stage(self._watched.run.ledger))
        for part in self.parts:
            part()


def rating_card(reader: StageReader, *, tall: bool = False) -> Update:
    """The rating of each version."""
    return chart_card(
        "rating",
        lambda: None if reader.view is None else rating_chart(reader.view),
        note="one fit over evaluation games, simulated and live games of the gate, and arena games; of a long run, "
        "over those of the 200 versions with the most games",
        empty="It appears when versions were compared.",
        tall=tall,
    )


def show(watched: Watched) -> list[Update]:
    """One sentence, the rating over time, and the tables."""
    reader = StageReader(watched)

    def live(draw: Callable[[StageView], Markup]) -> Update:
        return live_html(lambda: empty("Reading …") if reader.view is None else draw(reader.view))

    def in_status() -> str:
        gate = watched.snapshot.learner.stats.get("gate") or {}
        return str(gate.get("sentence") or "")

    with card("On stage"):
        updates = [live(lambda found: sentence(found, in_status()))]
    with box("grid wide"):
        updates.append(rating_card(reader))
    with box("grid wide"):
        with card("Champion and candidate", "points per game", metric="candidate_points"):
            updates.append(live(candidate))
        with card("Decisions", "newest first"):
            updates.append(live(decisions))
    with card("Ratings", "Elo", metric="rating"):
        updates.append(live(lambda found: rating_table(found, watched.run.root)))
    with card("Version against version", "points of the row / games"):
        updates.append(live(met_table))
    with card("Against each opponent", "games compared by the gate: % of the points (games)"):
        updates.append(live(lambda found: opponent_table(found, watched.name)))
    reader.parts = updates
    reader.update()
    return [*updates, reader.update]


def sentence(view: StageView, in_status: str = "") -> Markup:
    """The gate in one sentence; from `status.json` if the ledger has none."""
    if view.report is not None:
        said = tag("p", view.report.sentence, cls="stage-sentence")
        blind = view.report.blind
        return said if blind is None else join([said, empty(f"The gate cannot compare models: {blind}")])
    if in_status:
        why = (
            view.trouble
            or "This ledger has no gate; another version of Understudy or another machine wrote status.json."
        )
        return join([tag("p", in_status, cls="stage-sentence"), empty(f"From status.json: {why}")])
    return empty(view.trouble or _NOTHING)


def candidate(view: StageView) -> Markup:
    """The evidence of the present comparison, and the candidates that were refused."""
    report = view.report
    if report is None:
        return empty(view.trouble or "The ledger of this run has no comparison yet.")
    pairs = [
        ("Mode", report.mode),
        ("Champion", f"v{report.champion}, {formats.clock(report.since)}"),
        ("On stage", f"v{report.on_stage}"),
        ("Candidate", "none" if report.candidate is None else f"v{report.candidate}"),
        ("Live games", _span(report.comparisons, report.mean, report.low, report.high)),
        (
            "Simulated games",
            _span(report.simulated, report.simulated_mean, report.simulated_low, report.simulated_high),
        ),
    ]
    if report.candidate is not None:
        pairs += [
            ("Evidence of harm", f"{report.harm:.3g} of {report.harm_needed:.3g}"),
            ("Evidence for it", f"{report.worth:.3g} of {report.worth_needed:.3g}"),
        ]
    pairs += [
        (
            "Kept permanently",
            ", ".join(f"v{version} ({why})" for version, why in sorted(report.pins.items())) or "none",
        ),
    ]
    return facts(pairs)


def _span(games: int, mean: float | None, low: float | None, high: float | None) -> str:
    if mean is None or low is None or high is None:
        return "no comparison yet"
    return f"{mean:+.2f} ({low:+.2f} to {high:+.2f}) in {games} comparison{'s' * (games != 1)}"


def decisions(view: StageView) -> Markup:
    """The latest decisions; refusals in their colour."""
    if view.report is None or not view.report.events:
        return empty("Nothing has been decided yet.")
    colors = {"promoted": "tag green", "returned": "tag green", "demoted": "tag red", "refused": "tag red"}
    colors["unplayed"] = "tag red"
    rows = [
        (formats.clock(event.at), tag("span", event.what, cls=colors.get(event.what, "tag")), event.sentence)
        for event in view.report.events[: -_DECISIONS - 1 : -1]
    ]
    return table(("When", "What", "Why"), rows)


def rating_chart(view: StageView) -> Options | None:
    """The rating of each version, with its interval."""
    points = [
        (int(row.player[1:]), row.elo, row.low, row.high)
        for row in view.ratings
        if row.player[1:].isdecimal() and row.games
    ]
    if not points:
        return None
    lines = [Line("rating", sorted(points))]
    versions = [point[0] for point in points]
    lines += [
        Line(row.player, [(min(versions), row.elo), (max(versions), row.elo)], charts.COLORS[1], faint=True)
        for row in view.ratings
        if row.anchor
    ]
    here = None if view.report is None else view.report.champion
    return charts.line_chart(lines, x_name="version", here=here)


def rating_table(view: StageView, run: Path) -> Markup:
    """All rated players, strongest first."""
    if not view.ratings:
        return empty(f"No version has been compared yet. `understudy arena {run}` lets versions play each other.")
    rows = [
        (
            row.player,
            f"{row.elo:+.0f}",
            "anchor" if row.anchor else f"{row.low:+.0f} to {row.high:+.0f}",
            formats.count(row.games),
            f"{row.score:.0%}",
            _published(view, row.player),
        )
        for row in view.ratings
    ]
    return table(("Player", "Elo", "95 %", "Games", "Score", "Published"), rows, numbers=(1, 2, 3, 4))


def _published(view: StageView, player: str) -> str:
    at = (view.published or {}).get(int(player[1:])) if player[1:].isdecimal() else None
    return "" if at is None else formats.clock(at)


def met_table(view: StageView) -> Markup:
    """Points of the row's version against the column's."""
    met = view.met or {}
    played: dict[int, int] = {}
    for (version, _), (_, games) in met.items():
        played[version] = played.get(version, 0) + games
    shown = sorted(sorted(played, key=lambda version: -played[version])[:_SHOWN])
    if not shown:
        return empty("No two versions have met yet.")

    def cell(one: int, other: int) -> str:
        points, games = met.get((one, other), (0.0, 0))
        return f"{points:g} / {games}" if games else ""

    rows = [(tag("b", f"v{one}"), *(cell(one, other) for other in shown)) for one in shown]
    return table(("", *(f"v{other}" for other in shown)), rows, numbers=range(1, len(shown) + 1))


def opponent_table(view: StageView, name: str) -> Markup:
    """Champion and line against each opponent, with a link to the newest game."""
    if not view.opponents:
        return empty("No game of a comparison has a result yet.")

    def share(points: float, games: int) -> str:
        return f"{points / games:.0%} ({games})" if games else "–"

    rows = [
        (
            record.opponent or "unknown",
            share(record.champion_points, record.champion_games),
            share(record.line_points, record.line_games),
            join([tag("a", "newest game", href=f"/run/{name}/game/archive/{record.file}")]) if record.file else "",
        )
        for record in view.opponents
    ]
    return table(("Opponent", "Champion", "Line", ""), rows, numbers=(1, 2))
