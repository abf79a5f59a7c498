"""The page Learning: the metrics of updates, their speed, and results by opponent and version."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from understudy.games.spec import all_axes, axis_title
from understudy.ledger.history import EVALUATION
from understudy.watch import formats
from understudy.watch.dashboard import charts
from understudy.watch.dashboard.charts import Form, Line, Options
from understudy.watch.dashboard.metric_charts import ChartView, controls, metric_card
from understudy.watch.dashboard.overview import evaluation_card, mix_card, win_rate_card
from understudy.watch.dashboard.parts import Update, box, chart_card
from understudy.watch.dashboard.runs import Watched
from understudy.watch.win_rates import Rates, Results

_UNKNOWN = "It appears with the first finished game that has a result."

# Metric, format of its values, and limits of its axis.
_METRICS: tuple[tuple[str, Form, float | None, float | None], ...] = (
    ("loss", "number", None, None),
    ("entropy", "number", 0, None),
    ("kl", "number", 0, None),
    ("clip_fraction", "percent", 0, None),
    ("value_loss", "number", 0, None),
    ("explained_variance", "number", -1, 1),
    ("staleness", "number", 0, None),
    ("effective_sample_size", "percent", 0, 1),
    ("mean_return", "number", None, None),
    ("games_per_second", "number", 0, None),
    ("samples_per_second", "number", 0, None),
    ("grad_norm", "number", 0, None),
    ("learning_rate", "number", 0, None),
    ("entropy_weight", "number", 0, None),
    ("shortened", "percent", 0, 1),
)
_BARS = 14


def show(watched: Watched) -> list[Update]:
    """A chart for each metric."""
    view, updates = ChartView(), list[Update]()
    controls(watched, view, updates)
    with box("grid"):
        updates.extend(metric_card(watched, *metric, view=view) for metric in _METRICS)
    return updates


def show_results(watched: Watched) -> list[Update]:
    """Win rates by version and by each result axis, and the decisions taken."""
    with box("grid wide"):
        winners = bool(watched.history.win_rate.games) or not (watched.history.returns or _in_memory(watched))
        updates = [win_rate_card(watched) if winners else metric_card(watched, "mean_return")]
        updates.append(metric_card(watched, "entropy", low=0) if _in_memory(watched) else mix_card(watched))
        if EVALUATION in watched.history.others or _in_memory(watched):
            updates.append(evaluation_card(watched))
    axes = [
        (f"{prefix} by {title.lower()}".strip().capitalize(), purpose, axis)
        for prefix, purpose in (("", ""), ("evaluation", EVALUATION))
        for axis, title in axis_titles(_by_axis(watched, purpose)).items()
    ]
    by_version = ("By model version", lambda: _by_version(watched.history.by_version))
    bars: tuple[tuple[str, Callable[[], Options | None]], ...] = (
        *((by_version,) if winners else ()),
        *((title, partial(_bars_of, watched, purpose, axis)) for title, purpose, axis in axes),
    )
    lines: tuple[tuple[str, Callable[[], Options | None]], ...] = tuple(
        (f"{title}, over time", partial(_lines_of, watched, purpose, axis)) for title, purpose, axis in axes
    )
    with box("grid"):
        for title, options in bars:
            unit = "% won, 95 % confidence (games)"
            updates.append(chart_card("win_rate", options, title=title, unit=unit, empty=_UNKNOWN, tall=True))
    with box("grid wide"):
        for title, options in lines:
            updates.append(chart_card("win_rate", options, title=title, unit="% won", empty=_UNKNOWN))
    return updates


def axis_titles(found: Mapping[str, object]) -> dict[str, str]:
    """The title of each axis that the run has results for, starting with the axes that games declare.

    A note that has the same value as a declared axis in every game is left out.
    """
    declared = [axis.note for axis in all_axes() if axis.note in found]
    others = [note for note in sorted(found) if all(found[note] != found[known] for known in declared)]
    return {note: axis_title(note) for note in (*declared, *others)}


def _in_memory(watched: Watched) -> bool:
    """Whether this is self-play without games of a bot, which has only results of evaluation games."""
    history = watched.history
    return "selfplay" in watched.snapshot.learner.stats and not (history.win_rate.games or history.mix.x)


def _by_axis(watched: Watched, purpose: str) -> dict[str, dict[str, Rates]]:
    """Win rates of the bot's own games, or of games with a purpose, by result axis."""
    history = watched.history
    return history.others.get(purpose, Results()).by_axis if purpose else history.by_axis


def _bars_of(watched: Watched, purpose: str, axis: str) -> Options | None:
    return _by_name(_by_axis(watched, purpose).get(axis, {}))


def _lines_of(watched: Watched, purpose: str, axis: str) -> Options | None:
    return _over_time(_by_axis(watched, purpose).get(axis, {}))


def _by_name(rates: Mapping[str, Rates]) -> Options | None:
    """The latest rate of each name."""
    rows = [
        (f"{name or 'unknown'} ({formats.count(of.games[-1])})", of.value[-1], of.low[-1], of.high[-1])
        for name, of in rates.items()
        if of.value
    ]
    return charts.rate_bars(rows[:_BARS]) if rows else None


def _by_version(rates: Rates) -> Options | None:
    points = zip(rates.x, rates.to, rates.games, rates.value, rates.low, rates.high, strict=True)
    rows = [
        (f"v{first} ({formats.count(games)})" if first == last else f"v{first}–{last} ({formats.count(games)})", *rate)
        for first, last, games, *rate in points
    ]
    return charts.rate_bars(rows[-_BARS:]) if rows else None


def _over_time(rates: Mapping[str, Rates]) -> Options | None:
    lines = [
        Line(name or "unknown", list(zip(of.x, of.value, strict=True)), charts.COLORS[number % len(charts.COLORS)])
        for number, (name, of) in enumerate(rates.items())
        if of.x
    ]
    return charts.line_chart(lines, x_name="game", form="percent", low=0, high=1) if lines else None
