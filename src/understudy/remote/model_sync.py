"""Synchronises the run's model with the bucket's.

Local versions and commits are two lines that meet from time to time. A meeting point is a commit whose model the run
has merged or made. The last meeting point is derived from two files that are written atomically, the run's ledger and
the bucket's head, so a kill between the two writes is harmless:

    a local version published by "sync" names the commit that it contains         (pull)
    the head names, for each machine, the last local version that it contains     (push)

Another machine may have committed games that this run has learned from too; this happens only after a claim was taken
over from a machine that was thought dead. Then what the run has learned since the last meeting point is dropped, and
its other games are learned from again.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from typing import NamedTuple

from understudy.errors import ModelDamaged, ModelMissing, RemoteError
from understudy.files.atomic import move, remove_if_there, write_atomically
from understudy.models.state import MAX_BYTES, ModelState, read_model, to_bytes
from understudy.models.store import ModelStore
from understudy.remote.bucket import Bucket
from understudy.remote.head import CommitStep, Head, ModelRef, commit, load_model, read_head
from understudy.remote.layout import GameKey, hash_of
from understudy.remote.state import SyncState
from understudy.rundir import RunDir

logger = logging.getLogger(__name__)

PULLED, RESET = "sync", "sync reset"
_NEWEST = 1 << 62
_KEPT_FILES = 4
_ARCHIVE_SECONDS = 2.0


class Meeting(NamedTuple):
    """The last commit in the run: the local version that contains it, and whether that version is equal to it."""

    commit: str
    version: int
    exact: bool
    model: ModelRef


class ModelSync:
    """Pulls and pushes the model of one run."""

    def __init__(self, bucket: Bucket, run: RunDir, state: SyncState, store: ModelStore, machine: str) -> None:
        self._bucket, self._run, self._state, self._store, self._machine = bucket, run, state, store, machine
        self.head: Head | None = None
        self.dropped = 0
        self.pushed_games = 0

    def refresh(self) -> Head | None:
        """Read the bucket's head."""
        self.head = read_head(self._bucket)
        return self.head

    def pull(self) -> bool:
        """Merge the head's model; False if the run already has it. Local updates that are not in it are kept."""
        self._bring_back()  # left over from a killed process
        head = self.head
        if head is None:
            return False
        meeting = self._meeting(head)
        if meeting is None or self._conflicts(head):
            self._reset(head)
        elif meeting.commit == head.commit:
            return False
        else:
            base = self._load(meeting.model)
            if base is None:
                logger.warning("The model of the last synchronisation with the bucket is no longer kept.")
                self._reset(head)
            else:
                unchanged = meeting.version if meeting.exact else None
                self._adopt(head, base, unchanged)
        self._bring_back()
        return True

    def push(self) -> bool:
        """Commit what a synchronised run has learned since the head; False if nothing was committed."""
        head = self.head
        try:
            local = self._store.load()
        except ModelMissing:
            return False
        meeting = None if head is None else self._meeting(head)
        if head is not None and (meeting is None or meeting.commit != head.commit or self._conflicts(head)):
            return False
        after = self._pushed_through(head)
        learned = self._state.learned_between(after, local.version)
        places = self._state.places(learned)
        skipped = self._skipped(after)
        changed = meeting is None or local.version > meeting.version or not meeting.exact
        if not changed and not skipped:
            return False
        model: bytes | ModelRef = to_bytes(local) if changed or head is None else head.model
        own = [game_id for game_id in learned if game_id not in places]
        step = CommitStep(self._machine, local.version, model, list(places.values()), skipped, own)
        if isinstance(model, bytes):
            self._keep(model, hash_of(model))
        if not commit(self._bucket, head, step):
            return False
        self.pushed_games += len(learned)
        return True

    def account(self) -> None:
        """Settle claimed games that are in the head; a file that is still here was learned from elsewhere."""
        if self.head is None:
            return
        after = self._pushed_through(self.head)
        games = [game for game in self._state.claimed() if self.head.has(game.place)]
        outcomes = self._state.outcomes(game.id for game in games)
        for game in games:
            _, version = outcomes.get(game.id, ("", None))
            if version is not None and version > after:
                continue  # a conflict, see pull
            if game.name and game.id not in outcomes:
                remove_if_there(self._run.buffer / game.name)
                self._state.settle(game.id, fate="elsewhere")
            else:
                self._state.settle(game.id, fate="done")

    def _meeting(self, head: Head) -> Meeting | None:
        pulled = self._state.last_version_by(PULLED, RESET)
        pushed = head.pushed.get(self._machine)
        if pushed is not None and (pulled is None or pushed.version >= pulled[0]):
            return Meeting(pushed.commit, pushed.version, True, pushed.model)
        if pulled is None:
            return None
        version, stats = pulled
        return Meeting(str(stats["commit"]), version, not stats["merged"], ModelRef(*stats["model"]))

    def _pushed_through(self, head: Head | None) -> int:
        """The local version up to which everything is in the bucket or was dropped."""
        pushed = head.pushed.get(self._machine) if head else None
        reset = self._state.last_version_by(RESET)
        return max(pushed.version if pushed else 0, reset[0] if reset else 0)

    def _conflicts(self, head: Head) -> list[str]:
        """Games that this run has learned from without pushing them, and that another machine has put into the head."""
        learned = self._state.learned_between(self._pushed_through(head), _NEWEST)
        return [game_id for game_id, place in self._state.places(learned).items() if head.has(place)]

    def _skipped(self, after: int) -> list[GameKey]:
        """Claimed games that the run has processed without learning from them."""
        games = self._state.claimed()
        outcomes = self._state.outcomes(game.id for game in games)
        rejected = self._state.rejected_names(game.name for game in games)
        # Version 0 means that the game was archived without learning.
        settled = {game_id for game_id, (_, version) in outcomes.items() if (version or 0) <= after}
        return [g.place for g in games if g.fate == "skipped" or g.name in rejected or g.id in settled]

    def _adopt(self, head: Head, base: ModelState, unchanged: int | None) -> None:
        made = self._checked(head)
        self._store.adopt(made, base, unchanged, publisher=PULLED, stats=self._stats(head))

    def _reset(self, head: Head) -> None:
        """Replace the run's model by the head's; games whose updates are lost are learned from again."""
        made = self._checked(head)

        def withdraw() -> Sequence[str]:
            after = self._pushed_through(head)
            lost = self._state.learned_between(after, _NEWEST)
            places = self._state.places(lost)
            again = {i: name for i, name in lost.items() if i not in places or not head.has(places[i])}
            self._run.relearn.mkdir(parents=True, exist_ok=True)
            for game_id, name in again.items():
                if self._archived(name):
                    move(self._run.archive / name, self._run.relearn / name)
                elif game_id in places:
                    self._state.settle(game_id, name="")  # it will be downloaded again
            self.dropped += len(lost)
            if lost:
                logger.warning(
                    "Another machine has learned from some of these games: an update of %d games is dropped, "
                    "%d of them are learned again.",
                    len(lost),
                    len(again),
                )
            return list(again)

        self._store.adopt(made, None, None, publisher=RESET, stats=self._stats(head), withdrawn=withdraw)

    def _archived(self, name: str) -> bool:
        """Whether a learned game is in the archive; the learner moves it there shortly after learning."""
        deadline = time.monotonic() + _ARCHIVE_SECONDS
        while (self._run.buffer / name).exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        return (self._run.archive / name).exists()

    def _bring_back(self) -> None:
        """Move games that must be learned from again back into the buffer."""
        if not self._run.relearn.is_dir():
            return
        for path in self._run.relearn.iterdir():
            game_id = path.stem.rpartition("_")[2]
            folder = self._run.archive if self._state.known([game_id]) else self._run.buffer
            move(path, folder / path.name)

    @staticmethod
    def _stats(head: Head) -> dict[str, object]:
        return {"commit": head.commit, "model": list(head.model)}

    def _checked(self, head: Head) -> ModelState:
        """The head's model, which must fit the run's."""
        made = self._load(head.model)
        if made is None:
            raise RemoteError(f"{head.model.key}, the model of the bucket's head, is missing.")
        local = self._store.recover()
        if local is not None:
            local.spec.require(made.spec, "in the bucket")
        made.require_finite()
        return made

    def _load(self, ref: ModelRef) -> ModelState | None:
        path = self._run.remote_models / f"{ref.hash}.npz"
        if not path.exists():
            data = load_model(self._bucket, ref, MAX_BYTES)
            if data is None:
                return None
            self._keep(data, ref.hash)
        try:
            return read_model(path)
        except ModelDamaged:
            remove_if_there(path)
            raise

    def _keep(self, data: bytes, name: str) -> None:
        folder = self._run.remote_models
        folder.mkdir(parents=True, exist_ok=True)
        write_atomically(folder / f"{name}.npz", lambda stream: stream.write(data))
        files = sorted(folder.glob("*.npz"), key=lambda path: path.stat().st_mtime_ns)
        for path in files[:-_KEPT_FILES]:
            remove_if_there(path)
