"""Does self-play make the Zerg bot better? Trains a new model, then plays it against the untrained one.

    python tools/selfplay_zerg_check.py --minutes 10 --workers 2 --games 400

Training is the command `understudy selfplay zerg` with its defaults: half of its games are against the mix of scripted
opponents, half against itself. The duel is Zerg against Zerg on the maps of training, with seeds that training does not
use; see understudy/games/zerg/direct/duel.py.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from understudy.games.zerg.direct.duel import DuelScore, duel
from understudy.rundir import RunDir

GOAL = 0.6


def main() -> int:
    """Train, play the duel, and return 0 if the goal was reached."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--games", type=int, default=400)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="understudy-selfplay-", ignore_cleanup_errors=True) as folder:
        run, untrained = RunDir.at(Path(folder) / "run"), Path(folder) / "untrained.npz"
        selfplay(run, options, "--decisions", "1")
        shutil.copy(run.model.parent / "versions" / "000001.npz", untrained)
        selfplay(run, options, "--seconds", str(60 * options.minutes))
        score = duel(run.model, untrained, options.games, processes=options.workers, say=_say)
    reached = score.share >= GOAL
    print(f"The trained policy won {score.share:.1%} of {sum(score)} games (goal: {GOAL:.0%})")
    return 0 if reached else 1


def selfplay(run: RunDir, options: argparse.Namespace, *limit: str) -> None:
    """Run the command as a user would."""
    command = [sys.executable, "-m", "understudy", "selfplay", "zerg", "--run-dir", str(run.root)]
    workers = ["--workers", str(options.workers), "--seed", str(options.seed)]
    subprocess.run([*command, *workers, *limit], check=True)


def _say(score: DuelScore) -> None:
    if sum(score) % 50 == 0:
        print(f"[DUEL] {sum(score)} games: {score.won} won, {score.tied} tied, {score.lost} lost", flush=True)


if __name__ == "__main__":
    sys.exit(main())
