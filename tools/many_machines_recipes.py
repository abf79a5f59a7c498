"""Tries the three recipes of docs/many-machines.md on this machine, with the commands that are there.

    python tools/many_machines_recipes.py [ladder] [pcs] [ray]

`ladder` and `pcs` use a folder as the bucket, or with --s3 an S3 server on this machine (moto), or with --azure an
emulator of Azure (azurite-blob, which must be on the PATH), or with --google one of Google Cloud Storage (see
tests/remote/storage_testbench.py). `ray` starts a cluster of three nodes of one CPU each with `ray start`, and stops
the processes that it has started.
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from remote.azurite import COMMAND as AZURITE
from remote.azurite import CONTAINER, azurite
from remote.s3_server import BUCKET, environment, free_port, s3_server
from remote.storage_testbench import BUCKET as GOOGLE_BUCKET
from remote.storage_testbench import TESTBENCH, google
from understudy.models.store import ModelStore
from understudy.remote.bucket import Bucket
from understudy.remote.head import read_head
from understudy.remote.ranges import size_of
from understudy.rundir import RunDir

ROOT = Path(__file__).resolve().parents[1]
BOT = """
import random, sys
from understudy import RLAgent
with RLAgent(4, ("LEFT", "RIGHT"), run_dir=sys.argv[1], online_training=False) as agent:
    for _ in range(int(sys.argv[2])):
        for _ in range(30):
            agent.select_action([random.random() for _ in range(4)])
            agent.observe_reward(random.random())
        agent.end_episode(random.choice(("Victory", "Defeat")))
"""
NODES = "import ray, sys; ray.init(sys.argv[1], log_to_driver=False); print(sum(n['Alive'] for n in ray.nodes()))"
_MORE_SECONDS = 5.0  # of self-play after the last change of the cluster
Environment = Mapping[str, str]


def say(text: str) -> None:
    """Print a line."""
    print(f"[RECIPE] {text}", flush=True)


def command(*arguments: str) -> list[str]:
    """A command line of Understudy."""
    return [sys.executable, "-m", "understudy", *arguments]


def run(environment: Environment, *arguments: str, seconds: float = 180) -> str:
    """A command of Understudy that must end well; its output."""
    say(f"understudy {' '.join(arguments)}")
    done = subprocess.run(
        command(*arguments), env=environment, capture_output=True, text=True, timeout=seconds, check=False
    )
    assert done.returncode == 0, f"{arguments} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}"
    return done.stdout


@contextmanager
def background(environment: Environment, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A command of Understudy that runs until the block ends; Ctrl-C then ends it."""
    say(f"understudy {' '.join(arguments)} &")
    with subprocess.Popen(
        command(*arguments), env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        try:
            yield process
        finally:
            process.send_signal(signal.SIGINT)
            try:
                output, _ = process.communicate(timeout=60)
            except subprocess.TimeoutExpired:
                process.kill()
                output, _ = process.communicate()
            print("\n".join(output.strip().splitlines()[-4:]), flush=True)


def until(what: str, holds: Callable[[], bool], seconds: float = 120) -> None:
    """Wait for it; AssertionError if it takes too long."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, f"not within {seconds:g} s: {what}"
        time.sleep(0.5)
    say(f"OK: {what}")


def version(folder: Path) -> int:
    """The newest version of a run; 0 before the first."""
    place = RunDir.at(folder)
    return ModelStore(place.model, place.ledger).load().version if place.model.exists() else 0


def accounted(url: str) -> int:
    """How many games of the bucket are in its model, or will never be."""
    head = read_head(Bucket(url))
    return 0 if head is None else sum(size_of(consumed.ranges) for consumed in head.consumed.values())


def ladder(folder: Path, url: str, environment: Environment) -> None:
    """A ladder bot that synchronises after its games, and a PC at home that learns."""
    bot, home = folder / "ladder", folder / "home"
    fast = ("--remote.poll-seconds", "0.5", "--remote.push-seconds", "1")
    play = [sys.executable, "-c", BOT, str(bot), "10"]
    subprocess.run(play, env=environment, check=True, timeout=60)
    run(environment, "sync", str(bot), url, "--once")
    with ExitStack() as stack:
        stack.enter_context(background(environment, "learn", str(home), "--new"))
        stack.enter_context(background(environment, "sync", str(home), url, *fast))
        until("the home PC has learned all 10 games of the ladder bot", lambda: accounted(url) == 10)
        subprocess.run(play, env=environment, check=True, timeout=60)
        run(environment, "sync", str(bot), url, "--once")
        until("and the next 10", lambda: accounted(url) == 20)
        run(environment, "sync", str(bot), url, "--once")
        assert version(bot) > 1, "the ladder bot has no new model"
    say(f"OK: the ladder bot plays version {version(bot)}")


def pcs(folder: Path, url: str, environment: Environment) -> None:
    """Three PCs: two play, the third plays and learns."""
    fast = ("--remote.poll-seconds", "0.5", "--remote.push-seconds", "1")
    run(environment, "work", url, "--game", "tictactoe", "--games", "20", "--run-dir", str(folder / "pc1"), *fast)
    with ExitStack() as stack:
        stack.enter_context(background(environment, "work", url, "--learn", "--run-dir", str(folder / "pc3"), *fast))
        run(environment, "work", url, "--games", "60", "--run-dir", str(folder / "pc2"), *fast)
        until("100 games of all machines are learned", lambda: accounted(url) >= 100)
        until("the second PC gets a new model", lambda: _synced(environment, folder / "pc2", url) > 1)
    print(run(environment, "machines", url), end="")


def _synced(environment: Environment, folder: Path, url: str) -> int:
    run(environment, "sync", str(folder), url, "--once")
    return version(folder)


def ray(folder: Path, _: str, environment: Environment) -> None:
    """A cluster of three nodes; self-play on all of them, one leaves, and a search for settings."""
    program, address = str(Path(sys.executable).with_name("ray")), f"127.0.0.1:{free_port()}"
    nodes = {**environment, "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    common = ["--node-ip-address=127.0.0.1", "--num-cpus=1", "--disable-usage-stats", "--block"]
    common += ["--min-worker-port=0", "--max-worker-port=0"]  # three nodes share the ports of this machine
    head = ["start", "--head", f"--port={address.partition(':')[2]}", "--include-dashboard=false", *common]
    join = [program, "start", f"--address={address}", *common]
    status = RunDir.at(folder / "run").status

    def workers() -> int:
        return len(json.loads(status.read_text())["workers"]) if status.exists() else 0

    with ExitStack() as stack:
        stack.enter_context(_node([program, *head], nodes))
        until("the head node runs", lambda: _alive(nodes, address) == 1)
        others = [stack.enter_context(_node(join, nodes)) for _ in range(2)]
        until("two more nodes have joined", lambda: _alive(nodes, address) == 3)
        selfplay = ("selfplay", "tictactoe", "--run-dir", str(folder / "run"), "--backend", "ray", "--workers", "auto")
        with background(nodes, *selfplay, "--address", address) as process:
            until("workers play on three nodes", lambda: workers() == 3)
            others[0].terminate()
            until("two are left when a node leaves", lambda: workers() == 2)
            stack.enter_context(_node(join, nodes))
            until("three play again when one joins", lambda: workers() == 3)
            time.sleep(_MORE_SECONDS)
            process.kill()
        status.unlink()
        with background(nodes, *selfplay, "--address", address):
            until("three play again after the learner was killed and started again", lambda: workers() == 3)
            time.sleep(_MORE_SECONDS)
        say(f"OK: version {version(folder / 'run')} is published")
        tune = ("tune", str(folder / "tuned"), "--env", "CartPole-v1", "--trials", "4", "--slices", "3")
        more = ("--decisions", "5000", "--games", "20", "--judge-games", "100", "--address", address)
        out = run(nodes, *tune, *more, seconds=400)
        print(out, end="")
        assert "4 trials." in out


def _alive(environment: Environment, address: str) -> int:
    """How many nodes a Ray cluster has; 0 while it does not answer."""
    asked = [sys.executable, "-c", NODES, address]
    done = subprocess.run(asked, env=environment, capture_output=True, text=True, timeout=120, check=False)
    return 0 if done.returncode else int(done.stdout.split()[-1])


@contextmanager
def _node(start: list[str], environment: Environment) -> Iterator[subprocess.Popen[bytes]]:
    """A node, which ends with the block."""
    say(f"{' '.join(['ray', *start[1:]])} &")
    with subprocess.Popen(start, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()


RECIPES = {"ladder": ladder, "pcs": pcs, "ray": ray}


def main() -> None:
    """Try the recipes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recipes", nargs="*", metavar="RECIPE", help="ladder, pcs, ray; default: all")
    parser.add_argument("--s3", action="store_true", help="an S3 server on this machine instead of a folder")
    parser.add_argument("--azure", action="store_true", help="Azurite on this machine instead of a folder")
    parser.add_argument("--google", action="store_true", help="storage-testbench on this machine instead of a folder")
    options = parser.parse_args()
    if options.google and not TESTBENCH:
        parser.error("STORAGE_TESTBENCH must be the HOST:PORT of a storage-testbench")
    if options.azure and not AZURITE:
        parser.error("azurite-blob is not on the PATH: npm install azurite, and add node_modules/.bin to the PATH")
    if unknown := set(options.recipes) - RECIPES.keys():
        parser.error(f"there is no recipe {', '.join(sorted(unknown))}; known: {', '.join(RECIPES)}")
    path = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    seconds = {}
    for name in options.recipes or RECIPES:
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True)))
            given, url = dict(os.environ), str(folder / "bucket")
            if options.s3:
                given = environment(stack.enter_context(s3_server()))
                os.environ.update(given)
                url = f"s3://{BUCKET}/{name}"
            elif options.azure:
                given |= stack.enter_context(azurite())
                os.environ.update(given)
                url = f"az://{CONTAINER}/{name}"
            elif options.google:
                given |= stack.enter_context(google(folder))
                os.environ.update(given)
                url = f"gs://{GOOGLE_BUCKET}/{secrets.token_hex(4)}"
            say(f"{name}: {RECIPES[name].__doc__}")
            began = time.monotonic()
            RECIPES[name](folder, url, {**given, "PYTHONPATH": path})
            seconds[name] = round(time.monotonic() - began)
    print(json.dumps({"all recipes worked, seconds": seconds}))


if __name__ == "__main__":
    main()
