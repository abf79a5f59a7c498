"""Locks around the model of a run: one process publishes at a time, and trainers take turns."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from understudy.errors import RunDirError
from understudy.files.locks import FileLock, read_holder
from understudy.ledger.connection import Ledger

LOCK_SECONDS = 20.0  # publishing takes milliseconds; a bot on a ladder must exit within a minute


@contextmanager
def turn(path: Path, timeout: float) -> Iterator[bool]:
    """A turn at training. False if others held the lock for `timeout` seconds, or if locks do not work here."""
    lock = FileLock(path, what="training on a game")
    try:
        taken = lock.acquire(timeout=timeout)
    except OSError:
        taken = False
    try:
        yield taken
    finally:
        lock.release()


@contextmanager
def publishing(path: Path, ledger_path: Path) -> Iterator[Ledger]:
    """The ledger, under the lock for publishing."""
    lock = FileLock(path, what="publishing a model")
    if not lock.acquire(timeout=LOCK_SECONDS):
        holder = read_holder(path) or {}
        raise RunDirError(
            f"Nothing can be published: pid {holder.get('pid', '?')} on {holder.get('host', '?')} has held "
            f"{path} for over {LOCK_SECONDS:g} s. End that process; nothing is lost by that."
        )
    try:
        with Ledger(ledger_path) as ledger:
            yield ledger
    finally:
        lock.release()
