"""Kill `run_with_training.py` with SIGKILL at random moments, start it again each time, and look for what is lost.

    python tools/kill_training_run.py [--kills 10] [--seed 0]

After every kill: what each running game had decided is in its journal. In the end: every one of those decisions but the
last of its game was learned from, no game is missing or there twice, no version of the model went back, and every
learner that lost its parent has ended. Needs POSIX.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from understudy.experience.episode import read_episode
from understudy.games.zerg.history import FILE_NAME, GameLog
from understudy.models.state import read_model
from understudy.run.status import read_status
from understudy.rundir import RunDir
from understudy.settings import StorageSettings

ROOT = Path(__file__).resolve().parents[1]
_END_RECORD = b'"last_reward"'


def main() -> int:
    """Kill, restart and check; 0 when nothing was lost."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    chance = random.Random(options.seed)
    with tempfile.TemporaryDirectory(prefix="understudy-kills-", ignore_cleanup_errors=True) as folder:
        run = RunDir.at(folder)
        problems = storm(run, chance, options.kills)
    for problem in problems:
        print(f"LOST: {problem}")
    print("FAILED" if problems else "OK: nothing was lost")
    return int(bool(problems))


def storm(run: RunDir, chance: random.Random, kills: int) -> list[str]:
    """What was lost, in words."""
    problems: list[str] = []
    promised: dict[str, int] = {}  # decisions in the journal of each game when its process was killed
    version = 0
    for number in range(kills):
        process = start(run, "--games", "0")
        if chance.random() < 0.8:  # else somewhere in its start
            _wait_for_decisions(run, process)
        time.sleep(chance.uniform(0.0, 6.0))
        process.kill()
        process.wait()
        left = journals(run)
        promised |= left
        learner = read_status(run.status).get("pid")
        now = read_model(run.model).version if run.model.exists() else 0
        print(f"kill {number + 1}: {_games(run)} games, version {now}, cut {left}", flush=True)
        if now < version:
            problems.append(f"the model went back from version {version} to {now}")
        version = now
        if not _ends(learner):
            problems.append(f"the learner {learner} outlived its parent")
    code = start(run, "--games", "2").wait()
    if code:
        problems.append(f"the last start ended with code {code}")
    return problems + missing(run, promised)


def start(run: RunDir, *flags: str) -> subprocess.Popen[bytes]:
    """A run of short games that only the flags end."""
    short = ["--difficulty", "Easy", "--time-limit", "200", "--practice", "1", "--game", "proving-ground"]
    command = [sys.executable, str(ROOT / "run_with_training.py"), "--run-dir", str(run.root), *short, *flags]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment)


_RECORD_BYTES = 4 + 4 + 8 + 8 + 8 + 8 + 50 * 4 + 1  # of a decision with 50 features and 6 actions


def journals(run: RunDir) -> dict[str, int]:
    """Games in progress: their ids and numbers of recorded decisions."""
    found = {}
    for path in run.live.glob("*.journal"):
        head, _, body = path.read_bytes().partition(b"\n")
        if head:
            end = body.rfind(_END_RECORD)
            records = body if end < 0 else body[: body.rfind(b'{"meta"')]
            found[path.stem] = len(records) // _RECORD_BYTES
    return found


def missing(run: RunDir, promised: dict[str, int]) -> list[str]:
    """What the run does not have, though it was on file when a process was killed."""
    problems = []
    episodes = [read_episode(path, StorageSettings()) for path in run.archive.glob("*.npz")]
    learned = {episode.meta.id: len(episode) for episode in episodes}
    for game, decisions in promised.items():
        if learned.get(game, 0) < decisions - 1 and decisions > 2:  # the reward of a game's last one is unknown
            problems.append(f"{decisions} decisions of game {game} were on file, {learned.get(game, 0)} were learned")
    if left := len(list(run.buffer.glob("*.npz"))) + len(list(run.live.glob("*.journal"))):
        problems.append(f"{left} games were not learned from")
    numbers = [game.number for game in GameLog(run.root).games]
    if numbers != list(range(len(numbers))):
        problems.append(f"{FILE_NAME} has the games {numbers}")
    finished = {e.meta.extra["number"] for e in episodes if "number" in e.meta.extra and not e.meta.truncated}
    if finished - set(numbers):
        problems.append(f"the finished games {sorted(finished - set(numbers))} are not in {FILE_NAME}")
    return problems


def _wait_for_decisions(run: RunDir, process: subprocess.Popen[bytes]) -> None:
    """Until the run plays; a kill before that has nothing to lose."""
    before = _games(run)
    while process.poll() is None and _games(run) == before and not any(journals(run).values()):
        time.sleep(0.02)


def _games(run: RunDir) -> int:
    return len(GameLog(run.root).games)


def _ends(learner: object) -> bool:
    """Whether a process of this id is gone within a minute."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            os.kill(int(str(learner)), 0)
        except (ProcessLookupError, ValueError):
            return True
        time.sleep(0.1)
    return False


if __name__ == "__main__":
    sys.exit(main())
