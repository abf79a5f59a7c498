"""Charts as ECharts options: plain values in, a plain dictionary out.

They are drawn as SVG, so colours are variables of style.css and follow the theme without redrawing. Names may come from
untrusted files; ECharts writes them as text, and the tooltip defined here escapes them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Options = dict[str, Any]
Form = Literal["number", "percent"]

COLORS = tuple(f"var(--s{number})" for number in range(1, 9))
_TEXT = {"color": "var(--muted)", "fontSize": 11.5, "hideOverlap": True}
_RULE = {"lineStyle": {"color": "var(--line)"}}
_STILL = {"emphasis": {"disabled": True}}
_HIDDEN = "\u200b"  # prefix of lines that exist only for their area

_FORMS: dict[Form, str] = {  # JavaScript: how to format a value in a tooltip and on an axis
    "number": "v => v == null ? '–' : Math.abs(v) >= 1000 ? Math.round(v).toLocaleString('en')"
    " : +Number(v).toPrecision(4)",
    "percent": "v => v == null ? '–' : +(100 * v).toPrecision(3) + ' %'",
}
_TIP = """ps => {
  const form = FORM, safe = s => String(s).replace(/[&<>"]/g, c => `&#${c.charCodeAt(0)};`);
  const band = p => p.data[3] == null ? '' : ` (${form(p.data[2])} to ${form(p.data[3])})`;
  const own = ps.filter(p => !p.seriesName.startsWith(HIDDEN));
  return own.length ? `<div>${safe(X_NAME)} ${safe(ps[0].axisValueLabel)}</div>` +
    own.map(p => `<div>${p.marker}${safe(p.seriesName)} <b>${form(p.data[1])}</b>${band(p)}</div>`).join('') : '';
}"""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a chart through (x, y), or through (x, y, low, high) with a band around it."""

    name: str
    points: Sequence[Sequence[float | None]]
    color: str = COLORS[0]
    step: bool = False
    faint: bool = False


def line_chart(
    lines: Sequence[Line],
    *,
    x_name: str,
    form: Form = "number",
    time: bool = False,
    low: float | None = None,
    high: float | None = None,
    level: float | None = None,
    here: float | None = None,
    whole: bool = False,
    normal: tuple[float, float] | None = None,
    zoom: bool = False,
) -> Options:
    """Lines over a number, or over the time of day (in milliseconds).

    `level` is a dashed reference line, `here` a vertical line at the current position; `normal` is drawn as a green
    band, `zoom` allows zooming in.
    """
    options = _frame(legend=[line.name for line in lines] if len(lines) > 1 else [])
    tip = _TIP.replace("FORM", _FORMS[form]).replace("X_NAME", json.dumps("" if time else x_name))
    options["tooltip"] |= {"trigger": "axis", ":formatter": tip.replace("HIDDEN", json.dumps(_HIDDEN))}
    first, last = _span(lines, 60_000 if time else 1)
    options["xAxis"] = _named(x_name) | {
        "type": "time" if time else "value",
        "min": first,
        "max": last,
        "splitLine": {"show": False},
        "minInterval": 60_000 if time else 1,
        "splitNumber": 4 if time else 5,
        "axisPointer": {"label": {"precision": 0}},
    }
    if time:
        options["xAxis"]["axisLabel"] = {**_TEXT, ":formatter": "v => new Date(v).toTimeString().slice(0, 5)"}
    options["yAxis"] = _values(form, low, high) | {"minInterval": 1 if whole else 0}
    options["series"] = [series for line in lines for series in (*_band(line), _line(line))]
    marks = [{axis: at} for axis, at in (("yAxis", level), ("xAxis", here)) if at is not None]
    if marks and options["series"]:
        options["series"][-1]["markLine"] = _marks(marks, "var(--off)", "dashed")
    if normal is not None and options["series"]:
        options["series"][-1]["markArea"] = {
            "silent": True,
            "itemStyle": {"color": "var(--green)", "opacity": 0.1},
            "data": [[{"yAxis": bound} for bound in normal]],
        }
    return _zoomable(options) if zoom else options


def _span(lines: Sequence[Line], around: float) -> tuple[Any, Any]:
    """The range of the x-axis: that of the data, or around a single point."""
    places = {point[0] for line in lines for point in line.points}
    only = places.pop() if len(places) == 1 else None
    return ("dataMin", "dataMax") if only is None else (only - around, only + around)


def _zoomable(options: Options) -> Options:
    """Zoom by dragging a magnifier over the x-axis, with a reset; the mouse wheel still scrolls the page."""
    options["grid"]["top"] = max(options["grid"]["top"], 34)
    options["dataZoom"] = [{"type": "inside", "zoomOnMouseWheel": "ctrl", "moveOnMouseWheel": False}]
    options["toolbox"] = {
        "right": 6,
        "top": -4,
        "itemSize": 13,
        "iconStyle": {"borderColor": "var(--off)"},
        "emphasis": {"iconStyle": {"borderColor": "var(--accent)"}},
        "feature": {
            "dataZoom": {"yAxisIndex": "none", "title": {"zoom": "Zoom in", "back": "Zoom out"}},
            "restore": {"title": "Show all"},
        },
    }
    return options


def share_chart(xs: Sequence[float], shares: Mapping[str, Sequence[float]], *, x_name: str) -> Options:
    """Each name's share of the total, over x."""
    lines = [
        Line(name, list(zip(xs, values, strict=True)), _shade(COLORS[i % len(COLORS)]))
        for i, (name, values) in enumerate(shares.items())
    ]
    options = line_chart(lines, x_name=x_name, form="percent", low=0, high=1)
    for line, series in zip(lines, options["series"], strict=True):
        series |= {"stack": "all", "areaStyle": {"color": line.color, "opacity": 1}, "showSymbol": False}
        series["lineStyle"] = {"width": 0}
    return options


def _shade(color: str) -> str:
    """A lighter colour for large areas, opaque so that legend and tooltip show the same colour."""
    return f"color-mix(in srgb, {color} 75%, var(--card))"


def rate_bars(rows: Sequence[tuple[str, float, float, float]]) -> Options:
    """A bar for each (name, rate, low, high), with the interval as a whisker."""
    options = _frame(legend=[])
    options["grid"] |= {"bottom": 4, "right": 20}
    options["tooltip"] |= {"trigger": "item", ":valueFormatter": _FORMS["percent"]}
    options["xAxis"] = _values("percent", 0, 1)
    options["yAxis"] = _categories([name for name, *_ in rows])
    whiskers = [[{"coord": [low, i]}, {"coord": [high, i]}] for i, (_, _, low, high) in enumerate(rows)]
    bar = {
        "type": "bar",
        "name": "win rate",
        "data": [rate for _, rate, _, _ in rows],
        "barMaxWidth": 16,
        "itemStyle": {"color": "var(--accent)", "opacity": 0.7, "borderRadius": [0, 3, 3, 0]},
        "markLine": _marks(whiskers, "var(--ink)", "solid"),
    }
    options["series"] = [bar | _STILL]
    return options


def timeline(rows: Sequence[tuple[str, Sequence[tuple[float, str]]]], *, x_name: str) -> Options:
    """For each name, its events: (seconds, label), drawn as a dot with the label above it."""
    options = _frame(legend=[])
    options["grid"] |= {"top": 18, "right": 36}
    options["tooltip"] |= {"trigger": "item", "formatter": "{b}"}
    minutes = "v => Math.floor(v / 60) + ':' + String(Math.round(v % 60)).padStart(2, '0')"
    options["xAxis"] = _named(x_name) | {"type": "value", "min": 0, "interval": 60, "splitLine": _RULE}
    options["xAxis"]["axisLabel"] = {**_TEXT, ":formatter": minutes}
    options["yAxis"] = _categories([name for name, _ in rows])
    data = [
        {"value": [at, i], "name": label, "label": {"position": ("top", "bottom")[number % 2]}}
        for i, (_, events) in enumerate(rows)
        for number, (at, label) in enumerate(events)
    ]
    dots = {
        "type": "scatter",
        "data": data,
        "symbolSize": 9,
        "itemStyle": {"color": "var(--accent)"},
        "label": {"show": True, "formatter": "{b}", "color": "var(--ink)", "fontSize": 11},
        "labelLayout": {"hideOverlap": True},
    }
    options["series"] = [dots | _STILL]
    return options


def _frame(legend: Sequence[str]) -> Options:
    options: Options = {
        "animation": False,
        "textStyle": {"fontFamily": "inherit"},
        "grid": {"left": 8, "right": 14, "top": 32 if legend else 10, "bottom": 24, "containLabel": True},
        "tooltip": {"className": "tip", "confine": True, "axisPointer": {"lineStyle": {"color": "var(--off)"}}},
    }
    if legend:
        options["legend"] = {
            "data": list(legend),
            "type": "scroll",
            "left": 0,
            "top": 0,
            "icon": "roundRect",
            "itemWidth": 10,
            "itemHeight": 10,
            "textStyle": {"color": "var(--muted)", "fontSize": 12},
            "inactiveColor": "var(--line)",
        }
    return options


def _named(name: str) -> Options:
    """The x-axis with its name, which includes the unit, in the middle."""
    return {
        "name": name,
        "nameLocation": "middle",
        "nameGap": 26,
        "nameTextStyle": _TEXT,
        "axisLabel": _TEXT,
        "axisLine": _RULE,
        "axisTick": {"show": False},
    }


def _values(form: Form, low: float | None, high: float | None) -> Options:
    return {
        "type": "value",
        "scale": low is None,
        "min": low,
        "max": high,
        "splitNumber": 4,
        "interval": None if low is None or high is None else (high - low) / 4,
        "axisLabel": {**_TEXT, ":formatter": _FORMS[form]},
        "axisLine": {"show": False},
        "axisTick": {"show": False},
        "splitLine": _RULE,
    }


def _categories(names: Sequence[str]) -> Options:
    return {
        "type": "category",
        "inverse": True,
        "data": list(names),
        "axisLabel": {**_TEXT, "color": "var(--ink)", "interval": 0, "width": 150, "overflow": "truncate"},
        "axisLine": _RULE,
        "axisTick": {"show": False},
    }


def _line(line: Line) -> Options:
    return {
        "type": "line",
        "name": line.name,
        "data": [list(point) for point in line.points],
        "showSymbol": len(line.points) < 3,
        "symbol": "circle",
        "symbolSize": 5,
        "step": "end" if line.step else False,
        "lineStyle": {"color": line.color, "width": 1, "opacity": 0.35}
        if line.faint
        else {"color": line.color, "width": 1.8},
        "itemStyle": {"color": line.color},
    } | _STILL


def _band(line: Line) -> list[Options]:
    """Two invisible lines, the upper stacked on the lower, with the area between them."""
    points = [point for point in line.points if len(point) == 4]
    if not points:
        return []
    unseen = {
        "type": "line",
        "stack": line.name,
        "stackStrategy": "all",
        "showSymbol": False,
        "lineStyle": {"width": 0},
    }
    unseen |= {"silent": True, "itemStyle": {"color": "transparent"}} | _STILL
    lows = [[x, low] for x, _, low, _ in points]
    spans = [[x, None if low is None or high is None else high - low] for x, _, low, high in points]
    area = {"color": line.color, "opacity": 0.16}
    return [
        {**unseen, "name": f"{_HIDDEN}low {line.name}", "data": lows},
        {**unseen, "name": f"{_HIDDEN}high {line.name}", "data": spans, "areaStyle": area},
    ]


def _marks(data: Sequence[Any], color: str, kind: str) -> Options:
    style = {"color": color, "type": kind, "width": 1.2}
    return {"silent": True, "symbol": "none", "label": {"show": False}, "lineStyle": style, "data": list(data)}
