"""What a bucket with a long history costs: time and requests to learn from 100 new games, beside an empty bucket.

python benchmarks/bucket.py                     a folder, with 100,000 games of which all are learned
python benchmarks/bucket.py --s3 --games 20000  an S3 server on this machine (moto)
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from remote.machines import Clock, Machine
from remote.s3_server import BUCKET, environment, s3_server
from understudy.remote.head import Consumed
from understudy.remote.layout import DOCUMENT_BYTES, HEAD, GameKey, from_json, machine_key, to_json
from understudy.remote.objects import Store
from understudy.remote.store import open_store

NEW = 100


def fill(store: Store, games: int) -> None:
    """Give the bucket a history: the games of another machine, 5,000 a day, all of them learned."""
    keys = [GameKey("old", f"2026-01-{1 + n // 5000:02d}", n, f"id{n}", "0" * 32).key for n in range(1, games + 1)]
    began = time.monotonic()
    root = getattr(store, "root", None)
    for number, key in enumerate(keys):
        if root is None:
            store.put(key, b"x")
        else:  # without a flush for each
            (root / key).parent.mkdir(parents=True, exist_ok=True)
            (root / key).write_bytes(b"x")
        if time.monotonic() - began > 2 and number % 5000 == 0:
            print(f"{number:,} of {games:,} games written", flush=True)
    found = store.get(HEAD, DOCUMENT_BYTES)
    assert found is not None
    document = from_json(found.data, HEAD)
    document["consumed"] = {"old": Consumed([[1, games]], keys[-1])}
    store.put(HEAD, to_json(document))
    store.put(machine_key("old"), to_json({"machine": "old", "complete": games, "role": "player"}))


def measure(url: str, folder: Path, games: int) -> tuple[float, float, int, int]:
    """Seconds and requests of a learner's first pass, then of 100 new games, sent and learned."""
    store, clock = open_store(url), Clock()
    learner = Machine(folder / "learner", store, clock, role="learner")
    learner.create_model()
    learner.step()
    if games:
        fill(store, games)
    fresh = Machine(folder / "fresh", store, clock, role="learner")
    began = time.monotonic()
    fresh.step()
    first, first_requests = time.monotonic() - began, fresh.sync.bucket.traffic.total
    player = Machine(folder / "player", store, clock, role="player")
    player.play(NEW)
    before = learner.sync.bucket.traffic.total + player.sync.bucket.traffic.total
    seconds = 0.0
    began = time.monotonic()
    player.step()
    seconds += time.monotonic() - began
    while len(learner.learned()) < NEW:
        began = time.monotonic()
        learner.step()
        seconds += time.monotonic() - began
        learner.learn()
    learner.step()
    requests = learner.sync.bucket.traffic.total + player.sync.bucket.traffic.total - before
    for one in (learner, fresh, player):
        one.sync.close()
    return first, seconds, first_requests, requests


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--games", type=int, default=100_000)
    parser.add_argument("--s3", action="store_true")
    options = parser.parse_args()
    for games in (0, options.games):
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            url = str(folder / "bucket")
            if options.s3:
                os.environ.update(environment(stack.enter_context(s3_server())))
                url = f"s3://{BUCKET}/long"
            first, seconds, first_requests, requests = measure(url, folder, games)
            print(
                f"{games:>7,} games of history: a new machine is synchronised after {first:.2f} s and {first_requests} "
                f"requests; {NEW} new games are sent and received in {seconds:.2f} s and {requests} requests",
                flush=True,
            )


if __name__ == "__main__":
    main()
