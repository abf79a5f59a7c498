"""The traffic light: from one look at a run to green, amber or red, and sentences of what is wrong and what to do.

Pure functions of a `Snapshot`. Red: nothing is learned until somebody acts. Amber: look at it soon. Green: all is well.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from understudy.experience import outliers
from understudy.experience.skipped import advice, summary
from understudy.models.intervals import Z95
from understudy.status import FRESH_SECONDS
from understudy.watch.history import Rates
from understudy.watch.readings import Snapshot

Light = Literal["green", "amber", "red"]
_ORDER: tuple[Light, ...] = ("green", "amber", "red")

FULL_DISK = 50_000_000
LITTLE_SPACE = 500_000_000
NO_GAMES_SECONDS = 600.0
STALLED_SECONDS = 120.0
LONG_BATCH_SECONDS = 600.0
LONG_QUEUE = 200
LONG_QUEUE_BATCHES = 5
REJECTED_SHARE = 0.1
REJECTED_SHARE_RED = 0.5
RECENT_SECONDS = 3600.0
_NOT_FINITE = "NaN or infinity"


@dataclass(frozen=True, slots=True)
class Trouble:
    """One thing that is wrong, and what to do about it."""

    name: str
    light: Light
    what: str
    advice: str


@dataclass(frozen=True, slots=True)
class Health:
    """The light, one sentence for the top of a page, and everything that is wrong, worst first."""

    light: Light
    sentence: str
    troubles: tuple[Trouble, ...] = ()


def judge(seen: Snapshot) -> Health:
    """Judge a run by one look at it."""
    troubles = tuple(sorted(_troubles(seen), key=lambda trouble: -_ORDER.index(trouble.light)))
    if not troubles:
        return Health("green", _well(seen))
    more = f" ({len(troubles) - 1} more)" if len(troubles) > 1 else ""
    return Health(troubles[0].light, f"{troubles[0].what} {troubles[0].advice}{more}", troubles)


def _troubles(seen: Snapshot) -> Iterator[Trouble]:
    if not seen.exists:
        yield Trouble("missing", "red", f"There is no run directory at {seen.run_dir}.", _HOW_TO_BEGIN)
        return
    checks: tuple[Callable[[Snapshot], Iterator[Trouble]], ...] = (
        _unreadable,
        _disk,
        _learner,
        _model,
        _rejected,
        _not_finite,
        _skipped,
        _outliers,
        _queue,
        _games,
        _workers,
    )
    for check in checks:
        yield from check(seen)


_HOW_TO_BEGIN = "`python run_with_training.py`, or a bot with RLAgent(run_dir=...), makes one."


def _unreadable(seen: Snapshot) -> Iterator[Trouble]:
    for problem in seen.problems:
        yield Trouble("unreadable", "red", problem, f"`understudy doctor {seen.run_dir}` says how to mend it.")


def _disk(seen: Snapshot) -> Iterator[Trouble]:
    refused = "No space left" in f"{seen.learner.state} {seen.learner.last_error}" and seen.learner.alive
    free = seen.disk_free
    if refused or (free is not None and free < FULL_DISK):
        left = "" if free is None else f" ({free / 1e6:.0f} MB are free)"
        yield Trouble(
            "disk full",
            "red",
            f"The disk is full{left}: games and models cannot be saved.",
            "Make room on it, or lower storage.archive_games and storage.archive_bytes; the learner goes on by itself.",
        )
    elif free is not None and free < LITTLE_SPACE:
        yield Trouble(
            "disk nearly full",
            "amber",
            f"Only {free / 1e6:.0f} MB are free on the disk.",
            "Make room on it, or lower storage.archive_games and storage.archive_bytes.",
        )


def _learner(seen: Snapshot) -> Iterator[Trouble]:
    learner, waiting = seen.learner, seen.buffer.count
    start = f"Start it: `understudy learn {seen.run_dir}`, or the bot that has it."
    if "selfplay" in learner.stats:
        start = f"Start it again: `understudy selfplay GAME --run-dir {seen.run_dir}`."
    if not learner.seen:
        if waiting:
            yield Trouble("no learner", "red", f"{_games_wait(waiting)}, and no learner has ever run here.", start)
    elif learner.state == "stopped":
        left = f", and {_games_wait(waiting)}" if waiting else ""
        since = "" if learner.heartbeat is None else f" {duration(seen.at - learner.heartbeat)} ago"
        yield Trouble("learner stopped", "red" if waiting else "amber", f"The learner stopped{since}{left}.", start)
    elif not learner.alive:
        silent = math.inf if learner.heartbeat is None else abs(seen.at - learner.heartbeat)
        yield Trouble(
            "stale heartbeat",
            "red",
            f"The learner (pid {learner.pid}) has been silent for {duration(silent)} "
            f"(its heart beats every second; {FRESH_SECONDS:g} s are allowed). It died or hangs; nothing is lost.",
            f"End that process if it is still there. {start}",
        )
    elif learner.paused_by_request:
        yield Trouble(
            "paused by request",
            "amber",
            "Self-play was asked to pause."
            if "selfplay" in learner.stats
            else f"The learner was asked to pause; {_games_wait(waiting)}.",
            f"Let it go on: `understudy resume {seen.run_dir}`.",
        )
    elif learner.stats.get("model_trouble"):
        return  # the model's own check says it
    elif learner.state.startswith("waiting: ") and "No space left" not in learner.state:
        yield Trouble(
            "learner in trouble",
            "red",
            f"The learner cannot go on: {learner.state.removeprefix('waiting: ')}",
            "It tries again every few seconds and loses nothing; put right what it names.",
        )


def _model(seen: Snapshot) -> Iterator[Trouble]:
    if trouble := seen.learner.stats.get("model_trouble"):
        yield Trouble("model broken", "red", trouble["what"], trouble["advice"])


def _rejected(seen: Snapshot) -> Iterator[Trouble]:
    """A few bad files are normal; a share of them is a defect of whatever writes them."""
    if not seen.latest_files or not seen.reasons or seen.at - seen.reasons[0].at > RECENT_SECONDS:
        return
    share = seen.latest_rejected / seen.latest_files
    if seen.latest_rejected >= 3 and share > REJECTED_SHARE:
        yield Trouble(
            "files rejected",
            "red" if share > REJECTED_SHARE_RED else "amber",
            f"The rejected folder grows: {seen.latest_rejected} of the last {seen.latest_files} files "
            f"could not be used. The latest: {seen.reasons[0].reason}",
            f"Look at what the bot records; the files and their reasons are in {seen.rejected.path}.",
        )


def _not_finite(seen: Snapshot) -> Iterator[Trouble]:
    for reason in seen.reasons:
        if _NOT_FINITE in reason.reason and seen.at - reason.at < RECENT_SECONDS:
            yield Trouble(
                "NaN batch",
                "amber",
                f"A batch gave NaN {duration(seen.at - reason.at)} ago; its update was undone, and {reason.name} "
                "was rejected as the cause.",
                "Look at the states and rewards of that game, or lower training.learning_rate.",
            )
            return
    refused = (seen.learner.stats.get("selfplay") or {}).get("refused_updates")
    if refused:
        yield Trouble(
            "NaN batch",
            "amber",
            f"The last {refused} update(s) of self-play gave NaN and were undone.",
            "Lower training.learning_rate, or roll back: `understudy models RUN_DIR --rollback VERSION`.",
        )


def _skipped(seen: Snapshot) -> Iterator[Trouble]:
    """Nothing is dropped silently."""
    skipped, at = seen.learner.stats.get("skipped") or {}, seen.learner.stats.get("skipped_at")
    if at is not None and seen.at - at < RECENT_SECONDS and (why := summary(skipped)):
        yield Trouble(
            "games skipped",
            "amber",
            f"Games were archived unlearned, the last of them {duration(seen.at - at)} ago: {why}.",
            advice(skipped),
        )


def _outliers(seen: Snapshot) -> Iterator[Trouble]:
    """The model is none the worse for them; the bot that made them may be."""
    at = seen.learner.stats.get("outliers_at")
    if at is not None and seen.at - at < RECENT_SECONDS:
        yield Trouble(
            "values out of range",
            "amber",
            f"A value far outside of the range of its feature was learned from {duration(seen.at - at)} ago: "
            f"{outliers.summary(seen.learner.stats.get('outliers') or [])}.",
            outliers.ADVICE,
        )


def _queue(seen: Snapshot) -> Iterator[Trouble]:
    learner, waiting = seen.learner, seen.buffer.count
    if not learner.alive or not waiting or learner.paused_by_request or learner.state.startswith("waiting: "):
        return
    worked = [seen.last_version_at or 0.0, learner.started_at or 0.0, _latest_rejection(seen)]
    idle = seen.at - max(worked)
    waits = seen.at - (seen.buffer.oldest_at or seen.at)
    if learner.state == "training":
        at_it = min(idle, waits)  # the batch cannot have begun before its games had come
        if at_it > LONG_BATCH_SECONDS:
            yield Trouble(
                "long batch",
                "amber",
                f"The learner has been at one batch for {duration(at_it)}.",
                "Lower learner.batch_games, or make the network smaller.",
            )
    elif learner.state.startswith(("paused for the game", "waiting for ")):
        why = "the game needs the machine" if "game" in learner.state else learner.state
        yield Trouble(
            "waiting for the machine",
            "amber",
            f"The learner holds back ({why}); {_games_wait(waiting)}.",
            "It goes on by itself; the thresholds are in [resources] of the settings.",
        )
    elif min(idle, waits) > STALLED_SECONDS and waiting >= _batch_wanted(seen):
        yield Trouble(
            "queue stalled",
            "red",
            f"{_games_wait(waiting)}, and nothing has been learned for {duration(idle)} though the learner runs.",
            f"Look at {seen.run_dir}/logs; end the learner and start it again: nothing is lost by that.",
        )
    # A bot that ends hundreds of games a second leaves as many during a batch: then a few batches are no long queue.
    long = max(LONG_QUEUE, LONG_QUEUE_BATCHES * seen.metrics.get("games", 0))
    if waiting > long and learner.state in ("running", "training"):
        yield Trouble(
            "queue long",
            "amber",
            f"{_games_wait(waiting)}: the bot plays faster than the learner learns.",
            "Call agent.wait_for_learner() after a game, play in fewer processes, or raise learner.batch_decisions.",
        )


def _games(seen: Snapshot) -> Iterator[Trouble]:
    if "selfplay" in seen.learner.stats or seen.buffer.count:
        return
    times = [at for at in (seen.last_game_at, seen.last_move_at) if at is not None]
    if not times:
        if not seen.learner.seen or seen.learner.alive:
            yield Trouble("no game yet", "amber", "No game has been recorded here yet.", "Start a bot with this run.")
        return
    quiet = seen.at - max(times)
    if seen.learner.alive and quiet > NO_GAMES_SECONDS:
        yield Trouble(
            "no games coming",
            "amber",
            f"No game has come for {duration(quiet)}.",
            "See whether the bot still plays, and whether it records into this run directory.",
        )


def _workers(seen: Snapshot) -> Iterator[Trouble]:
    deaths = int(seen.learner.stats.get("worker_deaths") or 0)
    if deaths and seen.learner.alive:
        yield Trouble(
            "workers died",
            "amber",
            f"{deaths} worker(s) died or were ended at their limits; they were replaced.",
            "The log says what they were doing; the time and memory limits of a job are settings.",
        )


def _batch_wanted(seen: Snapshot) -> int:
    """How many games the learner waits for before it trains."""
    return int(seen.learner.stats.get("batch_wanted") or 1)


def _latest_rejection(seen: Snapshot) -> float:
    return seen.reasons[0].at if seen.reasons else 0.0


def _well(seen: Snapshot) -> str:
    parts = [f"All is well: version {seen.model.version}" if seen.model.version is not None else "All is well"]
    if seen.last_version_at is not None:
        parts.append(f"learned {duration(seen.at - seen.last_version_at)} ago")
    waiting, wanted = seen.buffer.count, _batch_wanted(seen)
    together = f" for a batch of {wanted}" if waiting < wanted else ""
    parts.append(f"{_games_wait(waiting)}{together}" if waiting else "no game waits")
    return ", ".join(parts) + "."


def progress(rates: Rates) -> str:
    """Whether the bot is getting better: the last games against those before, and whether chance explains it."""
    if not rates.games:
        return "No game with a winner yet."
    last, n = rates.value[-1], rates.games[-1]
    now = f"{last:.0%} of the last {n} won"
    start = rates.x[-1] - n
    before = next((i for i in range(len(rates.x) - 1, -1, -1) if rates.x[i] <= start), None)
    if before is None or n < 20:
        return f"{now}; too few to say more."
    then, m = rates.value[before], rates.games[before]
    pooled = (last * n + then * m) / (n + m)
    spread = math.sqrt(max(pooled * (1 - pooled), 1e-9) * (1 / n + 1 / m))
    z = (last - then) / spread
    verdict = "getting better" if z > Z95 else "getting worse" if z < -Z95 else "within chance"
    return f"{now}, {then:.0%} of the {m} before: {verdict}."


def duration(seconds: float) -> str:
    """A time span as people say it."""
    if not math.isfinite(seconds):
        return "an unknown time"
    seconds = max(seconds, 0.0)
    for unit, name, below, part in ((86400, "d", "h", 3600), (3600, "h", "m", 60), (60, "m", "s", 1)):
        if seconds >= unit:
            whole, rest = divmod(int(seconds), unit)
            return f"{whole}{name} {rest // part}{below}"
    return f"{seconds:.0f}s"


def _games_wait(count: int) -> str:
    return f"{count:,} game waits" if count == 1 else f"{count:,} games wait"
