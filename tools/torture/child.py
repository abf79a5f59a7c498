"""What the torture run starts and kills: `python child.py ROLE ...`. Each role is one process."""

from __future__ import annotations

import dataclasses
import logging
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import numpy as np

from understudy.agent import RLAgent
from understudy.cli import main
from understudy.models.state import read_model
from understudy.models.store import ModelStore
from understudy.rundir import RunDir

STATE_DIM, N_ACTIONS = 4, 3


class Notebook:
    """What a process tells the torture run: lines that are on file when `write` returns, whatever is killed."""

    def __init__(self, path: str) -> None:
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)

    def write(self, line: str) -> None:
        """Append one line with one write."""
        os.write(self._descriptor, f"{line}\n".encode())


class TimeToEnd:
    """Becomes true when the torture run asks this process to end of itself."""

    def __init__(self) -> None:
        self.asked = False
        signal.signal(signal.SIGTERM, self._ask)

    def _ask(self, _number: int, _frame: FrameType | None) -> None:
        self.asked = True


def bot(run: str, notebook: str, online: str, pause: str) -> None:
    """Play short games without end. A file `pause` makes it wait between two games, for as long as it is there."""
    logging.basicConfig(format="[%(levelname)s] %(message)s")
    ending, notes = TimeToEnd(), Notebook(notebook)
    rng = np.random.default_rng()
    # The network is of the default size: a model that were not written atomically should have time to show it.
    with RLAgent(STATE_DIM, N_ACTIONS, run_dir=run, online_training=online == "online") as agent:
        while not ending.asked:
            for _ in range(int(rng.integers(10, 61))):
                agent.select_action(rng.standard_normal(STATE_DIM))
                agent.observe_reward(float(rng.standard_normal()))
            game = agent._game
            assert game is not None
            notes.write(f"ending {game.journal.meta.id}")
            stats = agent.end_episode("Victory" if rng.random() < 0.5 else "Defeat")
            notes.write(f"ended {stats['episode_id']} {'saved' if stats['saved'] else 'kept'}")
            if Path(pause).exists():
                notes.write("paused")
                while Path(pause).exists() and not ending.asked:
                    time.sleep(0.005)
                notes.write("resumed")
            agent.wait_for_learner(backlog=300, timeout=0.05)
    notes.write("closed")


def reader(model: str, notebook: str) -> None:
    """Load the published model again and again; complain when it cannot be loaded, or is older than the last one."""
    os.nice(10)
    ending, notes = TimeToEnd(), Notebook(notebook)
    newest = loads = 0
    while not ending.asked:
        version = read_model(Path(model)).version
        loads += 1
        if version < newest:
            notes.write(f"backwards from {newest} to {version}")
        newest = version
    notes.write(f"loads {loads}")


def publisher(run: str, index: str) -> None:
    """Publish without end: each time, add exactly 1 to the parameter that is this publisher's own."""
    place, slot, ending = RunDir.at(run), int(index), TimeToEnd()
    store = ModelStore(place.model, place.ledger)
    while not ending.asked:
        base = store.load()
        time.sleep(np.random.default_rng().random() * 0.005)  # let the others move the head meanwhile
        parameters = base.arrays["parameters"].copy()
        parameters[slot] += 1.0
        trained = dataclasses.replace(base, arrays={**base.arrays, "parameters": parameters})
        store.publish(trained, base, publisher=f"p{slot}")


def learner(clock: str, *arguments: str) -> None:
    """`understudy` with a system clock that is off by as many seconds as the file `clock` says."""
    true_time = time.time

    def shifted_time() -> float:
        return true_time() + float(Path(clock).read_text() or 0)

    time.time = shifted_time
    sys.exit(main(arguments))


ROLES: dict[str, Callable[..., None]] = {"bot": bot, "reader": reader, "publisher": publisher, "learner": learner}

if __name__ == "__main__":
    ROLES[sys.argv[1]](*sys.argv[2:])
