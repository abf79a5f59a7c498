"""Several runs side by side: the state of each, and their curves in one picture."""

from __future__ import annotations

from collections.abc import Callable

from understudy.watch.dashboard import charts, overview, words
from understudy.watch.dashboard.charts import Form, Line, Options
from understudy.watch.dashboard.markup import Markup, light, tag
from understudy.watch.dashboard.parts import Update, box, chart_card, live_html
from understudy.watch.dashboard.runs import Runs, Watched
from understudy.watch.health import progress
from understudy.watch.metrics import all_metrics

_COMPARED: tuple[tuple[str, Form], ...] = (("loss", "number"), ("entropy", "number"), ("mean_return", "number"))


def show(runs: Runs) -> list[Update]:
    """A card for each run, then what they have in common."""
    with box("grid"):
        updates = [_follow(watched) for watched in runs]
    with box("grid wide"):
        rates: Callable[[], Options | None] = lambda: overview.win_rate([(w.name, w.history.win_rate) for w in runs])  # noqa: E731
        updates.append(chart_card("win_rate", rates, unit="% won; band: 95 % confidence", tall=True))
        for metric, form in _COMPARED:
            updates.append(_compare(runs, metric, form))
    return updates


def run_card(watched: Watched) -> Markup:
    """One run in a few lines."""
    seen, history = watched.snapshot, watched.history
    tiles = (
        tag("div", tag("div", name, cls="name"), tag("div", value, cls="value"), data_figure=name)
        for name, value in _figures(watched)
    )
    return tag(
        "a",
        tag("div", light(watched.health.light), tag("h1", watched.name), cls="run-head"),
        tag("div", watched.health.sentence, cls="sentence"),
        Markup() if "selfplay" in seen.learner.stats else tag("div", progress(history.win_rate), cls="muted"),
        tag("div", *tiles, cls="run-figures"),
        href=f"/run/{watched.name}",
        cls=f"card health run-card {watched.health.light}",
        data_run=watched.name,
    )


def _figures(watched: Watched) -> tuple[tuple[str, str], ...]:
    seen, history = watched.snapshot, watched.history
    version = "–" if seen.model.version is None else f"v{seen.model.version}"
    if selfplay := seen.learner.stats.get("selfplay"):  # its games are not in the ledger, and nobody wins more
        return (
            ("Return", words.figure(selfplay.get("mean_return"))),
            ("Model", version),
            ("Games", words.count(selfplay.get("games"))),
            ("Decisions", words.count(selfplay.get("decisions"))),
            ("Loss", words.figure(seen.metrics.get("loss"))),
        )
    return (
        ("Win rate", words.percent(history.win_rate.value[-1] if history.win_rate.value else None)),
        ("Model", version),
        ("Games", words.count(history.games)),
        ("Waiting", words.count(seen.buffer.count)),
        ("Loss", words.figure(seen.learner.stats.get("last_loss"))),
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
        return charts.line_chart(lines, x_name="model version", form=form) if lines else None

    return chart_card(metric, options, unit=all_metrics()[metric].unit, tall=True)
