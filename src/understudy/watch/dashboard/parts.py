"""What pages are made of. A part is built once and returns how to bring it up to date; unchanged parts send nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from nicegui import ui

from understudy.watch.dashboard.charts import Options
from understudy.watch.dashboard.markup import Markup, join, tag
from understudy.watch.metrics import BY_NAME, Metric

Update = Callable[[], None]


def box(classes: str, tag: str = "div") -> ui.element:
    """An element to put others into."""
    return ui.element(tag).classes(classes)


def live_html(render: Callable[[], Markup], classes: str = "") -> Update:
    """HTML that follows what it is rendered from."""
    element = ui.html(render()).classes(classes)

    def update() -> None:
        if (content := render()) != element.content:
            element.set_content(content)

    return update


@contextmanager
def card(title: str, unit: str = "", metric: str = "") -> Iterator[ui.element]:
    """A card with a heading, which explains its metric to whoever points at it."""
    with box("card") as whole:
        with box("head"):
            heading = box("why" if metric else "", "h2")
            with heading:
                ui.label(title)
                if metric:
                    heading.props("tabindex=0")
                    with ui.tooltip().classes("explained"):
                        ui.html(explained(BY_NAME[metric]))
            if unit:
                ui.label(unit).classes("unit")
        yield whole


def explained(metric: Metric) -> Markup:
    """What docs/metrics.md says of a metric."""
    return join(
        [
            tag("p", metric.what),
            tag("p", tag("b", "Normal: "), metric.normal),
            tag("p", tag("b", "If not: "), metric.otherwise),
        ]
    )


def chart_card(
    metric: str,
    options: Callable[[], Options | None],
    *,
    title: str = "",
    unit: str = "",
    empty: str = "Nothing to draw yet.",
    tall: bool = False,
) -> Update:
    """A card with a chart of a metric; a sentence in its place while there is nothing to draw."""
    about = BY_NAME[metric]
    with card(title or about.title, unit or about.unit or "no unit", metric):
        nothing = ui.label(empty).classes("empty")
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
