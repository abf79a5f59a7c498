"""`understudy sync`: synchronises a run with a bucket.

    merge the bucket's model → send what was learned → send games, or claim and download them, and again

A run with an active learner downloads games and sends what it has learned. A run without one sends its games. A pass
may be killed at any point; on the next start, the ledger and the bucket say where to continue.
"""

from __future__ import annotations

import logging
import os
import shutil
import threading
import time
from collections.abc import Callable
from typing import Any

from understudy import __version__
from understudy.errors import ModelError, ModelMissing, RemoteError, RemoteUnavailable
from understudy.experience.episode import Episode, Expected
from understudy.files.atomic import remove_if_there
from understudy.files.locks import FileLock
from understudy.games.spec import registered_games
from understudy.models.live import LiveModel
from understudy.models.store import ModelStore
from understudy.remote.bucket import Bucket
from understudy.remote.claims import Claims
from understudy.remote.counts import SharedCounts, checked_names
from understudy.remote.games import Outbox, download
from understudy.remote.layout import machine_key, to_json
from understudy.remote.machines import load_excluded
from understudy.remote.model_sync import ModelSync
from understudy.remote.profiles import Profile, Tally, gap_of
from understudy.remote.stage import SharedStage
from understudy.remote.state import SyncState
from understudy.run.lock import LOCK_NOTE
from understudy.run.status import write_status
from understudy.rundir import RunDir
from understudy.settings import Settings

logger = logging.getLogger(__name__)

_BEATS_PER_LEASE = 6
_LEASES_WITHOUT_A_PROCESS = 12  # leases of claims made by --once: the learner needs time, and nobody sends heartbeats
_SENT_AT_A_TIME = 200
_PUSHES = 5  # tries in a row while other machines push too
_REMEMBERED = 100_000
_OFFLINE_SECONDS = 60.0


class Sync:
    """One run and one bucket. Use as a context manager: it holds the run's synchronisation lock."""

    def __init__(
        self,
        run: RunDir,
        url: str,
        settings: Settings,
        *,
        bucket: Bucket | None = None,
        stop: threading.Event | None = None,
        once: bool = False,
        clock: Callable[[], float] = time.monotonic,
        told: Callable[[dict[str, Any]], None] = lambda _: None,
    ) -> None:
        self._told = told
        self._run, self._settings, self._storage = run, settings.remote, settings.storage
        self._stop = stop or threading.Event()
        self._clock = clock
        self._lock = FileLock(run.sync_lock, what="understudy sync")
        remote = settings.remote
        self.bucket = bucket or Bucket(url, up=remote.upload_rate, down=remote.download_rate, stop=self._stop)
        run.create()
        if not self._lock.acquire(blocking=False):
            raise RemoteError(f"Another process synchronises {run.root} with a bucket.")
        self.state = SyncState(run.ledger)
        self.machine = self.state.join(url)
        self._url = url
        self._store = ModelStore(run.model, run.ledger, keep=settings.storage.model_versions)
        self._model_sync = ModelSync(self.bucket, run, self.state, self._store, self.machine)
        self._stage = SharedStage(self.bucket, run, self.state, self._store, self.machine)
        counts = checked_names([name for spec in registered_games().values() for name in spec.counts])
        self._counts = SharedCounts(
            self.bucket, run.root, self.state, self.machine, counts, every=remote.lease_seconds / 4, clock=clock
        )
        self._outbox = Outbox(run, self.state, settings.storage, self.machine)
        lease = remote.lease_seconds * (_LEASES_WITHOUT_A_PROCESS if once else 1)
        self._claims = Claims(self.bucket, self.state, self.machine, lease=lease, games=remote.claim_games, clock=clock)
        self._beat_seconds = remote.lease_seconds / _BEATS_PER_LEASE
        self._beaten_at = -float("inf")
        self._beaten = -1
        self._pushed_at = -float("inf")
        self._learner_seen_at = clock()
        self._played: LiveModel | None = None
        self.learning = False
        self.up = self.down = self.rejected = 0

    def close(self) -> None:
        """Release the run's lock."""
        self.state.close()
        self._lock.release()

    def __enter__(self) -> Sync:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def run(self) -> None:
        """Synchronise until asked to stop. While the bucket does not answer, or fails after a good pass, games wait."""
        offline, reached = 0.0, False
        while not self._stop.is_set():
            more = False
            try:
                more = self.once()
                offline, reached = 0.0, True
                self._report("synchronised")
            except RemoteError as error:
                if self._stop.is_set():
                    break
                if not (reached or isinstance(error, RemoteUnavailable)):
                    raise
                if not offline:
                    logger.warning("%s Trying again; games wait here meanwhile.", error)
                offline = min(2 * offline + self._settings.poll_seconds, _OFFLINE_SECONDS)
                self._report(f"offline: {error}")
            if not more:
                self._stop.wait(max(offline, self._settings.poll_seconds))
        self._report("stopped")

    def all(self) -> None:
        """Send everything that waits, and receive everything available."""
        while self.once(push=True) and not self._stop.is_set():
            pass
        self._report("synchronised")

    def once(self, *, push: bool = False) -> bool:
        """One pass; True if there is more to send. With `push`, the model is sent even if it was just sent."""
        self.learning = self._is_learner()
        self._outbox.keep_within(self._settings.outbox_bytes)
        self._beat()
        self._exchange_models(push)
        self._stage.exchange()
        self._counts.exchange()
        if self.learning:
            self._learner_seen_at = self._clock()
            self._get_games()
        else:
            self._send_games()
        self._beat(now=push)
        return not self.learning and bool(self.state.outbox())

    def _is_learner(self) -> bool:
        """Whether this run learns; otherwise, its new games go to the outbox."""
        if self._settings.role == "learner":
            return True
        collected = self._outbox.collect()
        return self._settings.role == "auto" and not collected

    def _exchange_models(self, push: bool) -> None:
        model = self._model_sync
        model.refresh()
        model.pull()
        model.account()
        if not push and self._clock() < self._pushed_at + self._settings.push_seconds:
            return
        for _ in range(_PUSHES):
            before = model.head
            pushed = model.push()
            if not pushed and model.refresh() == before:
                break
            if pushed:
                self._pushed_at = self._clock()
                model.refresh()
            model.pull()
            model.account()
        self.state.forget_oldest(_REMEMBERED)

    def _get_games(self) -> None:
        head = self._model_sync.head
        if head is None:
            return
        for game in self._claims.look_after(head):
            if game.name:
                remove_if_there(self._run.buffer / game.name)
        waiting = self._missing_again()
        room = shutil.disk_usage(self._run.root).free > self._settings.free_bytes
        wanted = self._settings.ahead_games - waiting
        if room and wanted > 0 and self._claims.take(head, wanted, load_excluded(self.bucket)):
            self._model_sync.refresh()  # games that were accounted for meanwhile are not downloaded
            self._model_sync.account()
        expected = self._expected()
        for game in self.state.claimed():
            if room and not game.name and not game.fate:
                episode = download(self.bucket, self._run, self.state, self._storage, game, expected)
                if episode is None:
                    self.rejected += 1
                else:
                    self.down += 1
                    self._note_profile(game.place.machine, episode)
                self._beat()

    def _send_games(self) -> None:
        self.up += self._outbox.send(self.bucket, _SENT_AT_A_TIME, self._beat)
        if self._clock() > self._learner_seen_at + self._settings.lease_seconds and self.state.claimed():
            self._exchange_models(push=True)  # what was learned before the learner ended
            self._give_back()

    def _give_back(self) -> None:
        """Release the claimed games if no learner has run here for the duration of a lease."""
        lock = FileLock(self._run.learner_lock, what=LOCK_NOTE)
        if not lock.acquire(blocking=False):
            return
        try:
            games = self.state.claimed()
            done = self.state.outcomes(game.id for game in games)
            for game in games:
                if game.name and game.id not in done:
                    remove_if_there(self._run.buffer / game.name)
            count = self._claims.give_back()
            logger.info("Gave %d games back: no learner works here.", count)
        finally:
            lock.release()

    def _missing_again(self) -> int:
        """The number of claimed games that wait. Missing games that were not processed are downloaded again."""
        waiting = 0
        for game in self.state.claimed():
            if game.fate:
                continue
            if not game.name or (self._run.buffer / game.name).exists():
                waiting += 1
            elif not self.state.known([game.id]) and not self.state.rejected_names([game.name]):
                self.state.settle(game.id, name="")
                waiting += 1
        return waiting

    def _expected(self) -> Expected | None:
        try:
            spec = self._store.load().spec
        except ModelMissing:
            return None
        return Expected(spec.state_dim, len(spec.actions), spec.features_hash)

    def _note_profile(self, machine: str, episode: Episode) -> None:
        known = self.state.profiles().get(machine)
        profile = Profile() if known is None else Profile(*(Tally(*tally) for tally in known))
        model = self._model_of(episode.meta.model_version)
        gap = None if model is None else gap_of(model, episode)
        self.state.save_profile(machine, profile.plus(episode, gap))

    def _model_of(self, version: int | None) -> LiveModel | None:
        """The model that played a game, if it is kept. Version numbers are the bucket's unless updates were merged."""
        if version is None or not self._store.version_path(version).exists():
            return None
        if self._played is None or self._played.version != version:
            try:
                self._played = LiveModel(self._store.load_version(version))
            except (ModelError, ModuleNotFoundError):
                return None
        return self._played

    def _beat(self, *, now: bool = False) -> None:
        """Send a heartbeat: periodically, and soon after more games are complete."""
        complete = self.state.complete
        pause = self._beat_seconds
        if complete != self._beaten:
            pause = 0.0 if now else min(pause, self._settings.poll_seconds / 2)  # games are sent in quick succession
        if self._clock() < self._beaten_at + pause:
            return
        self._beaten, self._beaten_at = complete, self._clock()
        self.bucket.put(
            machine_key(self.machine),
            to_json(
                {
                    "machine": self.machine,
                    "complete": complete,
                    "role": "learner" if self.learning else "player",
                    "understudy": __version__,
                    "seen": self.state.profiles(),
                    "nonce": os.urandom(6).hex(),
                    "at": time.time(),  # for people
                }
            ),
        )
        self.state.has_answered(self._url)

    def facts(self) -> dict[str, Any]:
        """The work so far, for people."""
        traffic = self.bucket.traffic
        games = self.up + self.down
        return {
            "machine": self.machine,
            "url": self._url,
            "role": "learner" if self.learning else "player",
            "head": self._model_sync.head and self._model_sync.head.number,
            "games_up": self.up,
            "games_down": self.down,
            "games_rejected": self.rejected,
            "games_unsent": len(self.state.outbox()),
            "games_dropped_unsent": self._outbox.dropped,
            "games_taken_over": self._claims.taken_over,
            "updates_dropped": self._model_sync.dropped,
            "decisions_overruled": self._stage.overruled,
            "requests": dict(traffic.requests),
            "retries": traffic.retries,
            "requests_per_game": round(traffic.total / games, 2) if games else None,
            "bytes_up": traffic.bytes_up,
            "bytes_down": traffic.bytes_down,
        }

    def _report(self, state: str) -> None:
        facts = {"state": state, **self.facts()}
        write_status(self._run.sync_status, facts)
        self._told(facts)
