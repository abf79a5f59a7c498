"""Upload and download of games. Downloaded games are checked before the learner sees them."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

from understudy.errors import EpisodeError, RemoteError
from understudy.experience.archive import archive, record_of
from understudy.experience.buffer import is_game
from understudy.experience.episode import Episode, Expected, file_name, read_episode
from understudy.files.atomic import move, remove_if_there, write_atomically
from understudy.files.locks import FileLock
from understudy.remote.bucket import Bucket
from understudy.remote.layout import hash_of
from understudy.remote.objects import TooLarge
from understudy.remote.state import Claimed, SyncState
from understudy.run.lock import LOCK_NOTE
from understudy.rundir import RunDir
from understudy.settings import StorageSettings

_DOWNLOADS = 3  # attempts for a game with damaged content, in case the transfer damaged it
_HEADERS = 100_000  # bytes that a file may have in addition to its arrays


class Outbox:
    """Games of a run without a learner that wait for their upload."""

    def __init__(self, run: RunDir, state: SyncState, storage: StorageSettings, machine: str) -> None:
        self._run, self._state, self._storage, self._machine = run, state, storage, machine
        self.dropped = 0

    def collect(self) -> bool:
        """Move all games out of the buffer; False if a learner on this machine uses them."""
        self._run.outbox.mkdir(parents=True, exist_ok=True)
        lock = FileLock(self._run.learner_lock, what=LOCK_NOTE)
        if not lock.acquire(blocking=False):
            return False
        try:
            foreign = {game.name for game in self._state.claimed()}
            for path in sorted(self._run.buffer.iterdir()):
                if is_game(path.name) and path.name not in foreign:
                    move(path, self._run.outbox / path.name)
        finally:
            lock.release()
        self._number()
        return True

    def keep_within(self, most: int) -> None:
        """Archive the oldest games without learning from them if more wait than the limit."""
        waiting = [(number, self._run.outbox / name) for number, _, name in self._state.outbox()]
        sizes = [path.stat().st_size if path.exists() else 0 for _, path in waiting]
        surplus = sum(sizes) - most
        for (number, path), size in zip(waiting, sizes, strict=True):
            if surplus <= 0:
                break
            surplus -= size
            self.dropped += 1
            self._finish(number, path)

    def send(self, bucket: Bucket, most: int, between: Callable[[], None]) -> int:
        """Upload games, oldest first; returns how many. A game that is already there is not sent again."""
        waiting = self._state.outbox()[:most]
        for number, key, name in waiting:
            path = self._run.outbox / name
            if path.exists():
                data = path.read_bytes()
                if not bucket.create(key, data):
                    there = bucket.get(key, len(data))
                    if there is None or there.data != data:
                        raise RemoteError(f"{key} in the bucket is another game: is this run directory a copy?")
            self._finish(number, path)
            between()
        return len(waiting)

    def _number(self) -> None:
        """Number new games; games that cannot be learned from are rejected here, where they were made."""
        known = {name for _, _, name in self._state.outbox()}
        games = []
        for path in sorted(self._run.outbox.iterdir()):
            if not is_game(path.name) or path.name in known:
                continue
            episode = self._read(path)
            if episode is None:
                continue
            if self._state.known([episode.meta.id]) or episode.meta.trained_online:
                self._archive(path, episode)
            else:
                games.append((episode.meta.id, hash_of(path.read_bytes()), path.name))
        if games:
            self._state.number_games(self._machine, time.strftime("%Y-%m-%d", time.gmtime()), games)

    def _finish(self, number: int, path: Path) -> None:
        episode = self._read(path) if path.exists() else None
        if episode is not None:
            self._archive(path, episode)
        self._state.sent([number])

    def _archive(self, path: Path, episode: Episode) -> None:
        record = record_of(episode, path.name, path.stat().st_size)
        self._state.record_skipped([record], "online" if episode.meta.trained_online else "skipped")
        archive(self._run, self._state, self._storage, [(path, record.id)])

    def _read(self, path: Path) -> Episode | None:
        try:
            return read_episode(path, self._storage)
        except EpisodeError as error:
            quarantine(self._run, self._state, path.name, path.read_bytes(), str(error))
            remove_if_there(path)
            return None


def download(
    bucket: Bucket, run: RunDir, state: SyncState, storage: StorageSettings, game: Claimed, expected: Expected | None
) -> Episode | None:
    """Put a claimed game into the buffer, or into `rejected` with the reason; returns it if it is usable."""
    data = b""
    part = run.buffer / f".{game.id}.{os.getpid()}-{os.urandom(4).hex()}.tmp"  # removed by the learner if left behind
    try:
        limit = storage.episode_bytes + _HEADERS
        if game.size > limit:
            raise EpisodeError(f"it has {game.size:,} bytes; the limit is {limit:,} bytes.")
        for _ in range(_DOWNLOADS):
            found = bucket.get(game.key, game.size)
            if found is None:
                raise EpisodeError("it is no longer in the bucket.")
            data = found.data
            if hash_of(data) == game.place.hash:
                break
        else:
            raise EpisodeError("its content is not what was sent: the hash differs.")
        write_atomically(part, lambda stream: stream.write(data))
        episode = read_episode(part, storage, expected)
        if episode.meta.id != game.id:
            raise EpisodeError(f"it says that its id is {episode.meta.id}; it was sent as {game.id}.")
    except (EpisodeError, TooLarge) as error:
        remove_if_there(part)
        quarantine(run, state, f"{game.id}.npz", data, f"from {game.place.machine}: {error}")
        state.settle(game.id, fate="skipped")
        return None
    state.settle(game.id, name=file_name(episode.meta))
    move(part, run.buffer / file_name(episode.meta))
    return episode


def quarantine(run: RunDir, state: SyncState, name: str, data: bytes, reason: str) -> None:
    """Set a game aside with its reason. It is never looked at again."""
    note = {"file": name, "reason": reason, "bytes": len(data), "at": time.strftime("%Y-%m-%d %H:%M:%S")}
    text = json.dumps(note, indent=2).encode()
    write_atomically(run.rejected / f"{name}.reason.json", lambda stream: stream.write(text))
    write_atomically(run.rejected / name, lambda stream: stream.write(data))
    state.record_rejected(name, reason, len(data))
