"""The checks behind the health light: each examines one aspect and yields the problems it finds.

Pure functions of a `RunSnapshot`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from understudy.experience import outliers
from understudy.experience.skipped import advice, summary
from understudy.run.log import clock
from understudy.run.state import Activity
from understudy.run.status import FRESH_SECONDS
from understudy.watch import file_checks, place_checks
from understudy.watch.formats import duration
from understudy.watch.phase import NO_GAMES_SECONDS
from understudy.watch.snapshot import RunSnapshot
from understudy.watch.trouble import Trouble

STALLED_SECONDS = 120.0
HANGS_SECONDS = 12.0
LONG_STEP_SECONDS = 120.0  # one step of training, on a slow machine
LONG_BATCH_SECONDS = 600.0
LONG_WAIT_SECONDS = 600.0
LONG_QUEUE = 200
LONG_QUEUE_BATCHES = 5
REJECTED_SHARE = 0.1
REJECTED_SHARE_RED = 0.5
RECENT_SECONDS = 3600.0
_NOT_FINITE = "NaN or infinity"


def all_troubles(seen: RunSnapshot) -> Iterator[Trouble]:
    """All problems of a run."""
    if not seen.exists:
        yield Trouble("missing", "red", f"There is no run directory at {seen.run_dir}.", _HOW_TO_BEGIN)
        return
    checks: tuple[Callable[[RunSnapshot], Iterator[Trouble]], ...] = (
        _unreadable,
        *place_checks.CHECKS,
        *file_checks.CHECKS,
        _learner,
        _hangs,
        _model,
        _gate,
        _blind_gate,
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


def _unreadable(seen: RunSnapshot) -> Iterator[Trouble]:
    for problem in seen.problems:
        yield Trouble("unreadable", "red", problem, f"`understudy doctor {seen.run_dir}` says how to repair it.")


def _learner(seen: RunSnapshot) -> Iterator[Trouble]:
    learner, waiting = seen.learner, seen.buffer.count
    start = how_to_start(seen)
    if not learner.seen:
        if waiting:
            yield Trouble("no learner", "red", f"{games_wait(waiting)}, and no learner has ever run here.", start)
    elif learner.activity is Activity.STOPPED:
        since = "" if learner.heartbeat is None else f" {duration(seen.at - learner.heartbeat)} ago"
        newest = max((note.at for note in seen.buffer.recent), default=0.0)
        if waiting and (seen.in_progress or newest > (learner.heartbeat or 0.0)):  # a bot still plays; nobody learns
            what = f"The learner stopped{since}, and {games_wait(waiting)}."
            yield Trouble("learner stopped", "red", what, start)
    elif learner.died:
        yield Trouble(
            "learner died",
            "red",
            f"The learner (pid {learner.pid}) died. Nothing is lost.",
            f"If a bot started it, the bot restarts it. {start}",
        )
    elif not learner.alive:
        silent = math.inf if learner.heartbeat is None else abs(seen.at - learner.heartbeat)
        yield Trouble(
            "stale heartbeat",
            "red",
            f"The learner (pid {learner.pid}) has sent no heartbeat for {duration(silent)} "
            f"(heartbeats come every second; {FRESH_SECONDS:g} s are allowed). It died or hangs; nothing is lost.",
            f"End that process if it is still there. {start}",
        )
    elif learner.paused_by_request:
        yield Trouble(
            "paused by request",
            "amber",
            "Self-play was asked to pause."
            if "selfplay" in learner.stats
            else f"The learner was asked to pause; {games_wait(waiting)}.",
            f"Resume it: `understudy resume {seen.run_dir}`.",
        )
    elif learner.stats.get("model_trouble"):
        return  # the check of the model reports it
    elif learner.activity is Activity.TROUBLE and "No space left" not in learner.state:
        yield Trouble(
            "learner in trouble",
            "red",
            f"The learner cannot continue: {learner.run_state.detail if learner.run_state else learner.state}",
            "It tries again every few seconds and loses nothing; fix the problem that it names.",
        )


def _hangs(seen: RunSnapshot) -> Iterator[Trouble]:
    """The heartbeat comes from another thread and continues while the loop hangs, for example on a dead disk."""
    learner = seen.learner
    seconds = float(learner.stats.get("loop_seconds") or 0.0)
    most = LONG_STEP_SECONDS if learner.activity is Activity.TRAINING else HANGS_SECONDS
    if learner.alive and seconds > most:
        yield Trouble(
            "learner hangs",
            "red",
            f"The learner (pid {learner.pid}) has made no progress for {duration(seconds)}.",
            "Check whether a disk or a network folder does not respond; end that process and start it again. "
            "Nothing is lost by that.",
        )


def how_to_start(seen: RunSnapshot) -> str:
    """The command that restarts what learned here."""
    if "selfplay" in seen.learner.stats:
        game = str((seen.learner.stats["selfplay"] or {}).get("game") or "GAME")
        name, _, argument = game.partition(":")
        if argument.startswith(str(seen.run_dir)):  # the folder of its own versions, which it finds without an argument
            game = name
        return f"Start it again: `understudy selfplay {game} --run-dir {seen.run_dir}`."
    if not seen.learner.seen and seen.last_game_at is None and not seen.buffer.count:
        return f"Start a bot with this run: `python run_with_training.py --run-dir {seen.run_dir}`."
    return f"Start the bot again, or learn without it: `understudy learn {seen.run_dir}`."


def _model(seen: RunSnapshot) -> Iterator[Trouble]:
    if trouble := seen.learner.stats.get("model_trouble"):
        yield Trouble("model broken", "red", trouble["what"], trouble["advice"])
        return
    for sentence in seen.inside.broken_models:
        yield Trouble(
            "model broken",
            "red",
            sentence,
            f"Go back to an earlier one: `understudy models {seen.run_dir} --rollback VERSION`.",
        )


def _gate(seen: RunSnapshot) -> Iterator[Trouble]:
    """Whether the line was shown to be worse and has not returned to the stage since."""
    harm = (seen.learner.stats.get("gate") or {}).get("last_harm")
    if harm and seen.learner.alive:
        yield Trouble(
            "worse model taken off",
            "red",
            f"{clock(harm['at'])}: {harm['sentence']}",
            "The champion plays, and learning restarted from it. Check the rewards, features and training settings "
            f"that changed before; the evidence: `understudy gate {seen.run_dir}`.",
        )


def _blind_gate(seen: RunSnapshot) -> Iterator[Trouble]:
    """Models are compared, but on games that cannot distinguish any models."""
    blind = (seen.learner.stats.get("gate") or {}).get("blind")
    if blind and seen.learner.alive:
        what, _, advice = blind.partition(". ")
        yield Trouble("gate cannot compare", "amber", f"The gate cannot compare models. {what}.", advice)


def _rejected(seen: RunSnapshot) -> Iterator[Trouble]:
    """A few bad files are normal; a larger share is a bug in the program that writes them."""
    if not seen.latest_files or not seen.reasons or seen.at - seen.reasons[0].at > RECENT_SECONDS:
        return
    share = seen.latest_rejected / seen.latest_files
    if seen.latest_rejected >= 3 and share > REJECTED_SHARE:
        yield Trouble(
            "files rejected",
            "red" if share > REJECTED_SHARE_RED else "amber",
            f"The rejected folder grows: {seen.latest_rejected} of the last {seen.latest_files} files "
            f"could not be used. The latest: {seen.reasons[0].reason}",
            f"Check what the bot records; the files and their reasons are in {seen.rejected.path}.",
        )


def _not_finite(seen: RunSnapshot) -> Iterator[Trouble]:
    for reason in seen.reasons:
        if _NOT_FINITE in reason.reason and seen.at - reason.at < RECENT_SECONDS:
            yield Trouble(
                "NaN batch",
                "amber",
                f"A batch gave NaN {duration(seen.at - reason.at)} ago; its update was undone, and {reason.name} "
                "was rejected as the cause.",
                "Check the states and rewards of that game, or lower training.learning_rate.",
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


def _skipped(seen: RunSnapshot) -> Iterator[Trouble]:
    """Games that were archived without learning: nothing is dropped silently."""
    skipped, at = seen.learner.stats.get("skipped") or {}, seen.learner.stats.get("skipped_at")
    if at is not None and seen.at - at < RECENT_SECONDS and (why := summary(skipped)):
        yield Trouble(
            "games skipped",
            "amber",
            f"Games were archived without learning, the last one {duration(seen.at - at)} ago: {why}.",
            advice(skipped),
        )


def _outliers(seen: RunSnapshot) -> Iterator[Trouble]:
    """Outliers do not harm the model, but the bot that sent them may have a bug."""
    at = seen.learner.stats.get("outliers_at")
    if at is not None and seen.at - at < RECENT_SECONDS:
        yield Trouble(
            "values out of range",
            "green",  # this also happens in healthy runs, when a bot gets further than before
            f"A value far outside the range of its feature was learned from {duration(seen.at - at)} ago: "
            f"{outliers.summary(seen.learner.stats.get('outliers') or [])}.",
            outliers.ADVICE,
        )


def _long_wait(seen: RunSnapshot, seconds: float) -> Trouble:
    learner, waiting = seen.learner, games_wait(seen.buffer.count)
    if learner.activity is Activity.NO_MODEL:
        return Trouble(
            "waiting for a model",
            "amber",
            f"There has been no model to train for {duration(seconds)}; {waiting}.",
            "Play a game with the bot: it makes the first model.",
        )
    why = "the game needs the machine" if learner.activity is Activity.GAME_FIRST else learner.state
    return Trouble(
        "waiting for the machine",
        "amber",
        f"Nothing has been learned for {duration(seconds)} ({why}); {waiting}.",
        "It continues by itself once the machine has room; the thresholds are in [resources] of the settings.",
    )


def _queue(seen: RunSnapshot) -> Iterator[Trouble]:
    learner, waiting = seen.learner, seen.buffer.count
    if not learner.alive or not waiting or learner.activity in (Activity.PAUSED, Activity.TROUBLE):
        return
    worked = [seen.last_version_at or 0.0, learner.started_at or 0.0, _latest_rejection(seen)]
    idle = seen.at - max(worked)
    waits = seen.at - (seen.buffer.oldest_at or seen.at)
    if learner.activity is Activity.TRAINING:
        at_it = min(idle, waits)  # the batch cannot have begun before its games arrived
        if at_it > LONG_BATCH_SECONDS:
            yield Trouble(
                "long batch",
                "amber",
                f"The learner has been training on one batch for {duration(at_it)}.",
                "Lower learner.batch_games, or make the network smaller.",
            )
    elif learner.activity in (Activity.GAME_FIRST, Activity.MACHINE_BUSY, Activity.MEASURING, Activity.NO_MODEL):
        if min(idle, waits) > LONG_WAIT_SECONDS:  # until then, this is a normal state
            yield _long_wait(seen, min(idle, waits))
    elif min(idle, waits) > STALLED_SECONDS and waiting >= batch_wanted(seen):
        yield Trouble(
            "queue stalled",
            "red",
            f"{games_wait(waiting)}, and nothing has been learned for {duration(idle)} though the learner runs.",
            f"Look at {seen.run_dir}/logs; end the learner and start it again: nothing is lost by that.",
        )
    # A bot that ends hundreds of games a second leaves as many during a batch, so a few batches are not a long queue.
    long = max(LONG_QUEUE, LONG_QUEUE_BATCHES * seen.metrics.get("games", 0))
    if waiting > long and learner.activity in (Activity.RUNNING, Activity.TRAINING):
        yield Trouble(
            "queue long",
            "amber",
            f"{games_wait(waiting)}: the bot plays faster than the learner learns.",
            "Call agent.wait_for_learner() after a game, play in fewer processes, or raise learner.batch_decisions.",
        )


def _games(seen: RunSnapshot) -> Iterator[Trouble]:
    if "selfplay" in seen.learner.stats or seen.buffer.count:
        return
    times = [at for at in (seen.last_game_at, seen.last_move_at) if at is not None]
    if not times:
        started = seen.learner.started_at or seen.at
        if seen.learner.alive and seen.at - started > NO_GAMES_SECONDS:
            yield Trouble("no game yet", "amber", "No game has been recorded here yet.", "Start a bot with this run.")
        return
    quiet = seen.at - max(times)
    if seen.learner.alive and quiet > NO_GAMES_SECONDS:
        yield Trouble(
            "no games coming",
            "amber",
            f"No game has arrived for {duration(quiet)}.",
            "Check whether the bot still plays, and whether it uses this run directory.",
        )


def _workers(seen: RunSnapshot) -> Iterator[Trouble]:
    deaths = int(seen.learner.stats.get("worker_deaths") or 0)
    if deaths and seen.learner.alive:
        yield Trouble(
            "workers died",
            "amber",
            f"{deaths} worker(s) died or were ended at their limits; they were replaced.",
            "The log says what they were doing; the time and memory limits of a job are settings.",
        )


def _latest_rejection(seen: RunSnapshot) -> float:
    return seen.reasons[0].at if seen.reasons else 0.0


def batch_wanted(seen: RunSnapshot) -> int:
    """How many games the learner waits for before it trains."""
    return int(seen.learner.stats.get("batch_wanted") or 1)


def games_wait(count: int) -> str:
    """How many games wait, as the start of a sentence."""
    return f"{count:,} game waits" if count == 1 else f"{count:,} games wait"
