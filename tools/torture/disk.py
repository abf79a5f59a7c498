"""Disks that are full or read-only, and clocks that jump."""

from __future__ import annotations

import contextlib
import errno
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from tools.torture.checks import Report, check_processes, check_run, games_told, settle
from tools.torture.processes import CHILD, Process, end_all, understudy, wait_until
from tools.torture.storms import bots, learner

from understudy.ledger.connection import Ledger
from understudy.rundir import RunDir

_DISK_BYTES = 600_000_000  # `understudy doctor` warns below 500 MB
_DAY = 86_400.0


@contextlib.contextmanager
def small_disk(report: Report, folder: Path) -> Iterator[Path | None]:
    """A small separate file system; None, with a message, if it cannot be created."""
    disk = folder / "disk"
    disk.mkdir()
    if not _mount("-t", "tmpfs", "-o", f"size={_DISK_BYTES}", "tmpfs", str(disk)):
        report.skip("a tmpfs cannot be mounted here: that needs to be root")
        yield None
        return
    try:
        yield disk
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def _mount(*arguments: str) -> bool:
    try:
        return subprocess.run(["mount", *arguments], capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


def _fill(filler: Path) -> None:
    """Take every byte that is left, down to the last."""
    with filler.open("ab", buffering=0) as stream:
        for size in (1 << 20, 1 << 12, 1):
            block = bytes(size)
            try:
                while stream.write(block) == size:
                    pass
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise


def disk_full(report: Report, disk: Path, folder: Path) -> None:
    """Fill the disk under two bots and a learner at work, look at them, and make room again."""
    run = RunDir.at(disk / "full")
    offline, notes = bots(run, folder, 1)
    online, more_notes = bots(run, folder, 1, online=True)
    notebooks = [*notes, *more_notes]
    one_learner = learner(run, folder)
    everybody = [*offline, *online, one_learner]
    filler = disk / "filler"
    try:
        for process in everybody:
            process.start()
        report.check("they work", wait_until(lambda: "Training complete" in one_learner.printed(), 60))
        _fill(filler)
        before = len(games_told(notebooks)[0])
        deadline = time.monotonic() + 8
        while time.monotonic() < deadline:
            _fill(filler)  # what somebody removed meanwhile
            time.sleep(0.02)
        report.check("bots and learner live", [process.running for process in everybody] == [True] * 3)
        report.check("bots play on", len(games_told(notebooks)[0]) > before + 2, len(games_told(notebooks)[0]) - before)
        complaints = [line for line in one_learner.printed().splitlines() if "Waiting:" in line]
        report.check("the learner says what is wrong, and not over and over", 1 <= len(complaints) <= 4, complaints[:5])
        says = all("cannot be saved" in bot.printed() for bot in (*offline, *online))
        report.check("the bots say that games are kept", says)
        damaged = "damaged" in understudy("doctor", str(run.root), "--fix", folder=folder)[1]
        report.check("doctor does not take a full disk for a damaged ledger", not damaged)
        newcomer, newcomer_notes = _newcomer(disk, folder)
        everybody.append(newcomer)
        notebooks += newcomer_notes
        newcomer.start()
        plays = wait_until(lambda: len(games_told(newcomer_notes)[0]) > 0 or not newcomer.running, 20)
        died = not (plays and newcomer.running)
        report.check("a bot that starts on the full disk plays", not died, newcomer.printed()[-300:] if died else "")
        filler.unlink()
        after = len(games_told(notebooks)[0])
        report.check("games go on", wait_until(lambda: len(games_told(notebooks)[0]) > after + 5, 30))
        codes = [bot.stop() for bot in (*offline, *online)]
        report.equal("bots end properly", codes, [0, 0])
        report.equal("the learner ends properly", one_learner.stop(), 0)
    finally:
        filler.unlink(missing_ok=True)
        end_all(everybody)
    check_processes(report, everybody[:3])
    settle(report, run, folder)
    check_run(report, run, folder, [*notes, *more_notes], {"learned", "online"})


def _newcomer(disk: Path, folder: Path) -> tuple[Process, list[Path]]:
    """A bot with a separate run directory, which cannot be created while the disk is full."""
    place = folder / "newcomer"
    place.mkdir()
    players, notebooks = bots(RunDir.at(disk / "newcomer"), place, 1)
    return players[0], notebooks


def read_only(report: Report, disk: Path, folder: Path) -> None:
    """Make the disk read-only between two games of a bot, try everything on it, and allow writing again."""
    place = folder / "read-only"
    place.mkdir()
    run, pause = RunDir.at(disk / "read-only"), place / "pause"
    (bot,), notebooks = bots(run, place, 1)

    def is_at(word: str) -> bool:
        return notebooks[0].exists() and notebooks[0].read_text().splitlines()[-1:] == [word]

    try:
        bot.start()
        wait_until(lambda: len(games_told(notebooks)[0]) > 3, 30)
        pause.touch()
        wait_until(lambda: is_at("paused"), 10)
        report.check("the disk becomes read-only", _mount("-o", "remount,ro", str(disk)))
        pause.unlink()
        before = len(games_told(notebooks)[0])
        report.check("the bot plays on", wait_until(lambda: len(games_told(notebooks)[0]) > before + 3, 20))
        report.check("and says that games are kept", "cannot be saved" in bot.printed())
        _check_commands_on_read_only(report, run, place)
        fresh, fresh_notes = bots(run, place, 1, online=True)
        fresh[0].start()
        wait_until(lambda: len(games_told(fresh_notes)[0]) > 1, 20)
        report.equal("a bot that starts there plays, and ends properly", fresh[0].stop(), 0)
        report.check("and says that nothing is recorded", "nothing is recorded" in fresh[0].printed())
        pause.touch()
        wait_until(lambda: is_at("paused"), 10)
        report.check("the disk can be written again", _mount("-o", "remount,rw", str(disk)))
        pause.unlink()
        report.check("games are saved again", wait_until(lambda: notebooks[0].read_text().count("saved") > 6, 20))
        report.equal("the bot ends properly", bot.stop(), 0)
    finally:
        _mount("-o", "remount,rw", str(disk))
        end_all([bot])
    check_processes(report, [bot])
    settle(report, run, place)
    check_run(report, run, place, notebooks, {"learned"})


def _check_commands_on_read_only(report: Report, run: RunDir, folder: Path) -> None:
    code, printed, _ = understudy("learn", str(run.root), folder=folder, timeout=30)
    clear = code == 1 and "read-only" in printed.lower() and "Traceback" not in printed
    report.check("`understudy learn` there ends with a clear error", clear, printed.strip()[-300:])
    code, printed, _ = understudy("doctor", str(run.root), "--fix", folder=folder, timeout=30)
    clear = code == 1 and "read-only" in printed.lower() and "Traceback" not in printed and "damaged" not in printed
    report.check("`understudy doctor` there says what is wrong", clear, "" if clear else printed[-1000:])


def clock_jumps(report: Report, folder: Path) -> None:
    """Games wait for others while the clock jumps a day back, then two ahead; none is skipped as too old."""
    run, clock = RunDir.at(folder / "run"), folder / "clock"
    clock.write_text("0")
    players, notebooks = bots(run, folder, 1)
    pause = folder / "pause"
    arguments = ["learn", str(run.root), "--learner.min-batch-games", "40", "--learner.poll-seconds", "0.2"]
    shifted = Process("learner", folder, [str(CHILD), "learner", str(clock), *arguments])

    def games_come(shift: float) -> None:
        """The bot plays ten games, whose files are dated by the clock of that time."""
        there = set(run.buffer.glob("*.npz"))
        pause.unlink(missing_ok=True)
        wait_until(lambda: len(set(run.buffer.glob("*.npz")) - there) >= 10, 30)
        pause.touch()
        time.sleep(0.3)
        for path in set(run.buffer.glob("*.npz")) - there:
            os.utime(path, (path.stat().st_mtime + shift,) * 2)
            dated.append(path)

    dated: list[Path] = []
    try:
        pause.touch()
        players[0].start()
        wait_until(run.model.exists, 30)
        shifted.start()
        wait_until(lambda: "Watching" in shifted.printed(), 30)
        for shift in (0.0, -_DAY, _DAY):
            clock.write_text(str(shift))
            time.sleep(0.5)
            games_come(shift)
        pause.unlink(missing_ok=True)
        report.check("they are learned", wait_until(lambda: not any(path.exists() for path in dated), 60), len(dated))
        report.equal("the bot ends properly", players[0].stop(), 0)
        report.equal("the learner ends properly", shifted.stop(), 0)
    finally:
        end_all([*players, shifted])
    report.check("the learner says that the clock jumped", "clock jumped" in shifted.printed())
    check_processes(report, [*players, shifted])
    with Ledger(run.ledger) as ledger:
        report.equal("games skipped as too old", ledger.games_by_outcome()["skipped"], 0)
    settle(report, run, folder)
    check_run(report, run, folder, notebooks, {"learned"})
