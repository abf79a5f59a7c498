"""The first look at a run: whether it is healthy, where the loop stands, and whether the bot is getting better."""

from __future__ import annotations

from collections.abc import Sequence

from understudy.watch.dashboard import charts, words
from understudy.watch.dashboard.charts import Line, Options
from understudy.watch.dashboard.markup import Markup, empty, join, light, result_tag, table, tag
from understudy.watch.dashboard.parts import Update, box, card, chart_card, live_html
from understudy.watch.dashboard.runs import Watched
from understudy.watch.health import STALLED_SECONDS, progress
from understudy.watch.history import Rates


def show(watched: Watched) -> list[Update]:
    """Build the overview."""
    updates = [
        live_html(lambda: health(watched)),
        live_html(lambda: join([loop(watched), explanation(watched)]), "card"),
        live_html(lambda: tiles(watched)),
    ]
    with box("grid wide"):
        updates.append(win_rate_card(watched))
        updates.append(mix_card(watched))
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
    better = tag("div", progress(watched.history.win_rate), cls="better")
    return tag(
        "div",
        light(found.light),
        tag("div", tag("h1", headline), *said, better, tag("ul", *items) if items else Markup()),
        cls=f"card health {found.light}",
        data_health=found.light,
    )


def loop(watched: Watched) -> Markup:
    """game → buffer → learner → model → bot, each with its count: a stall is visible where it is."""
    seen = watched.snapshot
    now, learner, model = seen.at, seen.learner, seen.model
    played = sum(seen.outcomes.get(kind, 0) for kind in ("learned", "online", "skipped")) + seen.buffer.count
    playing = seen.in_progress > 0
    boxes = [
        (
            "Game",
            words.count(played),
            f"{seen.in_progress} in progress" if playing else "none in progress",
            "green" if playing else "",
        ),
        (
            "Buffer",
            words.count(seen.buffer.count),
            "waiting to be learned from" if seen.buffer.count else "nothing waits",
            _buffer_level(watched),
        ),
        (
            "Learner",
            words.count(learner.stats.get("batches_trained") or 0),
            f"batches · {learner.state if learner.alive else 'not running'}",
            "green" if learner.alive else "red" if learner.seen or seen.buffer.count else "",
        ),
        (
            "Model",
            "–" if model.version is None else f"v{model.version}",
            f"published {words.ago(model.at, now)}" if model.exists else "the bot makes the first one",
            "green" if model.exists else "",
        ),
        (
            "Bot",
            _played_by(watched),
            _bot_says(watched, playing),
            "green" if playing else "",
        ),
    ]
    moving = (playing, learner.alive and seen.buffer.count > 0, learner.state == "training", playing)
    return tag("div", _joined(boxes, moving), cls="loop", aria_label="game, buffer, learner, model, bot")


def explanation(watched: Watched) -> Markup:
    """What the picture means, until the first game has gone all the way round."""
    if watched.history.games:
        return Markup()
    steps = (
        ("Game", "A bot plays. Each decision is on disk when it is made."),
        ("Buffer", "Finished games wait here, also while no learner runs."),
        ("Learner", "A process of its own learns from each game exactly once."),
        ("Model", "What it learned is published as a new version."),
        ("Bot", "The bot takes the newest version before its next game."),
    )
    lines = (tag("p", tag("b", f"{name}. "), text) for name, text in steps)
    begin = tag("p", "To begin: ", tag("code", f"python run_with_training.py --run-dir {watched.run.root}"))
    return tag("div", *lines, begin, cls="explanation")


def _joined(boxes: Sequence[tuple[str, str, str, str]], moving: Sequence[bool]) -> Markup:
    parts: list[Markup] = []
    for number, (name, count, what, level) in enumerate(boxes):
        if number:
            parts.append(tag("div", "→", cls="arrow moving" if moving[number - 1] else "arrow", aria_hidden="true"))
        inside = (tag("div", name, cls="name"), tag("div", count, cls="count"), tag("div", what, cls="what"))
        parts.append(tag("div", *inside, cls=f"box {level}", data_box=name.lower()))
    return join(parts)


def _buffer_level(watched: Watched) -> str:
    folder, now = watched.snapshot.buffer, watched.snapshot.at
    if not folder.count or folder.oldest_at is None:
        return "green" if watched.snapshot.exists else ""
    return "amber" if now - folder.oldest_at > STALLED_SECONDS else "green"


def _played_by(watched: Watched) -> str:
    last = watched.history.by_version.to
    return f"v{last[-1]}" if last else "–"


def _bot_says(watched: Watched, playing: bool) -> str:
    if not watched.history.by_version.to:
        return "plays its first game" if playing else "has not said what it plays"
    return "is playing" if playing else "played last"


def tiles(watched: Watched) -> Markup:
    """The figures that people ask for first."""
    seen, history = watched.snapshot, watched.history
    stats, rates = seen.learner.stats, history.win_rate
    won = f"{seen.results.get('won', 0)} won, {seen.results.get('lost', 0)} lost, {seen.results.get('tied', 0)} tied"
    games, batches = history.games, words.count(stats.get("batches_trained"))
    rows = [
        ("Win rate", words.percent(rates.value[-1]) if rates.value else "–", _interval(rates)),
        ("Games learned from", words.count(games), f"last 100: {won}" if games else "none yet"),
        ("Decisions learned", words.count(stats.get("total_samples")), f"{batches} batches"),
        ("Loss", words.figure(stats.get("last_loss")), f"average {words.figure(stats.get('avg_loss'))}"),
        ("Last game", words.ago(seen.last_game_at, seen.at), f"version {words.ago(seen.last_version_at, seen.at)}"),
        ("Rejected", words.count(seen.outcomes.get("rejected", 0)), f"{words.count(seen.learner.errors)} errors"),
    ]
    return tag("div", *(tile(*row) for row in rows), cls="tiles")


def _interval(rates: Rates) -> str:
    if not rates.value:
        return "no finished game yet"
    return f"{words.percent(rates.low[-1])} to {words.percent(rates.high[-1])}, {rates.games[-1]} games"


def tile(name: str, value: str, more: str) -> Markup:
    """A figure with its name above it and something about it below."""
    inside = (tag("div", name, cls="name"), tag("div", value, cls="value"), tag("div", more, cls="more"))
    return tag("div", *inside, cls="tile", data_tile=name)


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
