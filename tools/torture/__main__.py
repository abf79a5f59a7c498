"""`python tools/torture`: kill -9 hundreds of times, fill the disk, jump the clock, feed garbage; then check it all.

Ends with 0 only if every check held. Needs POSIX; the part about disks needs to be root, for a small tmpfs.
"""

from __future__ import annotations

import argparse
import random
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path
from types import FrameType

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tools.torture import groups
from tools.torture.checks import Report
from tools.torture.crash_points import crash_at_every_step
from tools.torture.disk import clock_jumps, disk_full, read_only, small_disk
from tools.torture.mutants import feed_mutants
from tools.torture.promotions import crash_in_every_decision
from tools.torture.storms import kill_anything, no_lost_update

PARTS = ("steps", "gate", "kills", "online", "updates", *groups.PARTS, "disk", "clock", "mutants")


def main() -> int:
    """Run the parts that were asked for, print the table, and return the exit code."""
    options = _options()
    signal.signal(signal.SIGTERM, _end)  # so that what was started is ended
    seed = random.SystemRandom().randrange(2**32) if options.seed is None else options.seed
    print(f"seed {seed}")
    folder = Path(tempfile.mkdtemp(prefix="understudy-torture-"))
    report, start = Report(), time.monotonic()
    try:
        for part in options.parts:
            (folder / part).mkdir()
            _run(part, report, folder / part, random.Random(f"{seed} {part}"), options, start + 60 * options.minutes)
    finally:
        if options.keep or report.failed:
            print(f"\nEverything is kept in {folder}")
        else:
            shutil.rmtree(folder)
    print(report.table(), f"in {time.monotonic() - start:.0f} s (seed {seed})")
    return 1 if report.failed else 0


def _run(
    part: str, report: Report, folder: Path, rng: random.Random, options: argparse.Namespace, deadline: float
) -> None:
    third = max(options.kills // 3, 1)
    if part == "steps":
        report.begin(part, "end the process at every single step towards the disk, in turn")
        crash_at_every_step(report, folder, options.stride)
    elif part == "gate":
        report.begin(part, "end the process at every single step of a decision of the gate, in turn")
        crash_in_every_decision(report, folder, options.stride)
    elif part == "kills":
        report.begin(part, f"kill -9 of {options.bots} bots and their learner")
        kill_anything(report, folder, rng, options.kills, options.bots, deadline, online=False)
    elif part == "online":
        report.begin(part, f"kill -9 of {options.bots} bots that train online and of the learner beside them")
        kill_anything(report, folder, rng, third, options.bots, deadline, online=True)
    elif part == "updates":
        report.begin(part, "kill -9 of four publishers, whose updates are counted in the weights")
        no_lost_update(report, folder, rng, third, deadline)
    elif part in groups.PARTS:
        groups.run(part, report, folder, rng, options.kills)
    elif part == "disk":
        report.begin(part, "a disk that is full, then read-only")
        with small_disk(report, folder) as disk:
            if disk is not None:
                disk_full(report, disk, folder)
                read_only(report, disk, folder)
    elif part == "clock":
        report.begin(part, "the system clock jumps by a day while games wait")
        clock_jumps(report, folder)
    elif part == "mutants":
        report.begin(part, f"{options.mutants} damaged files, with good ones among them")
        feed_mutants(report, folder, options.mutants, rng.randrange(2**32))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="torture", description=__doc__)
    parser.add_argument("--kills", type=int, default=300, help="of bots and learner; a third more in each later storm")
    parser.add_argument("--mutants", type=int, default=2000, help="damaged files")
    parser.add_argument("--bots", type=int, default=2)
    parser.add_argument("--stride", type=int, default=1, help="end the process only at every n-th step")
    parser.add_argument("--seed", type=int, help="of kills and mutants; when a process dies is never quite repeatable")
    parser.add_argument("--minutes", type=float, default=30.0, help="storms end then, and fail")
    parser.add_argument("--keep", action="store_true", help="keep the folder; it is always kept when a check fails")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    return parser.parse_args()


def _end(_number: int, _frame: FrameType | None) -> None:
    sys.exit(143)


if __name__ == "__main__":
    sys.exit(main())
