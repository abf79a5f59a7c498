"""Follows a run and logs it to Weights & Biases: `python examples/log_to_wandb.py RUN_DIR --project zerg`.

It needs `pip install wandb` and nothing of the learner, which neither knows nor waits for it; it may be started, ended
and started again at any time. For MLflow, put mlflow.log_metrics(numbers, step=version.version) in the place of log.
"""

from __future__ import annotations

import argparse
import contextlib
from typing import Any

from understudy.ledger.connection import LedgerGame, Version
from understudy.rundir import RunDir
from understudy.watch.callbacks import follow


class LogToWandb:
    """A `Callback` that turns versions and games into log entries of a W&B run."""

    def __init__(self, run: Any) -> None:
        self._run = run
        self._won = self._games = 0

    def on_version(self, version: Version, numbers: dict[str, float]) -> None:
        """Every metric of the version, with the version as the step."""
        share = {"won_so_far": self._won / self._games} if self._games else {}
        self._run.log({**numbers, **share}, step=version.version)

    def on_game(self, game: LedgerGame, outcome: str) -> None:
        """Games are reported before the version that learned from them."""
        self._games += 1
        self._won += game.result == "Victory"


def main() -> None:
    """Follow until Ctrl-C, or with --once to the end of what is there."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run_dir")
    parser.add_argument("--project", default="understudy")
    parser.add_argument("--once", action="store_true")
    options = parser.parse_args()

    import wandb  # noqa: PLC0415 - only this example needs it

    with wandb.init(project=options.project) as run, contextlib.suppress(KeyboardInterrupt):
        follow(RunDir.at(options.run_dir), LogToWandb(run), poll_seconds=0.0 if options.once else 2.0)


if __name__ == "__main__":
    main()
