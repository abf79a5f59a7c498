"""Which side plays the next game of a run with a gate: the one on stage, or the one with the smaller share."""

from __future__ import annotations

import math
import random
import sqlite3
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from understudy.ledger import gate as table
from understudy.models.contest import Contest, Stage, block_size
from understudy.models.gate_blocks import block_for
from understudy.models.gate_decisions import with_contest
from understudy.models.gate_state import GateState
from understudy.settings import GateSettings

Role = Literal["line", "champion", "control", "challenger"]
_CAREFUL_BLOCK = 20  # after harm, the line plays one game in this many at first
_CAREFUL_COMPARISONS = 3
_RECENT, _BEFORE, _WORSE = 8, 60, 1.0  # recent games, earlier games, standard errors: when the line is suspicious
_LINE, _CONTROL = 16, 32  # the last games of each, of which those of the line may be worse by as much
REST = 2 / 3  # of the games that the champion plays then, beside its games as control


@dataclass(frozen=True, slots=True)
class Assignment:
    """Who plays a game: a role, and a version (None for the newest of the line)."""

    role: Role
    version: int | None = None


def assigned(
    db: sqlite3.Connection, state: GateState, head: int, game: str, opponent: str, chance: random.Random
) -> tuple[Assignment, GateState]:
    """Assign one game against this opponent; returns the assignment, and the state after it."""
    on_stage = Assignment("line") if state.stage == "line" else Assignment("champion", state.champion)
    state = with_contest(state, head)
    if state.contest is None or (state.stage == "line" and head == state.line_from):
        return on_stage, state
    line, control = ([], []) if state.stage != "line" else last_games(lambda *asked: db.execute(*asked).fetchall())
    worse = went_worse(line)
    if is_behind(line, control) and chance.random() < REST:
        table.add_game(db, game, table.NO_BLOCK, "control", state.champion)
        return Assignment("control", state.champion), state
    size = games_of_block(state.settings, state.stage, state.contest, worse)
    block = block_for(db, state.number, opponent, size, chance)
    part = on_stage
    if block is not None and block.assigned == block.place:
        small = state.stage == "line"
        part = Assignment("control", state.champion) if small else Assignment("challenger", state.challenger)
    number = table.NO_BLOCK if block is None else block.number
    table.add_game(db, game, number, part.role, head if part.version is None else part.version)
    return part, state


def games_of_block(settings: GateSettings, stage: Stage, contest: Contest, worse: bool) -> int:
    """Games of the next block, one of which goes to the smaller share. `worse` is the result of `went_worse`."""
    if stage == "line":
        return 2 if contest.suspected or worse else block_size(settings.control_share)
    if settings.mode == "strict" or (contest.seen >= _CAREFUL_COMPARISONS and contest.mean >= -settings.margin):
        return block_size(settings.challenger_share)
    return _CAREFUL_BLOCK


def last_games(query: Callable[[str, tuple[str, int]], list[Any]]) -> tuple[list[float], list[float]]:
    """What the last games of the line and of its control were worth, newest first."""
    # In the order of assignment, because a clock may be set back.
    newest = "SELECT score, reward FROM gate_games WHERE role = ? AND finished IS NOT NULL ORDER BY rowid DESC LIMIT ?"
    line = query(newest, ("line", _RECENT + _BEFORE))
    values = _values([*line, *query(newest, ("control", _CONTROL))])
    return values[: len(line)], values[len(line) :]


def went_worse(values: Sequence[float]) -> bool:
    """Whether the line's recent games, newest first, went much worse than those before; then the control plays more.

    This only decides how games are assigned, before they are played; the verdict does not depend on it.
    """
    recent, before = values[:_RECENT], values[_RECENT : _RECENT + _BEFORE]
    return len(before) >= _RECENT and _is_lower(recent, before)


def is_behind(line: Sequence[float], control: Sequence[float]) -> bool:
    """Whether the line's last games, newest first, went worse than the control's: then the champion plays most games.

    This, too, decides only how games are shared out. A line that gets worse slowly would otherwise play, and lose, many
    games until that is shown.
    """
    return min(len(line), len(control)) >= _RECENT and _is_lower(line[:_LINE], control[:_CONTROL])


def _is_lower(ones: Sequence[float], others: Sequence[float]) -> bool:
    error = statistics.pstdev([*ones, *others]) * (1 / len(ones) + 1 / len(others)) ** 0.5
    return bool(statistics.fmean(ones) < statistics.fmean(others) - _WORSE * error)


def _values(games: Sequence[tuple[float | None, float]]) -> list[float]:
    """One value for each game, from (score, reward): the scores if all games have one, else the rewards."""
    if all(score is not None for score, _ in games):
        return [score for score, _ in games if score is not None]
    worst = min((reward for _, reward in games if math.isfinite(reward)), default=0.0)
    return [max(reward, worst) for _, reward in games]  # a broken game has a reward of minus infinity
