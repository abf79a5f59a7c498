"""Players and learners in separate processes that share a bucket, and kills at random moments.

    python tests/remote/storm.py folder|s3 [--kills 200] [--seconds 240] [--namespaces]

With s3, a proxy delays requests and fails 10 % of them, and after each 20 kills the server's process is killed too; the
next one gets its objects. Players compare versions by their gates. At the end it checks: every game of every player is
in the model exactly once, and all machines have the same model and the same champion.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from game_files import make_model, put_game
from remote.machines import learned_times
from remote.namespaces import HOST, namespaces
from remote.s3_server import BUCKET, CREDENTIALS, S3Server
from remote.unreliable import UnreliableProxy
from runs import drained
from understudy.errors import RemoteUnavailable
from understudy.learner.loop import LearnerLoop
from understudy.ledger.connection import Ledger
from understudy.ledger.gate import GateLedger
from understudy.models.evidence import Played
from understudy.models.gate import Gate
from understudy.models.store import ModelStore
from understudy.remote.bucket import Bucket
from understudy.remote.head import read_head
from understudy.remote.layout import GAMES, parse_game_key
from understudy.remote.stage import digest_of
from understudy.remote.sync import Sync
from understudy.rundir import RunDir
from understudy.settings import GateSettings, LearnerSettings, RemoteSettings, Settings

PLAYERS, LEARNERS, LEAST_GAMES = 3, 2, 20
NAMES = [f"player-{n}" for n in range(PLAYERS)] + [f"learner-{n}" for n in range(LEARNERS)]
_GAMES_A_SECOND = 4.0
_REMOTE = {"lease_seconds": 3.0, "claim_games": 4, "ahead_games": 8, "push_seconds": 0.5, "free_bytes": 0}


def work(role: str, folder: str, url: str) -> None:
    """What a player or learner does until it is killed, or until the file `enough` is there."""
    run = RunDir.at(folder)
    settings = Settings(remote=RemoteSettings(role=role, **_REMOTE), learner=LearnerSettings(verbose=False))  # type: ignore[arg-type]
    enough = run.root.parent / "enough"
    store = ModelStore(run.model, run.ledger)
    gate = Gate(run.ledger, store)
    with Sync(run, url, settings) as sync:
        while True:
            if role == "player" and not enough.exists():
                play(run, gate)
            with contextlib.suppress(RemoteUnavailable):
                sync.once(push=True)
            if role == "learner":
                LearnerLoop(run, settings).run(drained())
            else:
                time.sleep(1 / _GAMES_A_SECOND)


def play(run: RunDir, gate: Gate) -> None:
    """One game, whose result the gate gets to know."""
    if gate.look() is None and run.model.exists():
        gate.use(GateSettings())
    name = os.urandom(6).hex()
    part = gate.assign(name, "somebody")
    put_game(run.buffer, seed=int.from_bytes(os.urandom(4)))
    won = random.random() < (0.8 if part.role in ("line", "challenger") else 0.2)
    gate.record(name, Played(float(won)))


class Storm:
    """The processes, and what is known about them."""

    def __init__(self, folder: Path, url: str, seed: int, prefixes: Mapping[str, list[str]]) -> None:
        self.folder, self.url, self.prefixes = folder, url, prefixes
        self.names = NAMES
        self.chance = random.Random(seed)
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.kills = 0
        first = RunDir.at(folder / "learner-0")
        first.create()
        ModelStore(first.model, first.ledger).create(make_model())
        for name in self.names:
            self.start(name)

    def start(self, name: str) -> None:
        command = [
            *self.prefixes.get(name, ()),
            sys.executable,
            __file__,
            "--work",
            name.partition("-")[0],
            str(self.folder / name),
            self.url,
        ]
        with (self.folder / f"{name}.log").open("ab") as log:
            self.processes[name] = subprocess.Popen(command, stdout=log, stderr=log)

    def kill(self) -> None:
        name = self.chance.choice(self.names)
        process = self.processes[name]
        assert process.poll() is None, f"{name} ended by itself: {(self.folder / f'{name}.log').read_text()[-2000:]}"
        process.kill()
        process.wait()
        self.kills += 1
        self.start(name)

    def close(self) -> None:
        for process in self.processes.values():
            process.kill()
            process.wait()

    def settled(self, bucket: Bucket) -> bool:
        """Whether all games are sent and accounted for, and every machine has the head's model."""
        head = read_head(bucket)
        if head is None:
            return False
        for name in self.names:
            run = RunDir.at(self.folder / name)
            if any(run.buffer.glob("*.npz")) or (run.outbox.is_dir() and any(run.outbox.iterdir())):
                return False
            try:
                state = ModelStore(run.model, run.ledger).load()
            except Exception:  # noqa: BLE001 - not there yet
                return False
            if state.version != head.model.version:
                return False
        if len({self.champion(name) for name in self.names}) > 1:
            return False
        places = [place for entry in bucket.list(GAMES) if (place := parse_game_key(entry.key)) is not None]
        return all(head.has(place) for place in places)

    def champion(self, name: str) -> str:
        """The champion of a machine, by its weights."""
        run = RunDir.at(self.folder / name)
        store = ModelStore(run.model, run.ledger)
        state = Gate(run.ledger, store).look()
        return "" if state is None else digest_of(store.load_version(state.champion))

    def decisions(self) -> int:
        """How often some machine changed who is on stage."""
        total = 0
        for name in self.names:
            with GateLedger(RunDir.at(self.folder / name).ledger, read_only=True) as ledger:
                total += sum(event.what in ("promoted", "demoted", "returned") for event in ledger.events(1000))
        return total

    def check(self, bucket: Bucket) -> dict[str, Any]:
        """What must hold at the end; AssertionError if it does not."""
        made = set()
        for name in self.names[:PLAYERS]:
            with Ledger(RunDir.at(self.folder / name).ledger, read_only=True) as ledger:
                made |= {game.id for game, _, _ in ledger.games()}
        places = [place for entry in bucket.list(GAMES) if (place := parse_game_key(entry.key)) is not None]
        assert len(places) == len(made), f"{len(places)} games in the bucket, {len(made)} played"
        assert {place.id for place in places} == made
        times = learned_times(bucket)
        assert times == {(place.machine, place.number): 1 for place in places}
        models = [ModelStore((run := RunDir.at(self.folder / name)).model, run.ledger).load() for name in self.names]
        assert len({model.arrays["parameters"].tobytes() for model in models}) == 1, "machines have different models"
        assert models[0].counters["games"] == len(made), f"{models[0].counters['games']} games in the model"
        champions = {self.champion(name) for name in self.names}
        assert len(champions) == 1, f"{len(champions)} champions"
        assert champions != {""}, "there is no champion"
        head = read_head(bucket)
        assert head is not None
        facts = {"kills": self.kills, "games": len(made), "commits": head.number, "head": head.model.version}
        return facts | {"decisions": self.decisions()}


@contextlib.contextmanager
def opened(kind: str, folder: Path, host: str) -> Iterator[tuple[str, UnreliableProxy | None, S3Server | None]]:
    """The URL of a new bucket, the server that has it, and the proxy in front of it."""
    if kind == "folder":
        yield str(folder / "bucket"), None, None
        return
    server = S3Server()
    proxy = UnreliableProxy(server.address, host=host)
    os.environ.update({**CREDENTIALS, "AWS_ENDPOINT_URL": proxy.address})
    try:
        yield f"s3://{BUCKET}/storm", proxy, server
    finally:
        proxy.close()
        server.close()


def storm(
    kind: str, kills: int, seconds: float, folder: Path, seed: int = 0, *, apart: bool = False, restart_every: int = 20
) -> dict[str, Any]:
    """Kill processes, spread over some seconds; then let the machines finish, and check.

    With `apart`, each machine has a network namespace of its own. The server is restarted every `restart_every` kills.
    """
    with contextlib.ExitStack() as stack:
        prefixes = stack.enter_context(namespaces(NAMES)) if apart else {}
        url, proxy, server = stack.enter_context(opened(kind, folder, HOST if apart else "127.0.0.1"))
        made = Storm(folder, url, seed, prefixes)
        try:
            for number in range(kills):
                time.sleep(made.chance.uniform(0, 2 * seconds / kills))
                made.kill()
                if proxy is not None and server is not None and number % restart_every == restart_every - 1:
                    proxy.restart(1.0, server.restart)
            bucket = Bucket(url, patience=60)
            deadline = time.monotonic() + 120
            while len(bucket.list(GAMES)) < LEAST_GAMES:  # a busy machine needs a while to start a process
                assert time.monotonic() < deadline, "the players do not play"
                time.sleep(0.5)
            (folder / "enough").touch()
            deadline = time.monotonic() + 120
            while not made.settled(bucket):
                assert time.monotonic() < deadline, "the machines did not finish"
                time.sleep(1.0)
        finally:
            made.close()
        found = made.check(bucket)
        if proxy is not None and server is not None:
            found |= {"requests": proxy.requests, "failed": proxy.failures, "restarts": proxy.restarts}
            found |= {"objects at the last restart": server.objects_kept}
        return found


def main() -> None:
    if sys.argv[1] == "--work":
        work(*sys.argv[2:])
        return
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", choices=["folder", "s3"])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=240.0)
    parser.add_argument("--namespaces", action="store_true", help="each machine has a network of its own (root)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(storm(options.kind, options.kills, options.seconds, Path(folder), apart=options.namespaces)))


if __name__ == "__main__":
    main()
