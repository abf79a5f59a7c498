"""Charts of the metrics of learning, with the x-axis and smoothing that a visitor selects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nicegui import ui

from understudy.watch.dashboard import charts
from understudy.watch.dashboard.charts import Form, Line, Options
from understudy.watch.dashboard.parts import Update, box, chart_card
from understudy.watch.dashboard.runs import Watched
from understudy.watch.history import Series
from understudy.watch.metrics import Metric, all_metrics

STEP, GAMES, DECISIONS, TIME, VERSION = "x", "games", "decisions", "at", "version"
_SMOOTHING = {0: "no smoothing", 5: "smoothed over 5 points", 25: "smoothed over 25 points"}


@dataclass(slots=True)
class ChartView:
    """The visitor's selection."""

    axis: str = STEP
    span: int = 0


def axis_names(along: str) -> dict[str, str]:
    """The x-axes for metrics by model version, or by update."""
    names = {STEP: along, GAMES: "games learned from", DECISIONS: "decisions learned from", TIME: "time"}
    return names if along == "model version" else names | {VERSION: "model version"}


def controls(watched: Watched, view: ChartView, updates: Sequence[Update]) -> None:
    """The selection of axis and smoothing; a change redraws every chart."""

    def draw() -> None:
        view.axis, view.span = axis.value, span.value
        for update in updates:
            update()

    with box("filters controls"):
        axis = ui.select(axis_names(watched.history.along), value=view.axis, label="Axis", on_change=draw)
        span = ui.select(_SMOOTHING, value=view.span, label="Smoothing", on_change=draw)
        for choice in (axis, span):
            choice.props("dense outlined")
        ui.label("To zoom in, click a chart's magnifier and drag. Green: normal range.").classes("muted small")


def metric_card(
    watched: Watched,
    metric: str,
    form: Form = "number",
    low: float | None = None,
    high: float | None = None,
    view: ChartView | None = None,
) -> Update:
    """One metric over the run; if a point stands for many values, a band shows their extremes."""
    about, chosen = all_metrics()[metric], view or ChartView()

    def options() -> Options | None:
        series = watched.history.metrics.get(metric)
        if series is None or not series.x:
            return None
        axis = axis_names(watched.history.along).get(chosen.axis, watched.history.along)
        return charts.line_chart(
            lines_of(series, about.title.lower(), chosen),
            x_name=axis,
            time=chosen.axis == TIME,
            form=form,
            low=low,
            high=high,
            normal=normal_range(about, watched.snapshot.model.settings),
            zoom=view is not None,
        )

    return chart_card(
        metric, options, empty=f"It appears with the first {'finished game' if metric == 'mean_return' else 'update'}."
    )


def normal_range(about: Metric, settings: Mapping[str, object]) -> tuple[float, float] | None:
    """The normal range of a metric for a model with these settings."""
    bound = settings.get(about.up_to)
    if about.range is None or not isinstance(bound, int | float) or bound <= about.range[0]:
        return about.range
    return about.range[0], float(bound)


def lines_of(series: Series, name: str, view: ChartView) -> list[Line]:
    """The line of a metric; if smoothed, with the original values faintly behind it."""
    at = getattr(series, view.axis)
    xs = [1000 * second for second in at] if view.axis == TIME else at
    band = (series.low, series.high) if series.low != series.high else ()
    plain = Line(name, list(zip(xs, series.value, *band, strict=True)))
    if not view.span:
        return [plain]
    values = smoothed(series.value, view.span)
    return [
        Line(f"{name}, each", list(zip(xs, series.value, strict=True)), faint=True),
        Line(name, list(zip(xs, values, strict=True))),
    ]


def smoothed(values: Sequence[float], span: int) -> list[float]:
    """The exponential moving average with this span, with bias correction at its start."""
    weight, total, mean = 2 / (span + 1), 0.0, 0.0
    found = []
    for value in values:
        mean = (1 - weight) * mean + weight * value
        total = (1 - weight) * total + weight
        found.append(mean / total)
    return found
