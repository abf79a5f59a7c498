"""The first page for several runs: the state of each, and their curves in one chart."""

from __future__ import annotations

from collections.abc import Callable

from understudy.watch import formats
from understudy.watch.dashboard import charts, overview
from understudy.watch.dashboard.charts import Form, Line, Options
from understudy.watch.dashboard.markup import Markup, light, tag, with_commands
from understudy.watch.dashboard.parts import Update, box, card, chart_card, live_html
from understudy.watch.dashboard.run_notes import difference_table
from understudy.watch.dashboard.runs import Runs, Watched
from understudy.watch.metrics import all_metrics
from understudy.watch.progress import judge_progress

_COMPARED: tuple[tuple[str, Form], ...] = (("loss", "number"), ("entropy", "number"), ("mean_return", "number"))


def show(runs: Runs) -> list[Update]:
    """A card for each run, then comparisons."""
    with box("grid"):
        updates = [_follow(watched) for watched in runs]
    with box("grid wide"):
        rates: Callable[[], Options | None] = lambda: overview.win_rate([(w.name, w.history.win_rate) for w in runs])  # noqa: E731
        updates.append(chart_card("win_rate", rates, unit="% won; band: 95 % confidence", tall=True))
        for metric, form in _COMPARED:
            updates.append(_compare(runs, metric, form))
    with card("Settings that differ", "of network and training"):
        updates.append(live_html(lambda: difference_table([(w.name, w.snapshot.model.settings) for w in runs])))
    return updates


def run_card(watched: Watched) -> Markup:
    """One run in a few lines."""
    found = judge_progress(watched.history)
    tiles = (
        tag("div", tag("div", name, cls="name"), tag("div", value, cls="value"), data_figure=name)
        for name, value in _figures(watched)
    )
    return tag(
        "a",
        tag("div", light(watched.health.light), tag("h1", watched.name), cls="run-head"),
        tag("div", with_commands(watched.health.sentence, copied=False), cls="sentence"),
        tag("div", light(found.light), tag("span", f"{found.word}: {found.sentence}"), cls="muted progress"),
        tag("div", *tiles, cls="run-figures"),
        href=f"/run/{watched.name}",
        cls=f"card health run-card {watched.health.light}",
        data_run=watched.name,
    )


def _figures(watched: Watched) -> tuple[tuple[str, str], ...]:
    seen, history = watched.snapshot, watched.history
    version = "–" if seen.model.version is None else f"v{seen.model.version}"
    if selfplay := seen.learner.stats.get("selfplay"):  # its games are not in the ledger, and no side wins more
        return (
            ("Return", formats.figure(selfplay.get("mean_return"))),
            ("Model", version),
            ("Games", formats.count(selfplay.get("games"))),
            ("Decisions", formats.count(selfplay.get("decisions"))),
            ("Loss", formats.figure(seen.metrics.get("loss"))),
        )
    name, value, _ = overview.score(watched)
    return (
        (name, value),
        ("Model", version),
        ("Games", formats.count(history.games)),
        ("Waiting", formats.count(seen.buffer.count)),
        ("Loss", formats.figure(seen.learner.stats.get("last_loss"))),
    )


def _follow(watched: Watched) -> Update:
    return live_html(lambda: run_card(watched))


def _compare(runs: Runs, metric: str, form: Form) -> Update:
    def options() -> Options | None:
        lines = [
            Line(
                watched.name, list(zip(series.x, series.value, strict=True)), charts.COLORS[number % len(charts.COLORS)]
            )
            for number, watched in enumerate(runs)
            if (series := watched.history.metrics.get(metric)) and series.x
        ]
        along = dict.fromkeys(w.history.along for w in runs if w.history.metrics.get(metric))
        return charts.line_chart(lines, x_name=" or ".join(along), form=form) if lines else None

    return chart_card(metric, options, unit=all_metrics()[metric].unit, tall=True)
