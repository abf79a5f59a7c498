"""The phase of a run: not started, running, waiting, paused, finished or failed, with a detail and since when.

A phase says what happens; `understudy.watch.health` says whether that is a problem.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from understudy.run.state import Activity, RunState
from understudy.watch.formats import duration
from understudy.watch.snapshot import RunSnapshot

NO_GAMES_SECONDS = 600.0
"""After this long without a move, no bot is expected to be playing."""

Word = Literal["not started", "running", "waiting", "paused", "finished", "failed"]


@dataclass(frozen=True, slots=True)
class Phase:
    """`detail` is what it waits for, who paused it, or how it failed; `since` is None if it is not known."""

    word: Word
    detail: str = ""
    since: float | None = None

    def sentence(self, now: float) -> str:
        """The phase as a heading: `Waiting for CPU, for 12s`."""
        text = f"{self.word.capitalize()} {self.detail}".strip()
        if self.since is None:
            return text
        ago = duration(now - self.since)
        return f"{text}, {ago} ago" if self.word in ("finished", "failed") else f"{text}, for {ago}"


def phase_of(seen: RunSnapshot) -> Phase:
    """The phase of a run, from one snapshot."""
    learner = seen.learner
    if not learner.seen:
        return _of_bot_alone(seen)
    state = RunState.parse(learner.state) or RunState(Activity.RUNNING)
    if not learner.alive:
        return Phase("finished" if state.activity is Activity.STOPPED else "failed", since=learner.heartbeat)
    if state.activity is Activity.PAUSED:
        return Phase("paused", f"by {state.detail}", learner.state_since)
    if (waits := _WAITS.get(state.activity)) is not None:
        return Phase("waiting", waits.format(state.detail), learner.state_since)
    if state.activity is Activity.RUNNING and _without_games(seen):
        return Phase("waiting", "for games" if seen.last_game_at else "for the first game", seen.last_game_at)
    return Phase("running", since=learner.started_at)


_WAITS = {
    Activity.NO_MODEL: "for a model (the bot makes the first one)",
    Activity.MACHINE_BUSY: "for {}",
    Activity.GAME_FIRST: "for the game, which needs the machine",
    Activity.TROUBLE: "after an error",
}


def _of_bot_alone(seen: RunSnapshot) -> Phase:
    """The phase of a run without a learner: there the bot learns from its own games."""
    if seen.last_move_at is not None and seen.at - seen.last_move_at < NO_GAMES_SECONDS:  # else the bot died in a game
        return Phase("running")
    return Phase("not started") if seen.last_game_at is None else Phase("finished", since=seen.last_game_at)


def _without_games(seen: RunSnapshot) -> bool:
    """Whether the bot plays no game at the moment and all games are learned from."""
    return "selfplay" not in seen.learner.stats and not seen.buffer.count and not seen.in_progress
