"""The page Machine: load, workers, disk, the log, and the controls of the learner."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from nicegui import ui

from understudy.machine.load_log import Load
from understudy.watch import formats
from understudy.watch.dashboard import actions, charts, overview
from understudy.watch.dashboard.charts import Line, Options
from understudy.watch.dashboard.markup import Markup, empty, facts, table, tag, with_commands
from understudy.watch.dashboard.parts import Update, box, card, chart_card, live_html
from understudy.watch.dashboard.runs import Watched
from understudy.watch.formats import duration

_LOADS: tuple[tuple[str, Callable[[Load], float | None]], ...] = (
    ("CPU used by others", lambda load: load.cpu),
    ("memory used", lambda load: load.memory),
    ("GPU memory used", lambda load: load.gpu_memory),
)
_NOBODY = "No learner is running."
_UNREAD = "There are no readings yet; a running learner records one every ten seconds."
_NONE_WAITS = (
    "There are no readings: a running learner records one every ten seconds; self-play keeps its games in memory."
)
_UNMEASURED = "Nothing was measured: no learner has run for ten seconds, or psutil is missing (the extra resources)."
_POINTS = 400  # more points cannot be distinguished
_SILENT_SECONDS = 60.0  # without a reading: no learner was running


def show(watched: Watched) -> list[Update]:
    """Build the page Machine."""
    updates = []
    with box("grid wide"):
        with card("Learner", metric="learner_up"):
            updates.append(live_html(lambda: learner(watched)))
            updates.append(_buttons(watched))
        with card("Workers and jobs", metric="active_workers"):
            updates.append(live_html(lambda: workers(watched)))
    with box("grid"):
        percents = ("cpu_percent", "memory_percent", "gpu_memory_percent")
        updates.append(chart_card(percents, lambda: loads(watched), title="Load", empty=_UNMEASURED))
        updates.append(chart_card("active_workers", lambda: working(watched), empty=_UNREAD))
        updates.append(chart_card("buffer_files", lambda: waiting(watched), empty=_NONE_WAITS))
    with box("grid wide"):
        with card("Disk", metric="disk_free_bytes"):
            updates.append(live_html(lambda: disk(watched)))
        with card("Log"):
            updates.append(live_html(lambda: overview.log(watched)))
    return updates


def learner(watched: Watched) -> Markup:
    """The learner's last status."""
    seen = watched.snapshot
    note, stats = seen.learner, seen.learner.stats
    if not note.seen:
        text = f"No learner has run here yet. `understudy learn {seen.run_dir}` starts one."
        return tag("div", with_commands(text), cls="empty")
    since = "–" if note.started_at is None else duration(seen.at - note.started_at)
    alive: list[tuple[str, object]] = [
        ("State", tag("span", note.state or "–", cls="tag green" if note.alive else "tag")),
        ("Heartbeat", formats.ago(note.heartbeat, seen.at)),
        ("Process", f"pid {note.pid}, started {since} ago" if note.alive else f"pid {note.pid}, not running"),
    ]
    if selfplay := stats.get("selfplay"):
        done: list[tuple[str, object]] = [
            ("Games", formats.count(selfplay.get("games"))),
            ("Decisions", formats.count(selfplay.get("decisions"))),
            ("Updates", formats.count(selfplay.get("updates"))),
            ("Playing and learning", f"{duration(selfplay.get('seconds') or 0.0)}, pauses not counted"),
            ("Updates refused", f"{formats.count(selfplay.get('refused_updates'))} in a row, for NaN"),
        ]
        return facts(alive + done)
    done = [
        ("Files processed", formats.count(stats.get("files_processed"))),
        ("Batch training runs", formats.count(stats.get("batches_trained"))),
        ("Total samples", formats.count(stats.get("total_samples"))),
        ("Average and last loss", f"{formats.figure(stats.get('avg_loss'))}, {formats.figure(stats.get('last_loss'))}"),
        ("Processing time", f"{stats.get('total_processing_time') or 0:.1f} s"),
        ("Salvaged games", formats.count(stats.get("games_salvaged"))),
        ("Errors", f"{note.errors}" + (f": {note.last_error}" if note.last_error else "")),
    ]
    return facts(alive + done)


def workers(watched: Watched) -> Markup:
    """What each worker is doing, and how many jobs wait."""
    seen = watched.snapshot
    stats = seen.learner.stats
    jobs = stats.get("jobs") or {}
    selfplay = stats.get("selfplay")
    if selfplay and selfplay.get("mode") == "sequential":
        return empty("Play runs in the learner's process; --workers N uses N separate processes.")
    died = selfplay.get("restarts") if selfplay else stats.get("worker_deaths")
    lines = [("Active", f"{stats.get('active_workers', 0)} of {stats.get('max_workers', 0)}")]
    lines += [("Died", formats.count(died or 0))]
    lines += [(str(kind).capitalize(), formats.count(number)) for kind, number in jobs.items() if number]
    states = [(tag("span", state),) for state in seen.workers]
    return tag("div", facts(lines), table(("Worker",), states) if states else empty("No worker is running now."))


def loads(watched: Watched) -> Options | None:
    """The load of the machine while a learner ran."""
    lines = [
        Line(name, points, charts.COLORS[number])
        for number, (name, value) in enumerate(_LOADS)
        if (points := over_time(watched.loads, value))
    ]
    return charts.line_chart(lines, x_name="time", time=True, low=0, high=100) if lines else None


def working(watched: Watched) -> Options | None:
    """The number of busy workers."""
    return _counted("active workers", over_time(watched.loads, lambda load: load.workers))


def waiting(watched: Watched) -> Options | None:
    """The number of waiting games."""
    return _counted("games waiting", over_time(watched.loads, lambda load: load.waiting))


def over_time(readings: Sequence[Load], value: Callable[[Load], float | None]) -> list[Sequence[float | None]]:
    """Points for a line, with gaps while no learner ran; many readings are reduced to means, with their extremes."""
    known = [(load.at, y) for load in readings if (y := value(load)) is not None]
    size = -(-len(known) // _POINTS)
    points: list[Sequence[float | None]] = []
    last = math.inf
    for start in range(0, len(known), max(size, 1)):
        part = known[start : start + size]
        ys = [y for _, y in part]
        if part[0][0] - last > _SILENT_SECONDS:
            points.append((1000 * (last + 1), None, None, None) if size > 1 else (1000 * (last + 1), None))
        last = part[-1][0]
        at, mean = 1000 * part[0][0], sum(ys) / len(ys)
        points.append((at, mean, min(ys), max(ys)) if size > 1 else (at, mean))
    return points


def _counted(name: str, points: Sequence[Sequence[float | None]]) -> Options | None:
    line = Line(name, points, step=True)
    return charts.line_chart([line], x_name="time", time=True, low=0, whole=True) if points else None


def disk(watched: Watched) -> Markup:
    """The space that the run uses, and the free space."""
    seen = watched.snapshot
    rows = [
        (name, formats.count(folder.count), formats.size(folder.bytes))
        for name, folder in (("Buffer", seen.buffer), ("Archive", seen.archive), ("Rejected", seen.rejected))
    ]
    left = f"{formats.size(seen.disk_free)} of {formats.size(seen.disk_total)} are free on this disk."
    return tag("div", table(("Folder", "Files", "Size"), rows, numbers=(1, 2)), tag("p", left, cls="muted"))


def _buttons(watched: Watched) -> Update:
    with box("choices"):
        with box("button", "button").on("click", lambda: actions.pause_or_resume(watched)) as pause:
            pause_label = ui.label("Pause")
        with box("button danger", "button").on("click", lambda: actions.stop(watched)) as stop:
            ui.label("Stop")

    def update() -> None:
        note = watched.snapshot.learner
        pause_label.set_text("Resume" if note.paused_by_request else "Pause")
        for button in (pause, stop):
            button.props(remove="disabled title") if note.alive else button.props(f'disabled title="{_NOBODY}"')

    update()
    return update
