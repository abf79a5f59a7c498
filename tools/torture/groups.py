"""What reaches more than one process: a kill of the whole group, a learner killed again and again, a wrong clock."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

from tools.torture.checks import Report
from tools.torture.child import N_ACTIONS, STATE_DIM
from tools.torture.processes import CHILD, Process, end_all, environment, understudy, wait_until
from tools.torture.storms import bots

from understudy.ledger.connection import Ledger
from understudy.run.status import confirm_heartbeat, is_alive, read_status
from understudy.rundir import RunDir

PARTS = ("groups", "deaths", "skew")
_HOST = f"""
import sys, time
import numpy as np
from understudy import BackgroundParallelLearner, RLAgent
root, notebook = sys.argv[1:]
with BackgroundParallelLearner(run_dir=root, poll_seconds=0.2, min_batch_games=1):
    agent = RLAgent({STATE_DIM}, {N_ACTIONS}, run_dir=root, online_training=False)
    while True:
        for _ in range(20):
            agent.select_action(np.random.rand({STATE_DIM}).astype(np.float32))
            agent.observe_reward(0.1)
        stats = agent.end_episode("Victory")
        with open(notebook, "a") as file:
            print(stats["episode_id"], file=file, flush=True)
        time.sleep(0.02)
"""


def run(part: str, report: Report, folder: Path, rng: random.Random, kills: int) -> None:
    """Run one of PARTS."""
    if part == "groups":
        report.begin(part, "kill -9 of a whole process group, bot and learner together")
        kill_groups(report, folder, rng, max(kills // 30, 2))
    elif part == "deaths":
        report.begin(part, "kill -9 of a bot's learner, again and again")
        kill_learner_again_and_again(report, folder)
    else:
        report.begin(part, "the clocks of two machines differ by an hour, either way")
        for name, skew in (("ahead", 3600.0), ("behind", -3600.0)):
            (folder / name).mkdir()
            clock_skew(report, folder / name, skew)


class _Host:
    """A bot with its learner, in a separate process group."""

    def __init__(self, run: RunDir, folder: Path) -> None:
        self.notebook = folder / "host.notes"
        self._said = folder / "host.out"
        with self._said.open("a") as out:
            command = [sys.executable, "-c", _HOST, str(run.root), str(self.notebook)]
            self._process = subprocess.Popen(
                command, stdout=out, stderr=out, env=environment(), start_new_session=True, cwd=folder
            )

    def kill_group(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    @property
    def games(self) -> list[str]:
        return self.notebook.read_text().split() if self.notebook.exists() else []

    @property
    def said(self) -> str:
        return self._said.read_text()


def kill_groups(report: Report, folder: Path, rng: random.Random, kills: int) -> None:
    """Bot and learner die together, again and again; every game that was finished is learned from once."""
    run = RunDir.at(folder / "run")
    learners = set()
    for _ in range(kills):
        host = _Host(run, folder)
        before = len(host.games)
        wait_until(lambda host=host, before=before: len(host.games) > before, 60)  # type: ignore[misc]
        time.sleep(rng.uniform(0.0, 2.0))
        learners.add(read_status(run.status).get("pid"))
        host.kill_group()
    report.check("no learner outlives its group", wait_until(lambda: not any(map(_lives, learners)), 15), learners)
    report.equal("what is left is learned", understudy("learn", str(run.root), "--once", folder=folder)[0], 0)
    with Ledger(run.ledger) as ledger:
        missing = set(host.games) - ledger.known(host.games)
        report.equal("games lost", sorted(missing), [])
    report.equal("games that wait", len(list(run.buffer.glob("*.npz"))), 0)
    report.fact("games finished under kills", len(host.games))


def kill_learner_again_and_again(report: Report, folder: Path) -> None:
    """The bot's terminal reports every death; after six in a row the learner is given up, and no game is lost."""
    run = RunDir.at(folder / "run")
    host = _Host(run, folder)
    deaths, last = 0, None
    try:
        while deaths < 6:
            wait_until(lambda last=last: read_status(run.status).get("pid") not in (None, last), 60)  # type: ignore[misc]
            last = read_status(run.status)["pid"]
            os.kill(last, signal.SIGKILL)
            deaths += 1
        report.check("it is given up", wait_until(lambda: "6 times in a row" in host.said, 30))
        report.equal("restarts that the terminal reports", host.said.count("It restarts in"), 5)
        played = len(host.games)
        report.check("the bot plays on", wait_until(lambda: len(host.games) > played, 30))
    finally:
        host.kill_group()
    code, said, _ = understudy("doctor", str(run.root), folder=folder)
    report.check("doctor says that the learner died", code == 1 and "died" in said, said)
    report.equal("a new learner learns the rest", understudy("learn", str(run.root), "--once", folder=folder)[0], 0)
    with Ledger(run.ledger) as ledger:
        report.equal("games lost", sorted(set(host.games) - ledger.known(host.games)), [])


def clock_skew(report: Report, folder: Path, skew: float) -> None:
    """The learner's clock is wrong, as on another machine: it is alive for everybody, and no game is too old."""
    run, clock = RunDir.at(folder / "run"), folder / "clock"
    clock.write_text(str(skew))
    players, _ = bots(run, folder, 1)
    flags = ["--learner.max-file-age", "3600", "--learner.min-batch-games", "1"]
    learner = Process("learner", folder, [str(CHILD), "learner", str(clock), "learn", str(run.root), *flags])
    try:
        players[0].start()
        wait_until(run.model.exists, 30)
        learner.start()
        report.check("games are learned", wait_until(lambda: _learned(run) >= 5, 60), _learned(run))
        confirm_heartbeat(run.status)
        report.check("its heartbeat counts", is_alive(read_status(run.status)))
        said = understudy("status", str(run.root), folder=folder)[1]
        report.check("status sees it run", "state=running" in said or "state=waiting" in said, said.strip()[:60])
        report.check("doctor reports the clocks", "clock is" in understudy("doctor", str(run.root), folder=folder)[1])
        learner.kill()
        time.sleep(1.0)
        report.check("dead it is not taken for alive", wait_until(lambda: not is_alive(read_status(run.status)), 20))
    finally:
        end_all([*players, learner])
    with Ledger(run.ledger) as ledger:
        report.equal("games skipped as too old", ledger.games_by_outcome()["skipped"], 0)


def _lives(pid: object) -> bool:
    if not isinstance(pid, int):
        return False
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _learned(run: RunDir) -> int:
    if not run.ledger.exists():
        return 0
    with Ledger(run.ledger, read_only=True) as ledger:
        return ledger.games_by_outcome()["learned"]
