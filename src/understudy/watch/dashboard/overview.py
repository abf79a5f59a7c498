"""The first look at a run: whether it is healthy, where the loop stands, and whether the bot is getting better."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from understudy.watch.dashboard import charts, diagram, words
from understudy.watch.dashboard.charts import Form, Line, Options
from understudy.watch.dashboard.markup import Markup, empty, light, result_tag, table, tag
from understudy.watch.dashboard.parts import Update, box, card, chart_card, live_html
from understudy.watch.dashboard.runs import Watched
from understudy.watch.health import progress
from understudy.watch.history import Rates
from understudy.watch.metrics import all_metrics
from understudy.watch.readings import Snapshot


def show(watched: Watched) -> list[Update]:
    """Build the overview."""
    updates = [
        live_html(lambda: health(watched)),
        live_html(lambda: diagram.loop(watched), "card"),
        live_html(lambda: tiles(watched)),
    ]
    with box("grid wide"):
        if "selfplay" in watched.snapshot.learner.stats:  # it plays itself: there is no win rate
            updates += [metric_card(watched, "mean_return"), metric_card(watched, "entropy", low=0)]
        else:
            updates += [win_rate_card(watched), mix_card(watched)]
    with box("grid wide"):
        with card("Latest games"):
            updates.append(live_html(lambda: latest_games(watched)))
        with card("Log"):
            updates.append(live_html(lambda: log(watched)))
    return updates


def health(watched: Watched) -> Markup:
    """The light, whether the bot is getting better, and in words what is wrong and what to do."""
    found = watched.health
    items = [
        tag(
            "li",
            light(trouble.light),
            tag("span", tag("b", trouble.what), " ", tag("span", trouble.advice, cls="advice")),
        )
        for trouble in found.troubles
    ]
    headline = {"green": "Healthy", "amber": "Needs a look", "red": "Stopped or in trouble"}[found.light]
    said = [] if items else [tag("div", found.sentence)]
    selfplay = "selfplay" in watched.snapshot.learner.stats  # it plays itself: nobody wins more
    better = Markup() if selfplay else tag("div", progress(watched.history.win_rate), cls="better")
    return tag(
        "div",
        light(found.light),
        tag("div", tag("h1", headline), *said, better, tag("ul", *items) if items else Markup()),
        cls=f"card health {found.light}",
        data_health=found.light,
    )


def tiles(watched: Watched) -> Markup:
    """The figures that people ask for first."""
    selfplay = watched.snapshot.learner.stats.get("selfplay")
    rows = _selfplay_figures(watched, selfplay) if selfplay else _figures(watched)
    return tag("div", *(tile(*row) for row in rows), cls="tiles")


def _figures(watched: Watched) -> list[tuple[str, str, str]]:
    seen, rates = watched.snapshot, watched.history.win_rate
    stats, results = seen.learner.stats, seen.results
    won = f"{results.get('won', 0)} won, {results.get('lost', 0)} lost, {results.get('tied', 0)} tied"
    games = seen.outcomes.get("learned", 0) + seen.outcomes.get("online", 0)
    batches = words.count(stats.get("batches_trained", 0))
    return [
        ("Win rate", words.percent(rates.value[-1]) if rates.value else "–", _interval(rates)),
        ("Games learned from", words.count(games), f"last 100: {won}" if games else "none yet"),
        ("Decisions learned", words.count(stats.get("total_samples")), f"{batches} batches"),
        ("Loss", words.figure(stats.get("last_loss")), f"average {words.figure(stats.get('avg_loss'))}"),
        ("Last game", words.ago(seen.last_game_at, seen.at), _age_of_version(seen)),
        ("Rejected", words.count(seen.outcomes.get("rejected", 0)), f"{words.count(seen.learner.errors)} errors"),
    ]


def _selfplay_figures(watched: Watched, stats: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    seen = watched.snapshot
    seconds = stats.get("seconds") or 0.0
    rate = words.count((stats.get("decisions") or 0) / seconds) if seconds else "–"
    return [
        ("Games", words.count(stats.get("games")), "of self-play"),
        ("Decisions learned", words.count(stats.get("decisions")), f"{rate} a second"),
        ("Updates", words.count(stats.get("updates")), _age_of_version(seen)),
        ("Mean return", words.figure(stats.get("mean_return")), "last 100 games, first player"),
        ("Loss", words.figure(seen.metrics.get("loss")), f"entropy {words.figure(seen.metrics.get('entropy'))}"),
        ("Workers replaced", words.count(stats.get("restarts")), f"{stats.get('refused_updates', 0)} updates refused"),
    ]


def _age_of_version(seen: Snapshot) -> str:
    return "no version yet" if seen.last_version_at is None else f"version {words.ago(seen.last_version_at, seen.at)}"


def _interval(rates: Rates) -> str:
    if not rates.value:
        return "no finished game yet"
    return f"{words.percent(rates.low[-1])} to {words.percent(rates.high[-1])}, {rates.games[-1]} games"


def tile(name: str, value: str, more: str) -> Markup:
    """A figure with its name above it and something about it below."""
    inside = (tag("div", name, cls="name"), tag("div", value, cls="value"), tag("div", more, cls="more"))
    return tag("div", *inside, cls="tile", data_tile=name)


def metric_card(
    watched: Watched, metric: str, form: Form = "number", low: float | None = None, high: float | None = None
) -> Update:
    """One metric over the versions; where a point stands for many, a band shows their extremes."""
    name = all_metrics()[metric].title.lower()

    def options() -> Options | None:
        series = watched.history.metrics.get(metric)
        if series is None or not series.x:
            return None
        columns = [series.x, series.value]
        if series.low != series.high:
            columns += [series.low, series.high]
        line = Line(name, list(zip(*columns, strict=True)))
        return charts.line_chart([line], x_name="model version", form=form, low=low, high=high)

    return chart_card(metric, options, empty="It appears with the first batch that is learned from.")


def win_rate_card(watched: Watched) -> Update:
    """Whether the bot is getting better."""
    return chart_card(
        "win_rate",
        lambda: win_rate([(watched.name, watched.history.win_rate)]),
        unit="% of games won, a tie counts half; band: 95 % confidence",
        empty="It appears with the first finished game.",
        tall=True,
    )


def win_rate(runs: Sequence[tuple[str, Rates]]) -> Options | None:
    """Win rates over games, each with its confidence band."""
    lines = [
        Line(
            "win rate" if len(runs) == 1 else name,
            list(zip(rates.x, rates.value, rates.low, rates.high, strict=True)),
            charts.COLORS[number % len(charts.COLORS)],
        )
        for number, (name, rates) in enumerate(runs)
        if rates.x
    ]
    return charts.line_chart(lines, x_name="game", form="percent", low=0, high=1, level=0.5) if lines else None


def mix_card(watched: Watched) -> Update:
    """What the bot decided, over the games."""

    def options() -> Options | None:
        mix = watched.history.mix
        return charts.share_chart(mix.x, mix.shares, x_name="game") if mix.x else None

    return chart_card(
        "strategy_mix",
        options,
        unit="% of decisions",
        empty="It appears with the first game that was learned from.",
        tall=True,
    )


def latest_games(watched: Watched) -> Markup:
    """The newest files, wherever they lie."""
    seen = watched.snapshot
    folders = {"buffer": seen.buffer, "archive": seen.archive, "rejected": seen.rejected}
    notes = [
        (words.ended(note.name, note.at), note, name) for name, folder in folders.items() for note in folder.recent
    ]
    notes.sort(key=lambda entry: entry[0], reverse=True)
    if not notes and "selfplay" in seen.learner.stats:
        pages = " and ".join(page.title for page in watched.pages)
        where = f" Some to look at are on the page {pages}." if pages else ""
        return empty(f"Self-play learns from its games in memory.{where}")
    if not notes:
        return empty("No game has been recorded yet.")
    rows = [
        (
            tag("a", words.clock(at), href=f"/run/{watched.name}/game/{folder}/{note.name}"),
            result_tag(note.result),
            folder,
            words.size(note.bytes),
        )
        for at, note, folder in notes[:8]
    ]
    return table(("Ended", "Result", "Lies in", "Size"), rows, numbers=(3,))


def log(watched: Watched) -> Markup:
    """The last entries of the log; the box is scrolled to its end."""
    lines = watched.snapshot.log
    if not lines:
        return empty("Nothing has been logged yet.")
    return tag("div", tag("pre", "\n".join(lines), cls="log"), cls="log-box")
