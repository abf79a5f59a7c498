"""The parts of pages. A part is built once and returns a function that updates it; unchanged parts send nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from nicegui import ui

from understudy.watch.dashboard import markup
from understudy.watch.dashboard.charts import Options
from understudy.watch.dashboard.markup import Markup, join, tag
from understudy.watch.metrics import Metric, all_metrics

Update = Callable[[], None]


def box(classes: str, tag: str = "div") -> ui.element:
    """An element that contains others."""
    return ui.element(tag).classes(classes)


def chosen_file() -> str:
    """The file in the address of this page: `?file=NAME`."""
    request = ui.context.client.request
    return "" if request is None else request.query_params.get("file", "")


def live_html(render: Callable[[], Markup], classes: str = "") -> Update:
    """HTML that is rendered again when its input changes."""
    element = ui.html(render()).classes(classes)

    def update() -> None:
        if (content := render()) != element.content:
            element.set_content(content)

    return update


@contextmanager
def card(title: str, unit: str = "", metric: str | Sequence[str] = ()) -> Iterator[ui.element]:
    """A card with a heading; a tooltip on the heading explains the metrics."""
    shown = [all_metrics()[name] for name in _names(metric)]
    with box("card") as whole:
        with box("head"):
            heading = box("why" if shown else "", "h2")
            with heading:
                ui.label(title)
                if shown:
                    heading.props("tabindex=0")
                    with ui.tooltip().classes("explained").props('anchor="bottom left" self="top left"'):
                        ui.html(explained(shown))
            if unit:
                ui.label(unit).classes("unit")
        yield whole


def explained(metrics: Sequence[Metric]) -> Markup:
    """The explanations in docs/metrics.md; with titles if there are several."""
    return join(
        tag("p", *parts)
        for metric in metrics
        for parts in (
            (tag("b", f"{metric.title}. ") if len(metrics) > 1 else "", metric.what),
            (tag("b", "Normal: "), metric.normal),
            (tag("b", "If not: "), metric.otherwise),
        )
    )


def _names(metric: str | Sequence[str]) -> Sequence[str]:
    return (metric,) if isinstance(metric, str) else metric


def chart_card(
    metric: str | Sequence[str],
    options: Callable[[], Options | None],
    *,
    title: str = "",
    unit: str = "",
    note: str = "",
    empty: str = "Nothing to draw yet.",
    tall: bool = False,
) -> Update:
    """A card with a chart of one or more metrics, or with a sentence while there is nothing to draw.

    All charts are made here, so each has a unit and an explanation.
    """
    about = all_metrics()[_names(metric)[0]]
    with card(title or about.title, unit or about.unit or "no unit", metric):
        if note:
            ui.label(note).classes("muted small source")
        nothing = ui.html(markup.empty(empty))
        chart = ui.echart({}, renderer="svg").classes("chart tall" if tall else "chart")
    drawn: Options | None = {}

    def update() -> None:
        nonlocal drawn
        wanted = options()
        if wanted == drawn:
            return
        drawn = wanted
        nothing.set_visibility(wanted is None)
        chart.set_visibility(wanted is not None)
        if wanted is not None:
            chart.options.clear()
            chart.options.update(wanted)
            chart.update()

    update()
    return update
