"""End a process before each of its steps towards the disk, in turn: random kills find most gaps, this finds each one.

A step is a file opened for writing, written, forced to disk, renamed or removed, or a statement of SQL. The process is
a fork of this one, which ends without flushing or cleaning up anything, as one that is killed does.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from tools.torture.checks import Report, games_told
from tools.torture.child import N_ACTIONS, STATE_DIM, Notebook

from understudy.agent import RLAgent
from understudy.experience.journal import orphans
from understudy.learner.loop import LearnerLoop
from understudy.ledger.connection import Ledger
from understudy.models.state import read_model
from understudy.run.lock import StopRequest
from understudy.rundir import RunDir
from understudy.settings import LearnerSettings, Settings

CRASHED = 9
_MOST_STEPS = 2000


def crash_at_every_step(report: Report, folder: Path, stride: int) -> None:
    """A learner, a bot and a bot that trains online, each ended at every step and followed by a sound learner."""
    template = folder / "template"
    in_fork(lambda: _prepare(template), template, None)
    bots: dict[str, Callable[[Path], None]] = {
        "learner": _learn,
        "bot": lambda root: _play(root, online=False),
        "online bot": lambda root: _play(root, online=True),
    }
    for who, work in bots.items():
        steps = crashes = 0
        wrong: list[str] = []
        for steps in range(0, _MOST_STEPS, stride):
            root = folder / f"{who} {steps}"
            shutil.copytree(template, root)
            code = in_fork(lambda work=work, root=root: work(root), root, steps)  # type: ignore[misc]
            found = _after_recovery(root) if code in (0, CRASHED) else [f"the process ended with {code}"]
            wrong += [f"step {steps}: {what}" for what in found]
            if not found:
                shutil.rmtree(root)
            if code == 0:
                break
            crashes += 1
        report.check(
            f"{who}: ended at each of its steps, and nothing is lost or learned twice", not wrong, wrong[:5] or ""
        )
        report.check(f"{who}: the last step was reached", steps < _MOST_STEPS - stride, f"{crashes} crashes")


def in_fork(work: Callable[[], None], root: Path, steps: int | None) -> int:
    """Do something in a separate process that ends before step number `steps`; returns its exit code."""
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            devnull = os.open(os.devnull, os.O_WRONLY)
            os.dup2(devnull, 1)
            if steps is not None:
                _count_steps(root, steps)
            work()
            code = 0
        except BaseException:  # noqa: BLE001 - nothing may get out of a fork
            traceback.print_exc()
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _count_steps(root: Path, steps: int) -> None:
    """Make this process end without a word before its step number `steps`."""
    left = steps
    place = str(root)

    def step() -> None:
        nonlocal left
        if left == 0:
            os._exit(CRASHED)
        left -= 1

    def audit(event: str, arguments: tuple[Any, ...]) -> None:
        if event in ("open", "os.rename", "os.remove", "os.mkdir") and str(arguments[0]).startswith(place):
            writing = event != "open" or (arguments[2] or 0) & (os.O_WRONLY | os.O_RDWR)
            if writing and not str(arguments[0]).endswith(".notes"):
                step()

    def counted(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            step()
            return function(*arguments)

        return call

    connect = sqlite3.connect

    def traced(*arguments: Any, **options: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(*arguments, **options)
        connection.set_trace_callback(lambda _statement: step())
        return connection

    sys.addaudithook(audit)
    os.fsync = counted(os.fsync)
    os.write = counted(os.write)
    sqlite3.connect = traced  # type: ignore[assignment]


def _prepare(root: Path) -> None:
    """A run as a learner may find it: two games that wait, one whose bot died, and a file that is no game."""
    _play(root, online=False)
    dead = _agent(root, online=False)
    _decide(dead, np.random.default_rng(1))
    dead.close()
    (RunDir.at(root).buffer / "game_20200101_000000_Defeat_bad.npz").write_bytes(b"no game")


def _agent(root: Path, *, online: bool) -> RLAgent:
    return RLAgent(STATE_DIM, N_ACTIONS, run_dir=root, hidden=(8,), online_training=online, seed=3)


def _decide(agent: RLAgent, rng: np.random.Generator) -> None:
    for _ in range(5):
        agent.select_action(rng.standard_normal(STATE_DIM))
        agent.observe_reward(1.0)


def _play(root: Path, *, online: bool) -> None:
    """Play two games, and note them beside the run before they end."""
    notes = Notebook(str(root.with_name(f"{root.name}.notes")))
    rng = np.random.default_rng(0)
    with _agent(root, online=online) as agent:
        for _ in range(2):
            _decide(agent, rng)
            assert agent._game is not None
            notes.write(f"ending {agent._game.journal.meta.id}")  # from here on its journal must do
            agent.end_episode("Victory")


def _learn(root: Path) -> None:
    request = StopRequest()
    request.stop(drain=True)
    quiet = Settings(learner=LearnerSettings(batch_games=2, verbose=False))
    LearnerLoop(RunDir.at(root), quiet).run(request)


def _after_recovery(root: Path) -> list[str]:
    """Let a sound learner finish, and return what is wrong then."""
    run = RunDir.at(root)
    for journal in run.live.glob("*.journal"):
        if journal.stat().st_size == 0:  # its owner may be about to lock it, for a minute
            os.utime(journal, (journal.stat().st_mtime - 61,) * 2)
    if code := in_fork(lambda: _learn(root), root, None):
        return [f"the learner after it ended with {code}"]
    notebooks = [root.with_name(f"{name}.notes") for name in ("template", root.name)]
    played = games_told(notebooks)[1]
    model = read_model(run.model)
    with Ledger(run.ledger) as ledger:
        rows, versions, head, problems = ledger.games(), ledger.versions(), ledger.head(), ledger.problems()
        archived = {name for _, name, _ in ledger.oldest_archived(-1)}
        rejected = {name for name, _ in ledger.rejections()}
    learned = {game.id for game, outcome, version in rows if outcome != "skipped" and version is not None}
    facts = {
        "lost games": played - learned,
        "games learned from, by the model and by the ledger": {model.counters["games"], len(rows), len(learned)}
        - {len(learned)},
        "versions whose games do not add up": {sum(v.games for v in versions)} - {len(learned)},
        "steps that do not add up": {model.counters["steps"], sum(v.steps for v in versions)}
        - {sum(game.steps for game, _, _ in rows)},
        "a model that is not the head": {model.version} - {head},
        "files left in the buffer": {path.name for path in run.buffer.glob("*.npz")},
        "journals left": set(orphans(run.live)),
        "archive and ledger that differ": {path.name for path in run.archive.glob("*.npz")} ^ archived,
        "the bad file not rejected": {"game_20200101_000000_Defeat_bad.npz"} - rejected,
        "a damaged ledger": set(problems),
        "losses repaired": {v.publisher for v in versions} & {"restored", "by hand", "adopted"},
    }
    return [f"{what}: {found}" for what, found in facts.items() if found]
