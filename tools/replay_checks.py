"""Checks of replay analysis and background work that take minutes: python tools/replay_checks.py FOLDER [CHECK ...]

FOLDER holds StarCraft II replays. Each check prints what it measured and fails the run if its promise does not hold.

speed      the median time a replay on one worker, and one worker against two
kills      200 replays while workers are killed 50 times: the file must be that of an undisturbed run
mutants    300 damaged replays: nothing hangs, the process goes on, memory is bounded
interrupt  Ctrl-C while a learner trains and analyses: how long it takes to end, and that no result is lost
hog        a learner, a game loop and a CPU hog that comes and goes: workers go to zero and come back
"""

from __future__ import annotations

import os
import random
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from understudy.agent import RLAgent
from understudy.games.zerg.replays.jobs import ReplayJobs
from understudy.games.zerg.replays.ledger import ReplayTable
from understudy.games.zerg.replays.loading import parse
from understudy.games.zerg.replays.milestones import observe
from understudy.games.zerg.replays.settings import ReplaySettings
from understudy.jobs.dispatch import Dispatcher
from understudy.learner.process import BackgroundParallelLearner
from understudy.ledger.connection import Ledger
from understudy.machine.resources import Sensor
from understudy.rundir import RunDir
from understudy.settings import LearnerSettings, Settings

_ORDINARY_BYTES = 300_000  # one replay of the collection takes as long as thirty others
_MANY = 400
_ROUNDS = 3
_HOG = "import os; os.nice(19)\nwhile True: pass"


def main(arguments: list[str]) -> int:
    """Run the checks named after the folder, or all of them."""
    if not arguments:
        sys.exit(__doc__)
    replays = sorted(Path(arguments[0]).rglob("*.SC2Replay"))
    checks: dict[str, Callable[[list[Path], Path], bool]] = {
        "speed": speed,
        "kills": kills,
        "mutants": mutants,
        "interrupt": interrupt,
        "hog": hog,
    }
    well = True
    for name in arguments[1:] or checks:
        with tempfile.TemporaryDirectory() as folder:
            print(f"== {name}", flush=True)
            well &= checks[name](replays, Path(folder))
    print("All promises hold." if well else "A promise does not hold.")
    return 0 if well else 1


def speed(replays: list[Path], scratch: Path) -> bool:
    """Time of one replay on one worker, and how long many take with one worker and with two, from start to file.

    Both are by the clock. On a machine that others use, the shortest of several rounds is nearest to the truth.
    """
    for path in replays:
        observe(parse(path.read_bytes()))
    folder = _variants(replays, scratch / "replays", _MANY)
    medians: list[float] = []
    walls: dict[int, list[float]] = {1: [], 2: []}
    for attempt in range(_ROUNDS):
        with tempfile.TemporaryDirectory() as once:
            _analyse(_copied(replays, Path(once, "all")), run := RunDir.at(Path(once, "run")), 1)
            with Ledger(run.ledger) as ledger:
                medians.append(1000 * statistics.median(row[5] for row in ReplayTable(ledger).all()))
        for workers in (1, 2):
            began = time.perf_counter()
            _analyse(folder, RunDir.at(scratch / f"run{workers}-{attempt}"), workers)
            walls[workers].append(time.perf_counter() - began)
        ratio = walls[1][-1] / walls[2][-1]
        print(
            f"round {attempt + 1}: median {medians[-1]:.0f} ms a replay ({len(replays)} on one worker);"
            f" {_MANY} replays: {walls[1][-1]:.1f} s with one worker, {walls[2][-1]:.1f} s with two, {ratio:.2f} times;"
            f" load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} CPUs",
            flush=True,
        )
    median, ratio = min(medians), min(walls[1]) / min(walls[2])
    print(f"shortest: median {median:.0f} ms, two workers {ratio:.2f} times one")
    return median <= 80 and ratio >= 1.7


def kills(replays: list[Path], scratch: Path) -> bool:
    """Kill workers at random while they work; compare with an undisturbed run."""
    folder = _variants(replays, scratch / "replays", 200)
    calm, disturbed = RunDir.at(scratch / "calm"), RunDir.at(scratch / "disturbed")
    _analyse(folder, calm, 2)
    chance = random.Random(1)
    killed = 0

    def disturb(dispatcher: Dispatcher) -> None:
        nonlocal killed
        if killed < 50 and dispatcher.workers.running and chance.random() < 0.3:
            os.kill(chance.choice(dispatcher.workers.pids), signal.SIGKILL)
            killed += 1

    _analyse(folder, disturbed, 2, disturb)
    with Ledger(disturbed.ledger) as ledger:
        outcomes, failures = ReplayTable(ledger).by_outcome(), ledger.failures_by_kind()
    same = calm.build_orders.read_bytes() == disturbed.build_orders.read_bytes()
    print(f"{killed} kills, {failures.get('analyse', 0)} of them over a replay; {outcomes}; files identical: {same}")
    return same and killed == 50 and sum(outcomes.values()) == 200


def mutants(replays: list[Path], scratch: Path) -> bool:
    """Damage replays in every way that comes to mind and analyse them."""
    folder = scratch / "replays"
    folder.mkdir()
    chance = random.Random(2)
    originals = [path.read_bytes() for path in replays if path.stat().st_size < _ORDINARY_BYTES]
    for i in range(300):
        (folder / f"{i:03}.SC2Replay").write_bytes(_damaged(chance, bytearray(chance.choice(originals))))
    run = RunDir.at(scratch / "run")
    _analyse(folder, run, 2)
    with Ledger(run.ledger) as ledger:
        outcomes, failures = ReplayTable(ledger).by_outcome(), ledger.failures_by_kind()
    largest = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"{outcomes}, {failures.get('analyse', 0)} failures; largest worker {largest} MB, this process {own} MB")
    return sum(outcomes.values()) == 300 and largest < 1200


def interrupt(replays: list[Path], scratch: Path) -> bool:
    """Ctrl-C in the midst of a long batch, with both workers at a replay; then the rest, each replay once."""
    folder = _variants(replays, scratch / "replays", 300)
    run = RunDir.at(scratch / "run")
    agent = RLAgent(4, ("A", "B"), run_dir=run.root, online_training=False)
    agent.select_action([0.0] * 4)
    agent.end_episode("Victory")
    agent.close()
    command = [sys.executable, "-m", "understudy", "learn", str(run.root), "--replays", "--learner.verbose", "no"]
    command += ["--replays.directory", str(folder), "--resources.cpu-threshold", "100", "--learner.max-workers", "3"]
    command += ["--learner.batch-seconds", "8", "--training.epochs", "100000000", "--training.target-kl", "0"]
    slowest = 0.0
    for moment in (6.0, 9.0, 15.0):  # into the batch, just before its end, and after it
        process = subprocess.Popen(command)
        time.sleep(moment)
        process.send_signal(signal.SIGINT)
        began = time.perf_counter()
        process.wait()
        seconds = time.perf_counter() - began
        slowest = max(slowest, seconds)
        with Ledger(run.ledger) as ledger:
            analysed, learned = ReplayTable(ledger).by_outcome()["analysed"], ledger.games_by_outcome()["learned"]
        print(f"ended {seconds:.1f} s after Ctrl-C, code {process.returncode}; {analysed} replays, {learned} games")
    subprocess.run([*command, "--once"], check=True)
    with Ledger(run.ledger) as ledger:
        outcomes, failures = ReplayTable(ledger).by_outcome(), ledger.failures_by_kind()
        learned = ledger.games_by_outcome()["learned"]
    print(f"after the rest: {outcomes}, {failures or 'no'} failures, {learned} games learned from")
    return slowest <= 5 and outcomes["analysed"] == 300 and learned == 1


def hog(replays: list[Path], scratch: Path) -> bool:
    """Watch a learner's workers and a game loop's steps while a CPU hog comes and goes.

    The hog is of low priority, as the learner is: what an equal would do to the game is not ours to say.
    """
    folder = _variants(replays, scratch / "replays", 3000)
    run = RunDir.at(scratch / "run")
    _wait_for_quiet()
    idle = _p99(seconds=5.0)
    learner = BackgroundParallelLearner(
        run_dir=run.root, enable_replay_analysis=True, verbose=False, max_workers=2,
        settings=Settings(games={"replays": ReplaySettings(directory=str(folder))}),
    )  # fmt: skip
    seen: dict[str, list[int]] = {}
    steps = {}
    print(f"{'alone':>13}: p99 of a step {idle} ms", flush=True)
    with learner:
        for phase, hogs, seconds in (("before", 0, 8), ("with the hog", os.cpu_count() or 1, 8), ("after", 0, 15)):
            processes = [subprocess.Popen([sys.executable, "-c", _HOG]) for _ in range(hogs)]
            active: list[int] = []
            watching = threading.Event()
            watcher = threading.Thread(target=_watch, args=(learner, active, watching))
            watcher.start()
            steps[phase] = _p99(seconds)
            watching.set()
            watcher.join()
            state, load = learner.get_stats()["state"], learner.get_stats()["resources"]
            for process in processes:
                process.kill()
                process.wait()
            seen[phase] = active
            print(
                f"{phase:>13}: p99 of a step {steps[phase]} ms, {steps[phase] / idle:.2f} times; workers {active};"
                f" {state}, CPU {load['cpu']:.0f} %",
                flush=True,
            )
    stats = learner.get_stats()
    print(f"{stats['replays_analyzed']} replays analysed meanwhile")
    gone = not any(seen["with the hog"][4:])
    back = max(seen["before"]) == max(seen["after"]) == 2
    print(f"workers to zero: {gone}; back to two: {back}")
    return gone and back and max(steps.values()) <= 1.5 * idle


def _analyse(folder: Path, run: RunDir, workers: int, each_turn: Callable[[Dispatcher], None] | None = None) -> None:
    run.create()
    settings = Settings(learner=LearnerSettings(max_workers=workers), games={"replays": ReplaySettings()})
    with Ledger(run.ledger) as ledger:
        replays = ReplayJobs(folder, run, ledger, settings.replays, at_once=True)
        dispatcher = Dispatcher(run, settings, [replays], governed=False)
        try:
            dispatcher.turn(0.0)
            while dispatcher.busy:
                dispatcher.turn(0.05)
                if each_turn is not None:
                    each_turn(dispatcher)
        finally:
            dispatcher.close()


def _variants(replays: list[Path], folder: Path, count: int) -> Path:
    """`count` different files from a few: what follows the archive's end changes its hash and nothing else."""
    folder.mkdir()
    ordinary = [path.read_bytes() for path in replays if path.stat().st_size < _ORDINARY_BYTES]
    for i in range(count):
        (folder / f"{i:04}.SC2Replay").write_bytes(ordinary[i % len(ordinary)] + i.to_bytes(4, "big"))
    return folder


def _copied(replays: list[Path], folder: Path) -> Path:
    """Copies of the replays in a separate folder."""
    folder.mkdir()
    for path in replays:
        shutil.copy2(path, folder)
    return folder


def _damaged(chance: random.Random, data: bytearray) -> bytes:
    way = chance.randrange(4)
    if way == 0:
        return bytes(data[: chance.randrange(1, len(data))])
    if way == 1:
        start = chance.randrange(len(data))
        data[start : start + chance.randrange(1, 2000)] = chance.randbytes(chance.randrange(1, 2000))
        return bytes(data)
    where = range(1024, 1200) if way == 2 else range(len(data))  # the archive's own header, or anywhere
    for _ in range(chance.choice((1, 3, 10, 100))):
        data[chance.choice(where)] = chance.randrange(256)
    return bytes(data)


def _p99(seconds: float) -> float:
    """The 99th percentile, in ms, of a step of some 2 ms of work, about sixty times a second."""
    steps = []
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        began = time.perf_counter()
        sum(range(100_000))
        steps.append(time.perf_counter() - began)
        time.sleep(1 / 67)
    return round(1000 * statistics.quantiles(steps, n=100)[98], 2)


def _wait_for_quiet(most: float = 300.0) -> None:
    """Until others leave the machine alone for three seconds, or it has taken too long."""
    sensor, quiet, until = Sensor(), 0, time.monotonic() + most
    while quiet < 3 and time.monotonic() < until:
        time.sleep(1.0)
        cpu = sensor.read([]).cpu
        quiet = quiet + 1 if cpu is not None and cpu < 10 else 0
    print("the machine is idle" if quiet >= 3 else "others use the machine: this measures them, too", flush=True)


def _watch(learner: BackgroundParallelLearner, active: list[int], end: threading.Event) -> None:
    while not end.wait(1.0):
        active.append(learner.get_stats()["active_workers"])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
