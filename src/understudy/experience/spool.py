"""The spool: finished games wait in `buffer`; each is moved once, to `archive` or `rejected`.

The ledger decides what has been learned. The spool moves files only after the ledger has recorded it, so if the process
is killed in between, the next start completes the move.
"""

from __future__ import annotations

import errno
import heapq
import json
import logging
import math
import os
import re
import shutil
import time
import zlib
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from understudy.errors import EpisodeError
from understudy.experience.archive import archive, record_of
from understudy.experience.buffer import is_game, list_games, surplus
from understudy.experience.episode import Episode, Expected, read_episode
from understudy.experience.file_clock import FileClock
from understudy.experience.journal import orphans, salvage
from understudy.files.atomic import free_name, move, remove_if_there, remove_stale_temporaries, write_atomically
from understudy.files.conflicts import is_conflict_copy
from understudy.files.plain_json import parsed_json
from understudy.ledger.connection import Ledger, LedgerGame, Outcome
from understudy.rundir import RunDir
from understudy.settings import StorageSettings

logger = logging.getLogger(__name__)

_SURROGATES = re.compile("[\ud800-\udfff]")  # how Python shows bytes in a file name that are not valid text
_NAME_BYTES = 200  # bytes; leaves room for what the names of notes and temporary files add
_LOOKAHEAD = 1000  # names taken from one scan of the buffer; bounds memory however many files wait
_SCAN_SHARE = 5  # a scan for new games may take at most a fifth of the time
_CATCH_UP = 1.5
_BACKLOG_SHARE = 0.05
_AT_A_TIME = 500  # games that one transaction moves out of the buffer
_NOT_THE_FILE = (errno.EMFILE, errno.ENFILE, errno.ENOMEM)  # errors that any other file would meet as well
_FIRST_REST, _LONGEST_REST = 10.0, 3600.0  # seconds until an unreadable file is tried again
_LONGEST_REST_FOR_MEMORY = 60.0
_LOOK_SECONDS = 4.0  # for a batch at most, however many of the files cannot be learned from
_READ_SECONDS = 1.0  # on a busy machine a batch stays small, so that the learner still answers commands


@dataclass(frozen=True, slots=True)
class WaitingGame:
    """A game that can be learned from now."""

    path: Path
    episode: Episode
    record: LedgerGame


class _Rest(NamedTuple):
    until: float
    seconds: float


@dataclass(slots=True)
class Passed:
    """How many files left the buffer without being learned from, since this counter was made."""

    rejected: int = 0
    too_old: int = 0
    too_stale: int = 0
    no_room: int = 0
    known: int = 0
    salvaged: int = 0


class Spool:
    """The buffer of a run, as its learner uses it.

    Games are taken oldest first. When more than `backlog` games wait, the newest come first: their policy is the
    closest to the current one. 0 = always oldest first.
    """

    def __init__(self, run: RunDir, ledger: Ledger, storage: StorageSettings, backlog: int = 0) -> None:
        self._run = run
        self._buffer = run.buffer
        self._ledger = ledger
        self._storage = storage
        self._backlog = backlog
        self._names: deque[str] = deque()
        self._leaving: list[tuple[Path, LedgerGame, Outcome | None]] = []
        self._newest_first = False
        self._scanned_at = -math.inf
        self._scan_seconds = 0.0
        self._arrived = 0
        self.clock = FileClock()
        self.waiting = 0
        self.unfinished = False
        """Whether the last batch was cut short, because it took long to look at files that cannot be learned from."""
        self.passed = Passed()
        self._rejected_kept = 0
        self._resting: dict[str, _Rest] = {}

    def recover(self) -> None:
        """Call once at the start: complete moves that were interrupted after the ledger had recorded them."""
        for folder in self._run.folders:
            remove_stale_temporaries(folder, older_than_seconds=3600)
        sizes = {path.name: _size(path) for path in self._run.archive.iterdir() if is_game(path.name)}
        # A bot that trains online may be pruning the archive at the same time; a file without a size has been removed.
        self._ledger.reconcile_archive({name: size for name, size in sizes.items() if size is not None})
        for note in self._run.rejected.glob("*.reason.json"):
            self._rejected_kept += 1
            name = note.name.removesuffix(".reason.json")
            self._ledger.record_rejected(name, *_read_reason(note), only_if_new=True)

    @property
    def behind(self) -> bool:
        """Whether more games wait than batches of normal size can keep up with."""
        return 0 < self._backlog < self.waiting

    def scan(self, *, newest_first: bool = False) -> int:
        """Look into the buffer and return how many games wait. Costs no more for a large archive."""
        self.clock.look()
        known = math.inf if self._scanned_at == -math.inf else self.waiting  # at the first scan, no game counts as new
        self._scanned_at = time.monotonic()
        newest = newest_first or self._newest_first
        resting = {name for name, trouble in self._resting.items() if trouble.until > self._scanned_at}
        while True:
            count, names = list_games(self._buffer, _LOOKAHEAD, newest_first=newest, without=resting)
            self.waiting = count
            if (self.behind or newest_first) == newest:
                break
            newest = not newest
        self._newest_first = self.behind
        self._arrived += int(max(count - known, 0))
        self._names = deque(names)
        self._scan_seconds = time.monotonic() - self._scanned_at
        return count

    def salvage(self, seconds: float = math.inf) -> bool:
        """Turn the journals of dead bots into games; False if there was not enough time for all of them."""
        until = time.monotonic() + seconds
        for journal in orphans(self._run.live):
            saved = salvage(journal, self._buffer, self._run.rejected, self._storage)
            if saved is None:  # its owner is alive after all
                continue
            if saved.path is not None:
                self.passed.salvaged += 1
                logger.info("Salvaged %s from a bot that ended without saving it.", saved.path.name)
            else:
                self._ledger.record_rejected(journal.name, saved.reason, saved.size)
                self.passed.rejected += 1
            if time.monotonic() >= until:
                return False
        return True

    def next_batch(self, expected: Expected, most: int, max_age: float, decisions: int = 0) -> list[WaitingGame]:
        """The games to learn from next, at most `most`. Games that cannot be learned from leave the buffer here.

        With a backlog, the batch holds more games, up to a total of `decisions`. `max_age` is in seconds, 0 for no
        limit. The games stay in the buffer until `settle`.
        """
        batch: dict[str, WaitingGame] = {}
        size = steps = 0
        if self.behind and time.monotonic() - self._scanned_at > _SCAN_SHARE * self._scan_seconds:
            self.scan()  # new games have arrived
        wanted = self._wanted(most)
        began = time.monotonic()
        self.unfinished = False
        while len(batch) < most or (
            len(batch) < wanted and steps < decisions and time.monotonic() < began + _READ_SECONDS
        ):
            if not self._names:
                # The games of this batch are still in the buffer; another scan would return them again.
                if batch:
                    break
                self._see_off()
                if not self.scan():
                    break
            game = self._open(self._buffer / self._names[0], expected, max_age)
            if game is not None:
                size += game.episode.nbytes
                if batch and size > self._storage.episode_bytes:  # the others go into the next batch
                    break
                steps += len(game.episode)
                batch.setdefault(game.record.id, game)  # a copy under another name waits for the ledger
            self._names.popleft()
            if time.monotonic() > began + _LOOK_SECONDS:
                self.unfinished = True
                break
        self._see_off()
        return list(batch.values())

    def _wanted(self, most: int) -> int:
        """The number of games for a batch: with a backlog, more than arrived since the last batch, so that the backlog
        shrinks.

        If nothing is added to the backlog, the batches stay small: many updates teach more than a few large ones.
        """
        arrived, self._arrived = self._arrived, 0
        if not self.behind:
            return most
        return max(most, math.ceil(_CATCH_UP * arrived), math.ceil(_BACKLOG_SHARE * self.waiting))

    def skip(self, games: Sequence[WaitingGame]) -> None:
        """Archive games without learning from them: their policy is too different from the current one."""
        self._leaving += [(game.path, game.record, "skipped") for game in games]
        self.passed.too_stale += len(games)
        self._see_off()

    def make_room(self, seconds: float = math.inf) -> bool:
        """Archive the oldest games without learning from them if the buffer exceeds its limits; False if that took too
        long."""
        until = time.monotonic() + seconds
        files = surplus(self._buffer, self._storage)
        for number, file in enumerate(files):
            path = self._buffer / file.name
            record = file.record or self._record_of(path)
            if record is not None:
                self._leaving.append((path, record, "skipped"))
                self.passed.no_room += 1
            if number % _AT_A_TIME == _AT_A_TIME - 1:
                self._see_off()
                if time.monotonic() >= until:
                    return False
        self._see_off()
        if files:
            self.scan()
        return True

    def settle(self, games: Sequence[WaitingGame]) -> None:
        """Move games that the ledger knows into the archive."""
        archive(self._run, self._ledger, self._storage, [(game.path, game.record.id) for game in games])
        self.waiting = max(self.waiting - len(games), 0)

    def reject(self, path: Path, reason: str) -> None:
        """Set a file aside with its reason. It is never looked at again."""
        size = _size(path)
        if size is None:
            return
        target = free_name(self._run.rejected / _plain(path.name))
        note = {"file": target.name, "reason": reason, "bytes": size, "at": time.strftime("%Y-%m-%d %H:%M:%S")}
        text = json.dumps(note, indent=2, ensure_ascii=False).encode()
        beside = target.with_name(f"{target.name}.reason.json")
        write_atomically(beside, lambda stream: stream.write(text))
        os.utime(beside, ns=(time.time_ns(),) * 2)  # finer than the system's clock: the oldest are removed first
        move(path, target)
        self._ledger.record_rejected(target.name, reason, size)
        self.passed.rejected += 1
        self.waiting = max(self.waiting - 1, 0)
        self._rejected_kept += 1
        if self._rejected_kept > self._storage.rejected_files:
            self._prune_rejected()

    def _open(self, path: Path, expected: Expected, max_age: float) -> WaitingGame | None:
        """Read one file. A file that cannot be used now is moved or postponed, and the result is None."""
        try:
            _check_name(path.name)
            stat = path.stat()
            episode = read_episode(path, self._storage, expected)
        except OSError as error:
            self._not_opened(path, error)
            return None
        except MemoryError:
            self.rest(path)
            return None
        except EpisodeError as error:
            self.reject(path, str(error))
            return None
        self._resting.pop(path.name, None)
        record = record_of(episode, path.name, stat.st_size)
        if self._ledger.known([record.id]):
            self.passed.known += 1
            self._leaving.append((path, record, None))
        elif episode.meta.trained_online:
            self.passed.known += 1
            self._leaving.append((path, record, "online"))
        elif max_age and self.clock.waited(stat.st_mtime) > max_age:
            self.passed.too_old += 1
            self._leaving.append((path, record, "skipped"))
        else:
            return WaitingGame(path, episode, record)
        return None

    def _not_opened(self, path: Path, error: OSError) -> None:
        """Reject a file that can never be opened; postpone one that may be readable later."""
        if isinstance(error, FileNotFoundError):
            if path.is_symlink():
                self.reject(path, "it is a link to a file that is not there.")
            return  # otherwise it was removed in the meantime
        if error.errno in _NOT_THE_FILE:
            raise error
        if error.errno in (errno.ELOOP, errno.EACCES) and os.name == "posix":
            self.reject(path, f"it cannot be opened: {error.strerror}.")
            return
        # A problem of the disk or file server, or on Windows a virus scanner that has the file open.
        if len(self._resting) >= _LOOKAHEAD and path.name not in self._resting:
            raise error  # the disk is at fault, not the file
        self._set_resting(path.name, f"cannot be read ({error.strerror})", _LONGEST_REST)

    def rest(self, path: Path) -> None:
        """Postpone a game that needs more memory than is free, so that smaller games are learned from."""
        self._set_resting(path.name, "needs more memory than there is now", _LONGEST_REST_FOR_MEMORY)

    def _set_resting(self, name: str, why: str, longest: float) -> None:
        """Postpone a file that cannot be used now, so that other files are learned from; it is tried again later."""
        seconds = min(2 * self._resting[name].seconds, longest) if name in self._resting else _FIRST_REST
        self._resting[name] = _Rest(time.monotonic() + seconds, seconds)
        logger.warning("%s %s; it is tried again in %.0f s.", name, why, seconds)

    def _record_of(self, path: Path) -> LedgerGame | None:
        """The record of a file whose name says nothing; None if it cannot be used, and then it is rejected."""
        try:
            return record_of(read_episode(path, self._storage), path.name, path.stat().st_size)
        except FileNotFoundError:
            return None
        except EpisodeError as error:
            self.reject(path, str(error))
            return None

    def _see_off(self) -> None:
        """Record and archive games that will not be learned from, many games in one transaction."""
        while self._leaving:
            games = self._leaving[:_AT_A_TIME]
            for outcome in ("online", "skipped"):
                self._ledger.record_skipped([record for _, record, wanted in games if wanted == outcome], outcome)
            archive(self._run, self._ledger, self._storage, [(path, record.id) for path, record, _ in games])
            self.waiting = max(self.waiting - len(games), 0)
            del self._leaving[:_AT_A_TIME]

    def _prune_rejected(self) -> None:
        """Remove the oldest unusable files. Removes a tenth more than necessary, because each call looks at all of
        them."""
        notes = [entry for entry in os.scandir(self._run.rejected) if entry.name.endswith(".reason.json")]
        surplus = len(notes) - self._storage.rejected_files
        if surplus > 0:
            surplus += self._storage.rejected_files // 10
        for entry in heapq.nsmallest(surplus, notes, key=lambda e: e.stat().st_mtime_ns):
            unusable = Path(entry.path.removesuffix(".reason.json"))
            if unusable.is_dir() and not unusable.is_symlink():
                shutil.rmtree(unusable)
            else:
                remove_if_there(unusable)
            remove_if_there(Path(entry.path))
        self._rejected_kept = len(notes) - max(surplus, 0)


def _plain(name: str) -> str:
    """A name that notes, temporary files and the ledger can hold. Nearly every name already is one."""
    if len(os.fsencode(name)) > _NAME_BYTES:
        name = f"{name[:40]}-{zlib.crc32(os.fsencode(name)):08x}.npz"
    return _SURROGATES.sub("_", name)


def _size(path: Path) -> int | None:
    try:
        return path.lstat().st_size
    except FileNotFoundError:
        return None


def _check_name(name: str) -> None:
    if _plain(name) != name:
        raise EpisodeError("its name is too long, or holds bytes that are not valid text.")
    if is_conflict_copy(name):
        raise EpisodeError(
            "its name is that of a conflict copy, made by a program that synchronises folders. "
            "Rename it if it is a game of its own."
        )


def _read_reason(note: Path) -> tuple[str, int]:
    try:
        content = parsed_json(note.read_text(encoding="utf-8"))
        return str(content["reason"]), int(content["bytes"])
    except (ValueError, KeyError, TypeError):
        return "The note of the reason cannot be read.", 0
