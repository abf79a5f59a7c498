"""Plays games on the direct environment beside a training run, on a processor core that is free.

    python -m understudy.games.zerg.direct.practice RUN_DIR

It plays until its standard input closes, which also happens when its parent process is killed.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence

from understudy.flags import Parser
from understudy.games.zerg.defaults import BACKLOG, zerg_agent, zerg_settings
from understudy.games.zerg.direct.bulk import games
from understudy.games.zerg.learned_openings import Openings
from understudy.games.zerg.opponent_memory import zerg_memory
from understudy.ledger.history import PRACTICE
from understudy.machine.priority import ONE_BLAS_THREAD
from understudy.machine.signals import apart
from understudy.rundir import RunDir
from understudy.sc2.opponents import OPPONENTS

_STOP_SECONDS = 10.0


class Practice:
    """One process that practises for a run."""

    def __init__(self, run_dir: str, *, first: int, policy: str, algorithm: str, explore: bool) -> None:
        flags = ["--first", str(first), "--policy", policy, "--algorithm", algorithm]
        flags += [] if explore else ["--no-exploration"]
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__, run_dir, *flags],
            stdin=subprocess.PIPE,
            env={**os.environ, **ONE_BLAS_THREAD, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            **apart(),
        )

    def stop(self) -> None:
        """Stop it. The current game is cut short and saved for the learner, too."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def main(arguments: Sequence[str] | None = None) -> int:
    """Play games of the mix, one after another, for the learner of a run."""
    parser = Parser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("run_dir", metavar="RUN_DIR")
    parser.add_argument("--first", type=int, default=0, help="number of the first game; decides opponents and seeds")
    parser.add_argument("--policy", choices=["mlp", "transformer"], default="mlp")
    parser.add_argument("--algorithm", choices=["ppo", "reinforce"], default="ppo")
    parser.add_argument("--no-exploration", action="store_true")
    options = parser.parse_args(arguments)
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())  # a service manager sends it to every process
    threading.Thread(target=_listen, args=(stop,), daemon=True).start()
    settings = zerg_settings(options.policy, options.algorithm)
    run = RunDir.at(options.run_dir)
    with zerg_agent(options.run_dir, settings=settings, online_training=False) as agent:
        for _ in games(
            agent,
            options.first,
            sys.maxsize,
            explore=not options.no_exploration,
            opponents=zerg_memory(run.root / OPPONENTS),
            openings=Openings(run.build_orders),
            stopped=stop.is_set,
            purpose=PRACTICE,
        ):
            agent.wait_for_learner(BACKLOG)
    return 0


def _listen(stop: threading.Event) -> None:
    sys.stdin.read()
    stop.set()


if __name__ == "__main__":
    sys.exit(main())
