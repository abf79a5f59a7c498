"""The page Overview: whether a run is healthy, its state, and whether the bot is getting better."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from understudy.ledger.history import EVALUATION
from understudy.watch import formats
from understudy.watch.dashboard import charts, diagram
from understudy.watch.dashboard.charts import Line, Options
from understudy.watch.dashboard.markup import Markup, empty, light, result_tag, table, tag, with_commands
from understudy.watch.dashboard.metric_charts import metric_card
from understudy.watch.dashboard.parts import Update, box, card, chart_card, live_html
from understudy.watch.dashboard.run_notes import notes_card
from understudy.watch.dashboard.runs import Watched
from understudy.watch.dashboard.stage import StageReader, rating_card
from understudy.watch.progress import judge_progress
from understudy.watch.snapshot import RunSnapshot
from understudy.watch.stage import StageView
from understudy.watch.win_rates import Rates


def show(watched: Watched) -> list[Update]:
    """Build the overview."""
    reader = StageReader(watched)
    updates = [
        live_html(lambda: health(watched, reader.view)),
        live_html(lambda: diagram.loop(watched), "card"),
        live_html(lambda: tiles(watched)),
    ]
    selfplay = "selfplay" in watched.snapshot.learner.stats
    evaluated = EVALUATION in watched.history.others and not watched.history.win_rate.games
    rated = not (selfplay or evaluated or watched.history.returns)  # otherwise another curve is more informative
    with box("grid wide"):
        if evaluated:
            updates += [evaluation_card(watched), metric_card(watched, "mean_return")]
        elif selfplay:  # it plays against itself, so there is no win rate
            updates += [metric_card(watched, "mean_return"), metric_card(watched, "entropy", low=0)]
        elif rated:
            updates += [win_rate_card(watched), rating_card(reader, tall=True), mix_card(watched)]
        else:  # a game without a winner
            updates += [metric_card(watched, "mean_return"), mix_card(watched)]
        with card("Latest games"):
            updates.append(live_html(lambda: latest_games(watched)))
        with card("Log"):
            updates.append(live_html(lambda: log(watched)))
        if rated:
            updates.append(notes_card(watched))
    if not rated:
        updates.append(notes_card(watched))
    if not selfplay:  # the gate is only for versions that a bot plays
        reader.parts = updates[:]
        reader.update()
        updates.append(reader.update)
    return updates


def health(watched: Watched, stage_view: StageView | None = None) -> Markup:
    """The light, whether the bot is getting better, and what is wrong and what to do, in words."""
    found = watched.health
    items = [
        tag(
            "li",
            light(trouble.light),
            tag("span", tag("b", trouble.what), " ", tag("span", with_commands(trouble.advice), cls="advice")),
        )
        for trouble in found.troubles
    ]
    said = [tag("div", with_commands(found.details))] if found.details else []
    works = tag(
        "div",
        light(found.light),
        tag(
            "div",
            tag("div", "Is it working?", cls="question"),
            tag("h1", found.headline),
            *said,
            tag("ul", *items) if items else Markup(),
        ),
        cls=f"card health {found.light}",
        data_health=found.light,
        data_phase=found.phase.word,
    )
    return tag("div", better(watched, stage_view), works, cls="answers")


def better(watched: Watched, stage_view: StageView | None = None) -> Markup:
    """Whether the bot is getting better, judged by which games, and which version is on stage."""
    found = judge_progress(watched.history)
    return tag(
        "div",
        light(found.light),
        tag(
            "div",
            tag("div", "Is it getting better?", cls="question"),
            tag("h1", found.word),
            tag("div", found.sentence, cls="better"),
            stage(watched, stage_view),
        ),
        cls=f"card health {found.light}",
        data_progress=found.verdict,
    )


def stage(watched: Watched, view: StageView | None) -> Markup:
    """The gate's sentence on which version plays and on what evidence; without a ledger, from `status.json`."""
    gate = watched.snapshot.learner.stats.get("gate")
    sentence = str(gate.get("sentence") or "") if isinstance(gate, Mapping) else ""
    if view is not None and view.report is not None:
        sentence = view.report.sentence
    return tag("div", sentence, cls="stage") if sentence else Markup()


def tiles(watched: Watched) -> Markup:
    """The most important numbers."""
    selfplay = watched.snapshot.learner.stats.get("selfplay")
    rows = _selfplay_figures(watched, selfplay) if selfplay else _figures(watched)
    return tag("div", *(tile(*row) for row in rows), cls="tiles")


def _figures(watched: Watched) -> list[tuple[str, str, str]]:
    seen = watched.snapshot
    stats, results = seen.learner.stats, seen.results
    counts = {name: results.get(name, 0) for name in ("won", "lost", "tied")}
    won = f"last {sum(counts.values())} own: " + ", ".join(f"{count} {name}" for name, count in counts.items())
    with_winner = any(counts.values())
    games = seen.outcomes.get("learned", 0) + seen.outcomes.get("online", 0)
    batches = formats.count(stats.get("batches_trained", 0))
    return [
        score(watched),
        (
            "Games learned from",
            formats.count(games),
            won if with_winner else "" if games else "none yet",
        ),
        ("Decisions learned", formats.count(stats.get("total_samples")), f"{batches} batches"),
        ("Loss", formats.figure(stats.get("last_loss")), f"average {formats.figure(stats.get('avg_loss'))}"),
        ("Last game", formats.ago(seen.last_game_at, seen.at), _age_of_version(seen)),
        ("Rejected", formats.count(seen.outcomes.get("rejected", 0)), f"{formats.count(seen.learner.errors)} errors"),
    ]


def _selfplay_figures(watched: Watched, stats: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    seen = watched.snapshot
    seconds = stats.get("seconds") or 0.0
    rate = formats.count((stats.get("decisions") or 0) / seconds) if seconds else "–"
    whose = "" if watched.history.players == 1 else ", first player"
    return [
        ("Games", formats.count(stats.get("games")), "of self-play"),
        ("Decisions learned", formats.count(stats.get("decisions")), f"{rate} a second"),
        ("Updates", formats.count(stats.get("updates")), _age_of_version(seen)),
        (
            "Mean return",
            formats.figure(stats.get("mean_return")),
            f"last 100 games{whose}",
        ),
        ("Loss", formats.figure(seen.metrics.get("loss")), f"entropy {formats.figure(seen.metrics.get('entropy'))}"),
        (
            "Workers replaced",
            formats.count(stats.get("restarts")),
            f"{stats.get('refused_updates', 0)} updates refused",
        ),
    ]


def _age_of_version(seen: RunSnapshot) -> str:
    return "no version yet" if seen.last_version_at is None else f"version {formats.ago(seen.last_version_at, seen.at)}"


def score(watched: Watched) -> tuple[str, str, str]:
    """The win rate, or the mean return if games have no winner."""
    rates, returns = watched.history.win_rate, watched.history.returns
    if returns:
        latest = returns[-100:]
        return "Mean return", formats.figure(sum(latest) / len(latest)), f"last {len(latest)} games"
    return "Win rate", formats.percent(rates.value[-1]) if rates.value else "–", _interval(rates)


def _interval(rates: Rates) -> str:
    if not rates.value:
        return "no finished game yet"
    return f"{formats.percent(rates.low[-1])} to {formats.percent(rates.high[-1])}, {rates.games[-1]} games"


def tile(name: str, value: str, more: str) -> Markup:
    """A number with its name above and a remark below."""
    inside = (tag("div", name, cls="name"), tag("div", value, cls="value"), tag("div", more, cls="more"))
    return tag("div", *inside, cls="tile", data_tile=name)


def win_rate_card(watched: Watched) -> Update:
    """A chart of whether the bot is getting better."""
    return chart_card(
        "win_rate",
        lambda: win_rates_by_purpose(watched),
        unit="% of games won, a tie counts half; band: 95 % confidence",
        empty="It appears with the first finished game.",
        tall=True,
    )


_PURPOSES = {"practice": "practice games", "trial": "trial games"}


def win_rates_by_purpose(watched: Watched) -> Options | None:
    """The win rate of the bot's own games; practice and trial games are separate lines that can be switched off."""
    history = watched.history
    others = [(_PURPOSES.get(name, name), of.rate) for name, of in history.others.items() if name != EVALUATION]
    shown = [(name, rate) for name, rate in (("the bot's own games", history.win_rate), *others) if rate.x]
    return win_rate(shown) if len(shown) > 1 else win_rate([("", rate) for _, rate in shown])


def evaluation_card(watched: Watched) -> Update:
    """The results of each evaluated version: the fairest curve, since all versions meet the same opponents."""

    def options() -> Options | None:
        rates = watched.history.others[EVALUATION].by_version if EVALUATION in watched.history.others else Rates()
        points = list(zip(rates.to, rates.value, rates.low, rates.high, strict=True))
        line = Line("evaluation games", points)
        return charts.line_chart([line], x_name="model version", form="percent", low=0, high=1) if points else None

    return chart_card(
        "win_rate",
        options,
        title="Evaluation",
        unit="% of evaluation games won by each version; band: 95 % confidence",
        empty=f"It appears when a version is evaluated: `understudy evaluate {watched.run.root}`",
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
    """The shares of the bot's actions, over the games."""

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
    """The newest files, in any folder."""
    seen = watched.snapshot
    folders = {"buffer": seen.buffer, "archive": seen.archive, "rejected": seen.rejected}
    notes = [
        (formats.ended(note.name, note.at), note, name) for name, folder in folders.items() for note in folder.recent
    ]
    notes.sort(key=lambda entry: entry[0], reverse=True)
    if not notes and "selfplay" in seen.learner.stats:
        pages = " and ".join(page.title for page in watched.pages)
        where = f" Recorded games are on the page {pages}." if pages else ""
        return empty(f"Self-play learns from its games in memory.{where}")
    if not notes:
        return empty("No game has been recorded yet. Games appear here when a bot has finished one.")
    against = any(watched.opponents.values())  # otherwise a game without opponents
    rows = [
        (
            tag("a", formats.clock(at), href=f"/run/{watched.name}/game/{folder}/{note.name}"),
            result_tag(note.result),
            *((watched.opponents.get(note.name) or "–",) if against else ()),
            folder,
            formats.size(note.bytes),
        )
        for at, note, folder in notes[:8]
    ]
    heads = ("Ended", "Result", *(("Opponent",) if against else ()), "Folder", "Size")
    return tag("div", table(heads, rows, numbers=(len(heads) - 1,)), cls="latest")


def log(watched: Watched) -> Markup:
    """The last entries of the log, scrolled to the end."""
    lines = watched.snapshot.log
    if not lines:
        if "selfplay" in watched.snapshot.learner.stats:
            return empty("Self-play logs requests and problems; there were none. Its metrics are on the page Learning.")
        return empty("Nothing has been logged yet. The learner logs its start, batches, states and requests.")
    return tag("div", tag("pre", "\n".join(lines), cls="log"), cls="log-box")
