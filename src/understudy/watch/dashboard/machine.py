"""The machine and the processes on it: load, workers, disk, what the learner says, and what can be asked of it."""

from __future__ import annotations

from collections.abc import Callable

from nicegui import ui

from understudy.watch.dashboard import actions, charts, overview, words
from understudy.watch.dashboard.charts import Line, Options
from understudy.watch.dashboard.markup import Markup, empty, facts, table, tag
from understudy.watch.dashboard.parts import Update, box, card, chart_card, live_html
from understudy.watch.dashboard.runs import Load, Watched
from understudy.watch.health import duration

_LOADS: tuple[tuple[str, str, Callable[[Load], float | None]], ...] = (
    ("cpu_percent", "CPU used by others", lambda load: load.cpu),
    ("memory_percent", "memory used", lambda load: load.memory),
    ("gpu_memory_percent", "GPU memory used", lambda load: load.gpu_memory),
)
_UNMEASURED = "Nothing is measured: no learner is running, or psutil is not installed (the extra `resources`)."


def show(watched: Watched) -> list[Update]:
    """Build the page of the machine."""
    updates = []
    with box("grid wide"):
        with card("Learner", metric="learner_up"):
            updates.append(live_html(lambda: learner(watched)))
            updates.append(_buttons(watched))
        with card("Workers and jobs", metric="active_workers"):
            updates.append(live_html(lambda: workers(watched)))
    with box("grid wide"):
        unit = "% since the dashboard was opened"
        updates.append(chart_card("cpu_percent", lambda: loads(watched), title="Load", unit=unit, empty=_UNMEASURED))
        unit = "games since the dashboard was opened"
        updates.append(chart_card("buffer_files", lambda: waiting(watched), unit=unit, empty="No learner is running."))
    with box("grid wide"):
        with card("Disk", metric="disk_free_bytes"):
            updates.append(live_html(lambda: disk(watched)))
        with card("Log"):
            updates.append(live_html(lambda: overview.log(watched)))
    return updates


def learner(watched: Watched) -> Markup:
    """What the learner last said of itself."""
    seen = watched.snapshot
    note, stats = seen.learner, seen.learner.stats
    if not note.seen:
        return empty(f"No learner has run here yet. `understudy learn {seen.run_dir}` starts one.")
    since = "–" if note.started_at is None else duration(seen.at - note.started_at)
    return facts(
        [
            ("State", tag("span", note.state or "–", cls="tag green" if note.alive else "tag")),
            ("Heartbeat", words.ago(note.heartbeat, seen.at)),
            ("Process", f"pid {note.pid}, started {since} ago" if note.alive else f"pid {note.pid}, not running"),
            ("Files processed", words.count(stats.get("files_processed"))),
            ("Batch training runs", words.count(stats.get("batches_trained"))),
            ("Total samples", words.count(stats.get("total_samples"))),
            ("Average and last loss", f"{words.figure(stats.get('avg_loss'))}, {words.figure(stats.get('last_loss'))}"),
            ("Processing time", f"{stats.get('total_processing_time') or 0:.1f} s"),
            ("Salvaged games", words.count(stats.get("games_salvaged"))),
            ("Errors", f"{note.errors}" + (f": {note.last_error}" if note.last_error else "")),
        ]
    )


def workers(watched: Watched) -> Markup:
    """What each worker is doing, and what waits for one."""
    seen = watched.snapshot
    stats = seen.learner.stats
    jobs = stats.get("jobs") or {}
    lines = [("Active", f"{stats.get('active_workers', 0)} of {stats.get('max_workers', 0)}")]
    lines += [("Died", words.count(stats.get("worker_deaths") or 0))]
    lines += [(str(kind).capitalize(), words.count(number)) for kind, number in jobs.items() if number]
    states = [(tag("span", state),) for state in seen.workers]
    return tag("div", facts(lines), table(("Worker",), states) if states else empty("No worker is running now."))


def loads(watched: Watched) -> Options | None:
    """How busy the machine was while somebody watched."""
    lines = []
    for number, (_, name, value) in enumerate(_LOADS):
        points = [(1000 * load.at, value(load)) for load in watched.loads]
        if any(y is not None for _, y in points):
            lines.append(Line(name, points, charts.COLORS[number]))
    return charts.line_chart(lines, x_name="time", time=True, low=0, high=100) if lines else None


def waiting(watched: Watched) -> Options | None:
    """How many games waited while somebody watched."""
    points = [(1000 * load.at, load.waiting) for load in watched.loads]
    return (
        charts.line_chart([Line("games waiting", points, step=True)], x_name="time", time=True, low=0, whole=True)
        if points
        else None
    )


def disk(watched: Watched) -> Markup:
    """What the run takes, and what is left."""
    seen = watched.snapshot
    rows = [
        (name, words.count(folder.count), words.size(folder.bytes))
        for name, folder in (("Buffer", seen.buffer), ("Archive", seen.archive), ("Rejected", seen.rejected))
    ]
    left = f"{words.size(seen.disk_free)} of {words.size(seen.disk_total)} are free on this disk."
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
            button.props(remove="disabled") if note.alive else button.props("disabled")

    update()
    return update
