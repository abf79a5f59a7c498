"""The rows of the monitor, as a pure function of a snapshot of the run."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.text import Text

from understudy.files.printable import in_one_line
from understudy.learner.reports import load, number
from understudy.run.log import clock
from understudy.watch.formats import duration, size
from understudy.watch.health import Health, judge
from understudy.watch.history import RunHistory
from understudy.watch.progress import Improvement, judge_progress
from understudy.watch.run_files import FileNote, Folder
from understudy.watch.snapshot import RunSnapshot
from understudy.watch.win_rates import Rates

ROOMY = 34  # rows from which on files get separate lines
_BARS = "▁▂▃▄▅▆▇█"
_PLAIN_BARS = "_.-=*#"
_GAMES_OF = {"practice": "practice games", "trial": "trial games", "evaluation": "evaluation games"}
_STYLES = {"grey": "bold", "green": "bold green", "amber": "bold yellow", "red": "bold red"}


def frame(
    seen: RunSnapshot,
    before: RunSnapshot,
    history: RunHistory,
    console: Console,
    height: int,
    note: str = "",
    started: float | None = None,
) -> list[Text]:
    """One screen: as much of the run as fits into `height` rows, the most important first, the log in the rest.

    `started` is when the monitor was started, None if it shows only one frame.
    """
    unicode = "utf" in console.encoding.lower()
    health = judge(seen)
    lines = [_heading(seen, console.width, note), _times(seen, started), *_health_lines(health, console.width)]
    lines += _progress_lines(judge_progress(history), console.width)
    bars, roomy = _BARS if unicode else _PLAIN_BARS, height >= ROOMY
    for label, text in _rows(seen, before, history, roomy=roomy, bars=bars, width=console.width):
        lines.append(Text.assemble((f"{label:<9} ", "bold"), text))
    lines += _log_lines(seen, height - len(lines) - 1, roomy)
    for line in lines:
        line.plain = in_one_line(line.plain)  # names and notes come from files, and rich passes escape sequences on
        line.no_wrap, line.overflow = True, "ellipsis" if unicode else "crop"
    return lines[:height]


def _times(seen: RunSnapshot, started: float | None) -> Text:
    if started is None:
        return Text(f"Current Time: {clock(seen.at)}", style="dim")
    began = f"Monitoring Started: {clock(started)[11:]}  Current Time: {clock(seen.at)[11:]}"
    return Text(f"{began}  Uptime: {duration(seen.at - started)}", style="dim")


def _heading(seen: RunSnapshot, width: int, note: str) -> Text:
    right = note
    room = max(width - len(right) - 2, 8)
    path = seen.run_dir if len(seen.run_dir) <= room else "..." + seen.run_dir[-(room - 3) :]
    return Text(f"{path:<{room}}  {right}", style="dim")


def _health_lines(health: Health, width: int) -> list[Text]:
    """The light, as a word and a colour, and the worst problem in at most three rows."""
    lines = _wrapped(f"{health.light.upper():<6} {health.sentence}", width, 3)
    return [Text(line, style=_STYLES[health.light]) for line in lines]


def _progress_lines(progress: Improvement, width: int) -> list[Text]:
    """Whether the bot is getting better, which is a separate question from whether the run works."""
    lines = _wrapped(f"{progress.word}: {progress.sentence}", width, 2)
    return [Text(line, style=_STYLES.get(progress.light, "bold")) for line in lines]


def _wrapped(text: str, width: int, rows: int) -> list[str]:
    lines = [""]
    for word in text.split(" "):
        if len(lines[-1]) + len(word) + 1 > width and lines[-1]:
            lines.append(" " * 6)
        lines[-1] += (" " if lines[-1] else "") + word
    return lines if len(lines) <= rows else [*lines[: rows - 1], lines[rows - 1][: width - 4] + " ..."]


def _rows(
    seen: RunSnapshot, before: RunSnapshot, history: RunHistory, *, roomy: bool, bars: str, width: int
) -> Iterator[tuple[str, str]]:
    playing = f", {seen.in_progress} in progress" if seen.in_progress else ""
    yield "Buffer", f"{_amount(seen.buffer)} waiting{_change(seen.buffer.count - before.buffer.count)}{playing}"
    yield from _recent(seen.buffer.recent, roomy)
    archived = sum(seen.outcomes.values()) - sum(before.outcomes.values())
    yield "Archive", f"{_amount(seen.archive)}{_change(archived, 'processed')}"
    if roomy:
        yield from _recent(seen.archive.recent, roomy)
    yield "Rejected", f"{_amount(seen.rejected, 'file')}{_change(seen.rejected.count - before.rejected.count)}"
    for reason in seen.reasons[: 3 if roomy else 1]:
        yield "", f"{time.strftime('%H:%M:%S', time.localtime(reason.at))} {reason.reason}"
    yield "Model", _model(seen)
    yield from _stage(seen, width, roomy=roomy)
    yield from _learner(seen)
    spark = max(min(width - 64, 60), 12)
    stats = seen.learner.stats
    if "selfplay" in stats:  # it plays against itself, so there is no win rate
        returns = history.metrics["mean_return"].value if "mean_return" in history.metrics else []
        whose = ", first player" if history.players == 2 else ""
        mean = f"mean {number(seen.metrics.get('mean_return'))} a game{whose}"
        yield "Return", f"{sparkline(returns, spark, bars)}  {mean}"
    else:
        yield "Win rate", f"{sparkline(history.win_rate.value, spark, bars, 0.0, 1.0)} {_band(history.win_rate)}"
        for purpose, results in history.others.items():
            if results.rate.games:
                games = f"{results.rate.games[-1]} {_GAMES_OF.get(purpose, purpose)}"
                yield "", f"{results.rate.value[-1]:.0%} of the last {games} won (not counted above)"
    losses = history.metrics["loss"].value if "loss" in history.metrics else []
    figures = f"last {number(seen.metrics.get('loss'))}, average {number(stats.get('avg_loss'))}"
    yield "Loss", f"{sparkline(losses, spark, bars)}  {figures}, entropy {number(seen.metrics.get('entropy'))}"
    if roomy:
        named = (("KL", "kl"), ("clipped", "clip_fraction"), ("value error", "value_loss"), ("staleness", "staleness"))
        yield "", ", ".join(f"{title} {number(seen.metrics.get(name), '{:.3g}')}" for title, name in named)
    workers = f"workers {stats.get('active_workers', 0)}/{stats.get('max_workers', '-')}"
    disk = "-" if seen.disk_free is None else f"{size(seen.disk_free)} of disk free"
    yield "Machine", f"{workers}, others use {load(seen.resources)}, {disk}"
    for worker in seen.workers[: 4 if roomy else 1]:
        yield "", worker
    for name, done in seen.work.items():
        if not done.empty:
            age = "" if done.changed_at is None else f", result {duration(seen.at - done.changed_at)} old"
            yield name.capitalize(), f"{done.line}{age}"


def _band(rates: Rates) -> str:
    if not rates.games:
        return ""
    return f" {rates.value[-1]:.0%}, with 95 % confidence between {rates.low[-1]:.0%} and {rates.high[-1]:.0%}"


def _model(seen: RunSnapshot) -> str:
    model = seen.model
    if not model.exists:
        return "none yet; the bot makes the first one"
    published = seen.last_version_at or model.at  # a copy of the file may be newer
    age = "-" if published is None else f"{duration(seen.at - published)} old"
    return (
        f"version {number(model.version, '{}')} by {model.publisher or '?'}, {size(model.bytes)}, {age}, "
        f"{number(model.updates, '{}')} updates, {number(model.games, '{}')} games"
    )


def _stage(seen: RunSnapshot, width: int, *, roomy: bool) -> Iterator[tuple[str, str]]:
    """Which version plays; if there is room, also on what evidence."""
    sentence = str((seen.learner.stats.get("gate") or {}).get("sentence") or "")
    if sentence:
        rows = _wrapped(sentence if roomy else sentence.partition(". ")[0], width - 10, 4 if roomy else 1)
        yield "Stage", rows[0]
        yield from (("", row.strip()) for row in rows[1:])


def _learner(seen: RunSnapshot) -> Iterator[tuple[str, str]]:
    learner, stats = seen.learner, seen.learner.stats
    if not learner.seen:
        yield "Learner", "none has run here yet"
        return
    up = "" if learner.started_at is None or not learner.alive else f", up {duration(seen.at - learner.started_at)}"
    yield "Learner", f"{learner.state} (pid {learner.pid}{up})"
    if "selfplay" in stats:
        done = ", ".join(f"{stats['selfplay'].get(name)} {name}" for name in ("updates", "decisions", "games"))
        yield "", f"self-play: {done}"
    else:
        files, batches = stats.get("files_processed", 0), stats.get("batches_trained", 0)
        samples, seconds = stats.get("total_samples", 0), float(stats.get("total_processing_time") or 0)
        last = stats.get("last_training_time")
        when = "" if last is None else f", last {clock(last)[11:]}"
        yield "", f"{files} files, {batches} batches, {samples} samples, {seconds:.2f}s of training{when}"
    if learner.errors:
        yield "", f"{learner.errors} error(s), the last: {learner.last_error}"


def _recent(files: Sequence[FileNote], roomy: bool) -> Iterator[tuple[str, str]]:
    cells = [
        f"{file.result or file.name[:20]} {size(file.bytes)} {time.strftime('%H:%M:%S', time.localtime(file.at))}"
        for file in files
    ]
    if roomy:
        yield from (("", f"{file.name} ({size(file.bytes)}, {clock(file.at)[11:]})") for file in files[:3])
    elif cells:
        yield "", " | ".join(cells[:3])


def _log_lines(seen: RunSnapshot, room: int, roomy: bool) -> list[Text]:
    """The last log entries that fit: complete if there is room, else one row each."""
    entries: list[list[str]] = []
    for line in seen.log:
        if line.startswith("["):
            entries.append([line])
        elif entries and line.strip() and not line.startswith("---"):
            entries[-1].append(line)
    if not roomy:
        entries = [[_in_one_row(entry)] for entry in entries]
    lines: list[str] = []
    for entry in reversed(entries):
        if len(entry) + len(lines) > room:
            break
        lines = entry + lines
    return [Text("Log", style="bold"), *(Text(line, style="dim") for line in lines)] if lines else []


def _in_one_row(entry: Sequence[str]) -> str:
    title, *facts = entry
    told = ", ".join(" ".join(fact.split()) for fact in facts)
    return f"{title[12:20]} {title[22:]}{told and ': ' + told}"


def sparkline(
    values: Sequence[float], width: int, bars: str, low: float | None = None, high: float | None = None
) -> str:
    """The course of some values in one row: means of equal parts, drawn between `low` and `high`."""
    if not values:
        return "-"
    parts = [values[i * len(values) // width : (i + 1) * len(values) // width] for i in range(width)]
    means = [sum(part) / len(part) for part in parts if part]
    bottom = min(means) if low is None else low
    top = max(means) if high is None else high
    if top <= bottom:
        return bars[0] * len(means)
    return "".join(bars[min(int((mean - bottom) / (top - bottom) * len(bars)), len(bars) - 1)] for mean in means)


def _amount(folder: Folder, noun: str = "game") -> str:
    many = f"{folder.count:,} {noun}{'' if folder.count == 1 else 's'}"
    return many if folder.bytes is None or not folder.count else f"{many}, {size(folder.bytes)}"


def _change(difference: int, word: str = "") -> str:
    return f"  [{difference:+}{word and ' ' + word}]" if difference else ""
