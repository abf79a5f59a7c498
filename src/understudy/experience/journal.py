"""The journal of a running game: every decision is in a file before `select_action` returns, so a crash loses none.

    UNDERSTUDY-JOURNAL {"schema": 1, "state_dim": S, "n_actions": A, "meta": {…}}\\n
    decision 0   crc32 u4 | kind u4 | reward before f8 | log_prob f8 | value f8 | action i8 | state f4[S] | legal bits
    decision 1   …
    end          crc32 u4 | kind u4 | length u4 | JSON: meta, last_reward, final_state

All numbers are little-endian. A record reaches the operating system with one unbuffered write, so it survives the death
of the process; only a power cut can cost the last seconds. Each checksum also covers the record's place in the game.
The memory of the running game holds the very same bytes.
"""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import json
import logging
import os
import struct
import sys
import time
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from understudy.errors import EpisodeError
from understudy.experience.episode import SCHEMA, Episode, EpisodeMeta, file_name, validated, write_episode
from understudy.files.atomic import free_name, move, remove_if_there, write_atomically
from understudy.files.locks import FileLock
from understudy.settings import StorageSettings

logger = logging.getLogger(__name__)

_MAGIC = b"UNDERSTUDY-JOURNAL "
_MAX_HEADER = 1_100_000
_DECISION, _DECISION_WITH_LEGAL, _END = 1, 2, 3
_TRIAL = 4  # added to the kind of a decision that is part of a trial
_FLOAT = np.dtype("<f4")
_CRC = struct.Struct("<I")
_SCALARS = struct.Struct("<Idddq")  # kind, reward_before, log_prob, value, action
_END_HEAD = struct.Struct("<II")  # kind, length
_STARTING_SECONDS = 60.0  # the owner of a younger empty journal may be about to lock it


def _record_type(state_dim: int, n_actions: int) -> np.dtype[Any]:
    scalars = [("crc", "<u4"), ("kind", "<u4"), ("reward", "<f8"), ("log_prob", "<f8"), ("value", "<f8")]
    return np.dtype([*scalars, ("action", "<i8"), ("state", _FLOAT, state_dim), ("legal", "u1", -(-n_actions // 8))])


class Journal:
    """Records one game, in memory and in `folder` (None: in memory only). One thread, one game, one journal.

    The file belongs to this process as long as it lives. A file that cannot be written is reported once, and the game
    goes on in memory.
    """

    def __init__(self, folder: Path | None, meta: EpisodeMeta, state_dim: int, n_actions: int) -> None:
        self.meta = meta
        self.path = None if folder is None else folder / f"{meta.id}.journal"
        self._state_dim, self._n_actions = state_dim, n_actions
        self._type = _record_type(state_dim, n_actions)
        self._body_size = self._type.itemsize - _CRC.size
        self._no_mask = bytes(self._type["legal"].itemsize)
        self._records = bytearray()
        self._length = 0
        self._ended = False
        self._parked = False
        self._lock: FileLock | None = None
        self._descriptor: int | None = None
        if self.path is not None:
            sizes = f'"schema": {SCHEMA}, "state_dim": {state_dim}, "n_actions": {n_actions}'
            self._open(self.path, _MAGIC + f'{{{sizes}, "meta": {meta.to_json()}}}\n'.encode())

    def __len__(self) -> int:
        return self._length

    @property
    def on_file(self) -> bool:
        """Whether all of the game so far is in the file, so that `salvage` would find it."""
        return self.path is not None and (self._descriptor is not None or self._parked) and self.path.exists()

    def append(
        self,
        state: ArrayLike,
        action: int,
        log_prob: float,
        value: float,
        legal: ArrayLike | None,
        reward_before: float,
        trial: bool = False,
    ) -> None:
        """Record a decision; `reward_before` is what was observed since the previous one (ignored for the first)."""
        mask, kind = self._no_mask, _DECISION
        if legal is not None:
            mask, kind = np.packbits(legal).tobytes(), _DECISION_WITH_LEGAL  # type: ignore[arg-type]
        if trial:
            kind += _TRIAL
        body = _SCALARS.pack(kind, reward_before, log_prob, value, action) + np.asarray(state, _FLOAT).tobytes() + mask
        if len(body) != self._body_size or self._ended:
            raise self._misuse()
        record = _CRC.pack(zlib.crc32(body, self._length)) + body
        self._records += record
        self._length += 1
        if self._descriptor is not None:
            self._write(record)

    def finish(self, result: str, last_reward: float, ended_at: float, **changes: Any) -> Episode:
        """End the game and return it; the keyword arguments are fields of its meta that have changed since the start.

        Raises EpisodeError if the game cannot be learned from, because of NaN or because nothing was decided.
        """
        meta = dataclasses.replace(self.meta, result=result, ended_at=ended_at, truncated=False, **changes)
        return self._end(meta, last_reward, None)

    def truncate(
        self, final_state: ArrayLike, last_reward: float, ended_at: float, result: str = "Unknown", **changes: Any
    ) -> Episode:
        """End a game that was cut off; the value of `final_state` stands for the rest of the game."""
        meta = dataclasses.replace(self.meta, result=result, ended_at=ended_at, truncated=True, **changes)
        return self._end(meta, last_reward, np.asarray(final_state, np.float32))

    def park(self) -> None:
        """Close the file while the game waits in memory: thousands of games may wait for a full disk.

        An incomplete file stays locked; otherwise another process would salvage the part as if it were the whole game.
        """
        if self._ended and self._descriptor is not None:
            self.close()
            self._parked = True

    def discard(self) -> None:
        """Remove the file, once the game is safe in its .npz or is not wanted."""
        self._close_descriptor()
        if self._parked and self.path is not None:
            self._lock = _lock_orphan(self.path)  # None if somebody is salvaging it now, which makes the same game
        if self._lock is not None and self.path is not None:
            _let_go_if_windows(self._lock)
            try:
                remove_if_there(self.path)
            except OSError as error:
                logger.warning("%s cannot be removed (%s); salvaging it later changes nothing.", self.path, error)
        self.close()

    def close(self) -> None:
        """Leave the file as it is, for `salvage`. Closing twice does nothing."""
        self._close_descriptor()
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def __del__(self) -> None:
        """Leave an unfinished game to `salvage` now, not at the end of the process."""
        with contextlib.suppress(OSError, AttributeError, TypeError):  # the last two while Python shuts down
            self._close_descriptor()  # the lock goes with its object

    def _end(self, meta: EpisodeMeta, last_reward: float, final_state: NDArray[np.float32] | None) -> Episode:
        if self._ended:
            raise RuntimeError(f"Game {self.meta.id} has already ended.")
        self._ended = True
        if self._descriptor is not None:
            last = None if final_state is None else final_state.tolist()
            rest = json.dumps({"last_reward": float(last_reward), "final_state": last})
            end = f'{{"meta": {meta.to_json()}, {rest[1:]}'.encode()
            body = _END_HEAD.pack(_END, len(end)) + end
            self._write(_CRC.pack(zlib.crc32(body, self._length)) + body)
        return _episode(np.frombuffer(self._records, self._type), self._n_actions, meta, last_reward, final_state)

    def _misuse(self) -> Exception:
        if self._ended:
            return RuntimeError(f"Game {self.meta.id} has ended: nothing can be appended to it.")
        return ValueError(f"A decision here has {self._state_dim} features, and a mask of {self._n_actions} actions.")

    def _open(self, path: Path, head: bytes) -> None:
        lock = FileLock(path)
        try:
            if not lock.acquire(timeout=1.0) or path.stat().st_size:
                lock.release()
                raise FileExistsError("it is the journal of another game with the same id")
            self._lock = lock
            self._descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | getattr(os, "O_BINARY", 0))
        except OSError as error:
            self._give_up(error)
        else:
            self._write(head)
            if self._descriptor is None:  # nothing is on file, and nothing will be
                self.discard()

    def _write(self, data: bytes) -> None:
        """Write once. If a write fails, it is the last: after a gap, later records would be in the wrong place."""
        assert self._descriptor is not None
        try:
            if os.write(self._descriptor, data) == len(data):
                return
            self._give_up(OSError("only part of a record could be written"))
        except OSError as error:
            self._give_up(error)

    def _give_up(self, error: OSError) -> None:
        logger.warning("%s cannot be written (%s): the game is recorded in memory only from here on.", self.path, error)
        self._close_descriptor()

    def _close_descriptor(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


@dataclass(frozen=True, slots=True)
class Salvaged:
    """What was salvaged from a dead bot's journal: the game at `path`, or nothing and the reason."""

    path: Path | None
    reason: str
    size: int


def orphans(live: Path) -> Iterator[Path]:
    """Journals that nobody holds, oldest first."""
    found = []
    with os.scandir(live) as entries:
        for entry in entries:
            if entry.name.endswith(".journal") and not entry.name.startswith(".") and not entry.is_dir():
                try:
                    found.append((entry.stat().st_mtime, entry.name))
                except FileNotFoundError:  # its owner has just saved the game
                    continue
    for _, name in sorted(found):
        lock = _lock_orphan(live / name)
        if lock is not None:
            lock.release()
            yield live / name


def salvage(journal: Path, buffer: Path, rejected: Path, storage: StorageSettings) -> Salvaged | None:
    """Turn the journal of a dead owner into a game in `buffer`; None while its owner or another salvager has it.

    A finished game becomes the same file that its owner would have written. An unfinished one becomes a truncated game
    with result Unknown, without its last decision, whose reward is not known. A journal with nothing to save moves to
    `rejected`. The game keeps one id and one file name, however often this is interrupted and repeated.
    """
    lock = _lock_orphan(journal)
    if lock is None:
        return None
    try:
        status = journal.stat()
        if status.st_size == 0 and time.time() - status.st_mtime < _STARTING_SECONDS:
            return None
        try:
            with journal.open("rb") as file:
                episode = _salvaged_episode(file, status, storage)
            path = buffer / file_name(episode.meta)
            write_episode(path, episode, compress=storage.compress)
        except EpisodeError as error:
            _let_go_if_windows(lock)
            _set_aside(journal, rejected, str(error), status.st_size)
            return Salvaged(None, str(error), status.st_size)
        _let_go_if_windows(lock)
        remove_if_there(journal)
        return Salvaged(path, "", status.st_size)
    finally:
        lock.release()


def _lock_orphan(journal: Path) -> FileLock | None:
    lock = FileLock(journal, create=False)
    try:
        return lock if lock.acquire(blocking=False) else None
    except (FileNotFoundError, PermissionError):  # removed, or another user's: not ours to salvage
        return None
    except OSError as error:
        if error.errno == errno.EROFS:
            return None
        raise


def _let_go_if_windows(lock: FileLock) -> None:
    """Release the lock on Windows, which cannot move or remove an open file. Elsewhere it is better kept."""
    if sys.platform == "win32":
        lock.release()


def _set_aside(journal: Path, rejected: Path, reason: str, size: int) -> None:
    note = {"file": journal.name, "reason": reason, "bytes": size, "at": time.strftime("%Y-%m-%d %H:%M:%S")}
    text = json.dumps(note, indent=2).encode()
    target = free_name(rejected / journal.name)
    write_atomically(target.with_name(f"{target.name}.reason.json"), lambda stream: stream.write(text))
    try:
        move(journal, target)
    except FileNotFoundError:  # on Windows, another salvager was faster
        return


def _salvaged_episode(file: BufferedReader, status: os.stat_result, storage: StorageSettings) -> Episode:
    """The game, as far as its journal is complete; EpisodeError if that is too little or too much."""
    if status.st_size > storage.episode_bytes + _MAX_HEADER:
        raise EpisodeError(f"the journal has {status.st_size:,} bytes; the limit is {storage.episode_bytes:,}.")
    record_type, n_actions, meta = _read_header(file, storage.episode_bytes)
    body = file.read(storage.episode_bytes)
    if len(body) // record_type.itemsize > storage.episode_steps + 1:
        raise EpisodeError(f"the journal holds more than {storage.episode_steps:,} decisions, the limit.")
    count, end = _whole_records(body, record_type.itemsize)
    records = np.frombuffer(body, record_type, count)
    if end is not None:
        return _episode(records, n_actions, *end)
    if count < 2:
        raise EpisodeError(f"the journal holds {count} complete decisions: too few to have one whose reward is known.")
    # The date of the last write, not the current time: a second attempt must produce the same file.
    meta = dataclasses.replace(meta, result="Unknown", truncated=True, ended_at=max(status.st_mtime, 0.0))
    last = records[-1]
    return _episode(records[:-1], n_actions, meta, float(last["reward"]), last["state"])


def _read_header(file: BufferedReader, episode_bytes: int) -> tuple[np.dtype[Any], int, EpisodeMeta]:
    line = file.readline(_MAX_HEADER)
    if not line.startswith(_MAGIC) or not line.endswith(b"\n"):
        raise EpisodeError("the journal has no complete header.")
    try:
        head = json.loads(line.removeprefix(_MAGIC))
        schema, sizes, meta = head["schema"], (head["state_dim"], head["n_actions"]), dict(head["meta"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise EpisodeError(f"the journal's header cannot be read ({type(error).__name__}: {error}).") from error
    if schema != SCHEMA:
        raise EpisodeError(f"the journal has schema {schema!r}, this version reads {SCHEMA}: upgrade understudy.")
    most = min(episode_bytes, 2**30) // 8  # of either: a record must fit into the limit, and into a NumPy dtype
    if not all(type(size) is int and 1 <= size <= most for size in sizes):
        raise EpisodeError(f"the journal is for {sizes[0]!r} features and {sizes[1]!r} actions, which is impossible.")
    return _record_type(*sizes), sizes[1], EpisodeMeta.from_mapping(meta)


def _whole_records(body: bytes, size: int) -> tuple[int, tuple[EpisodeMeta, float, NDArray[np.float32] | None] | None]:
    """The number of complete decisions, and how the game ended if the file says so."""
    view = memoryview(body)
    count = 0
    while (begin := count * size) + _CRC.size + _END_HEAD.size <= len(body):
        (crc,) = _CRC.unpack_from(body, begin)
        kind, length = _END_HEAD.unpack_from(body, begin + _CRC.size)
        content = begin + _CRC.size + _END_HEAD.size
        stop = content + length if kind == _END else begin + size
        if stop > len(body) or zlib.crc32(view[begin + _CRC.size : stop], count) != crc:
            break
        if kind == _END:
            return count, _read_end(body[content:stop])
        count += 1
    return count, None


def _read_end(payload: bytes) -> tuple[EpisodeMeta, float, NDArray[np.float32] | None]:
    try:
        end = json.loads(payload)
        meta, last_reward, last = dict(end["meta"]), float(end["last_reward"]), end["final_state"]
        with np.errstate(over="ignore"):  # infinite values are refused later, with the others
            final_state = None if last is None else np.array(last, np.float32)
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise EpisodeError(f"the journal's end cannot be read ({type(error).__name__}: {error}).") from error
    return EpisodeMeta.from_mapping(meta), last_reward, final_state


def _episode(
    records: NDArray[Any],
    n_actions: int,
    meta: EpisodeMeta,
    last_reward: float,
    final_state: NDArray[np.float32] | None,
) -> Episode:
    """The game from the records. Its owner and its salvager both use this function, so both produce the same game."""
    arrays = {
        "states": records["state"],
        "actions": records["action"],
        "rewards": np.append(records["reward"][1:], last_reward)[: len(records)],
        "log_probs": records["log_prob"],
        "values": records["value"],
    }
    if (trial := records["kind"] >= _TRIAL).any():
        arrays["trial"] = trial
    masked = records["kind"] % _TRIAL == _DECISION_WITH_LEGAL
    if masked.any():
        legal = np.unpackbits(records["legal"], axis=1, count=n_actions).astype(np.bool_)
        legal[~masked] = True
        arrays["legal"] = legal
    if final_state is not None:
        arrays["final_state"] = final_state
    return validated(arrays, meta)
