"""The page of one game: its states, its decisions with their probabilities, its rewards and its result."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import numpy as np
from nicegui import ui
from numpy.typing import NDArray

from understudy.errors import EpisodeError
from understudy.experience.notes import RECORDING
from understudy.watch import formats
from understudy.watch.dashboard import charts
from understudy.watch.dashboard.charts import Line, Options
from understudy.watch.dashboard.game_data import GameView, as_facts, view_game
from understudy.watch.dashboard.markup import Markup, empty, facts, join, result_tag, table, tag
from understudy.watch.dashboard.parts import box, card, chart_card
from understudy.watch.dashboard.runs import Watched, in_reader

_COLUMNS = 120  # of the picture of states; a longer game is averaged to fit
_FEATURES = 24
_STACKED = 12  # actions that can be distinguished in a chart
_LISTED = 400


async def show(watched: Watched, folder: str, name: str) -> None:
    """Build the page of one game, which `watched.file` has found."""
    path = watched.file(folder, name)
    try:
        if path is None:
            raise FileNotFoundError(name)
        view = await in_reader(lambda: view_game(watched.run, path))
    except FileNotFoundError:
        ui.html(empty(f"{name} is no longer in {folder}; the table of games says where it is now."))
        return
    except (EpisodeError, OSError) as error:
        ui.html(empty(f"This file cannot be read as a game: {error}"))
        return
    meta = view.episode.meta
    with box("title"):
        ui.html(join([tag("a", "← Games", href=f"/run/{watched.name}/games"), tag("h1", name, cls="file")]))
    with box("grid wide"):
        with card("Game"):
            ends = (("Ended", formats.clock(meta.ended_at)), ("Folder", folder))
            ui.html(facts([("Result", result_tag(meta.result)), *as_facts(view), *ends]))
            if (link := replay_link(watched, meta.extra.get(RECORDING))) is not None:
                ui.html(link)
        chart_card("decision_reward", lambda: rewards(view), unit="reward of each decision, and their sum", tall=True)
    unit = "% of the probability, over the game"
    nothing = "No probabilities are known."
    chart_card("action_probability", lambda: probabilities(view), unit=unit, note=view.source, empty=nothing, tall=True)
    with box("grid wide"):
        nothing = "No values were recorded."
        chart_card("state_value", lambda: values(view), unit="expected future reward", empty=nothing, tall=True)
        with card("States", _states_unit(view), "state_features"):
            ui.html(states(view))
    with card("Every decision"), box("long"):
        ui.html(decisions(view))


def replay_link(watched: Watched, recording: object) -> Markup | None:
    """A link to the page that plays this recording of the game, if it still exists."""
    if not isinstance(recording, str) or Path(recording).name != recording:
        return None
    page = next((page for page in watched.pages if page.plays and recording.endswith(page.plays)), None)
    if page is None or not (watched.run.games / recording).is_file():
        return None
    address = f"/run/{watched.name}/{page.name}?file={quote(recording)}"
    return tag("p", tag("a", "Watch this game", href=address))


def rewards(view: GameView) -> Options:
    """The reward of each decision, and their sum."""
    each = view.episode.rewards[: view.shown].astype(float)
    lines = [
        Line("reward", _points(each), charts.COLORS[1], step=True),
        Line("sum so far", _points(np.cumsum(each)), charts.COLORS[0]),
    ]
    return charts.line_chart(lines, x_name="decision")


def probabilities(view: GameView) -> Options | None:
    """The probabilities of every action if known, otherwise of the action taken."""
    if view.probabilities is not None and len(view.labels) <= _STACKED:
        shares = {label: view.probabilities[:, number].tolist() for number, label in enumerate(view.labels)}
        return charts.share_chart(range(view.shown), shares, x_name="decision")
    if view.chosen is None:
        return None
    return charts.line_chart(
        [Line("action taken", _points(view.chosen))], x_name="decision", form="percent", low=0, high=1
    )


def values(view: GameView) -> Options | None:
    """The value curve."""
    return None if view.values is None else charts.line_chart([Line("value", _points(view.values))], x_name="decision")


def states(view: GameView) -> Markup:
    """The features that changed most, each on its own scale: a stronger colour is a higher value."""
    picture = _binned(view.episode.states[: view.shown])
    spread = picture.std(axis=0)
    chosen = [int(number) for number in np.argsort(-spread, kind="stable")[:_FEATURES] if spread[number] > 0]
    if not chosen:
        return empty("No feature changed during the game.")
    low, high = picture.min(axis=0), picture.max(axis=0)
    rows = []
    for number in sorted(chosen):
        column = picture[:, number]
        shares = (column - low[number]) / (high[number] - low[number])
        cells = "".join(
            f'<rect x="{x}" width="1.02" height="1" opacity="{0.05 + 0.95 * share:.2f}"></rect>'
            for x, share in enumerate(shares)
        )
        svg = Markup(f'<svg viewBox="0 0 {len(column)} 1" preserveAspectRatio="none">{cells}</svg>')
        span = f"{formats.figure(float(low[number]))} to {formats.figure(float(high[number]))}"
        rows.append(
            tag(
                "div",
                tag("span", view.features[number], cls="feature"),
                svg,
                tag("span", span, cls="span num"),
                cls="heat",
            )
        )
    return tag("div", *rows, cls="heats")


def _states_unit(view: GameView) -> str:
    count = len(view.features)
    return f"the {_FEATURES} of {count} features that changed most" if count > _FEATURES else "features, over the game"


def decisions(view: GameView) -> Markup:
    """A line for each decision."""
    episode = view.episode
    rows = []
    for number in range(min(view.shown, _LISTED)):
        action = int(episode.actions[number])
        rows.append(
            (
                number,
                tag("b", view.labels[action]),
                "–" if view.chosen is None else formats.percent(float(view.chosen[number])),
                _others(view, number, action),
                "–" if view.values is None else formats.signed(float(view.values[number])),
                formats.signed(float(episode.rewards[number])),
            )
        )
    more = len(episode) - len(rows)
    heads = ("#", "Decision", "Probability", "Also considered", "Value", "Reward")
    body = table(heads, rows, numbers=(0, 2, 4, 5))
    return tag("div", body, tag("p", f"{more:,} more decisions are not listed.", cls="muted") if more else Markup())


def _others(view: GameView, number: int, action: int) -> str:
    if view.probabilities is None:
        return "–"
    row = view.probabilities[number]
    ranked = [int(other) for other in np.argsort(-row)[:4] if other != action and row[other] >= 0.005][:3]
    return ", ".join(f"{view.labels[other]} {formats.percent(float(row[other]))}" for other in ranked) or "nothing else"


def _points(values_of: NDArray[np.float64]) -> list[tuple[float, float]]:
    return [(number, float(value)) for number, value in enumerate(values_of)]


def _binned(rows: NDArray[np.float32]) -> NDArray[np.float64]:
    """At most one row for each column of the picture, each the mean of neighbouring rows."""
    parts = np.array_split(rows.astype(np.float64), min(len(rows), _COLUMNS))
    return np.array([part.mean(axis=0) for part in parts])
