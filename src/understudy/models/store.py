"""The model store: one file that bots load, its earlier versions, and no lost update.

Publishing, under a lock between processes:

1. `versions/000124.npz` is written completely.
2. The ledger records version 124 together with the games it consumed: this is the moment of publication.
3. `rl_agent_model.npz` is replaced.

A publisher that is killed before step 2 has published nothing; after step 2, the next process that opens the store does
step 3.

While the gate keeps the learner's line off the stage, `rl_agent_model.npz` is the champion, and step 3 replaces
`rl_agent_model.line.npz` instead. That file exists only then. A model that a person copies over the champion is
published as the newest version (`take_in_stage`), and the gate makes it the champion.
"""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np

from understudy.errors import AlreadyLearned, ModelDamaged, ModelMissing
from understudy.files.atomic import remove_if_there, write_content
from understudy.ledger.connection import Ledger, LedgerGame, Outcome
from understudy.ledger.gate import pinned
from understudy.models.carry_over import fitted
from understudy.models.model_files import ModelFiles, Signature
from understudy.models.publish_lock import publishing, turn
from understudy.models.staged_file import StagedFile
from understudy.models.state import ModelState, read_model, rebase, to_bytes

logger = logging.getLogger(__name__)


class ModelStore(ModelFiles):
    """The models of a run. Any number of processes may read; only one at a time may publish."""

    def __init__(self, model: Path, ledger: Path, *, keep: int = 20) -> None:
        super().__init__(model)
        self._staged = StagedFile(model)
        self._ledger_path = ledger
        self._lock_path = model.parent / "publish.lock"
        self._turn_path = model.parent / "online.lock"
        self._keep = keep
        self._checked: Signature | None = None
        """The newest model's signature when it was last known to be this run's."""

    @property
    def stage_changed(self) -> bool:
        """Whether the separate file on stage differs from the gate's, as last seen by this process."""
        return self.separate and not self._staged.looks_unchanged()

    def create(self, state: ModelState) -> ModelState:
        """Publish a run's first model, unless another process was faster; then its model is returned."""
        with self._publishing() as ledger:
            head = self._head(ledger)
            if head is not None:
                return head
            return self._put(ledger, dataclasses.replace(state, version=(ledger.head() or 0) + 1, parent=None))

    def publish(
        self,
        trained: ModelState,
        base: ModelState,
        *,
        publisher: str,
        consumed: Sequence[LedgerGame] = (),
        outcome: Outcome = "learned",
        stats: Mapping[str, Any] | None = None,
    ) -> ModelState:
        """Publish what training made of `base`, together with the games it consumed, and return the new head.

        If the head has moved since `base`, the update is merged into it (learning/merge.py). Raises AlreadyLearned if
        another version has consumed one of the games, and NonFiniteError for weights that no bot should load; neither
        changes anything.
        """
        trained.require_finite()
        with self._publishing() as ledger:
            head = self._head(ledger) or base
            if known := ledger.known(game.id for game in consumed):
                raise AlreadyLearned(known)
            if head.version != base.version:
                trained = rebase(head, base, trained)
                trained.require_finite()
            new = dataclasses.replace(trained, version=head.version + 1, parent=head.version, publisher=publisher)
            return self._put(ledger, new, consumed, stats, outcome)

    def change_names(self, changed: ModelState, base: ModelState, report: str) -> ModelState:
        """Publish `base` with other features or actions. If the head has moved since, it is changed in the same way."""
        with self._publishing() as ledger:
            head = self._head(ledger) or base
            if head.version != base.version:
                changed = fitted(head, changed)
            new = dataclasses.replace(changed, version=head.version + 1, parent=head.version, publisher="names")
            return self._put(ledger, new, stats={"names": report})

    def turn(self, timeout: float) -> AbstractContextManager[bool]:
        """A turn at training, for trainers that can wait for each other; updates then need no merging.

        Start from the head inside it, and publish before it ends. False if others held the lock for `timeout` seconds,
        or if locks do not work here; train anyway, because publishing merges.
        """
        return turn(self._turn_path, timeout)

    def adopt(
        self,
        made: ModelState,
        base: ModelState | None,
        unchanged: int | None,
        *,
        publisher: str,
        stats: Mapping[str, Any],
        withdrawn: Callable[[], Sequence[str]] = tuple,
    ) -> ModelState:
        """Publish a version that another machine made of `base`, under the same number if that is free.

        If the head is not `unchanged`, the local version equal to `base`, the update is merged into it; `merged` in the
        version's statistics says so. Without a base, the head is replaced, and the games that `withdrawn` returns no
        longer count as learned from: what was learned from them is lost with the head.
        """
        with self._publishing() as ledger:
            head = self._head(ledger)
            new, number = made, made.version
            merged = head is not None and base is not None and head.version != unchanged
            if head is not None and base is not None and merged:
                new, number = rebase(head, base, made), made.version + 1
                new.require_finite()
            number = max(number, (ledger.head() or 0) + 1)
            parent = None if head is None else head.version
            new = dataclasses.replace(new, version=number, parent=parent, publisher=publisher)
            return self._put(ledger, new, stats={**stats, "merged": merged}, withdrawn=withdrawn())

    def rollback(self, version: int, *, publisher: str = "rollback") -> ModelState:
        """Publish an earlier version again, under a new number; later versions stay in the history."""
        with self._publishing() as ledger:
            head = self._head(ledger)
            old = self._fitting(version, head)
            new = dataclasses.replace(old, version=(ledger.head() or 0) + 1, parent=version, publisher=publisher)
            if head is not None and not new.features:
                new = dataclasses.replace(new, features=head.features)
            return self._put(ledger, new, stats={"rolled_back_to": version})

    def average(self, count: int, *, publisher: str = "average") -> tuple[ModelState, int]:
        """Publish the mean of the newest weights and their predecessors: `count` versions, or all that are kept.

        Returns the new head, and the number of versions in the mean. Each update moves the policy partly by the noise
        of its own games; in the mean of several updates, this noise partly cancels.
        """
        with self._publishing() as ledger:
            head = self._head(ledger)
            if head is None:
                raise ModelMissing(f"There is no model at {self.model} to average.")
            line, parent = [head], head.parent
            while len(line) < count and parent in self.kept_versions():
                line.append(self._fitting(parent, head))
                parent = line[-1].parent
            mean = np.mean([state.arrays["parameters"] for state in line], axis=0, dtype=np.float64)
            arrays = {**head.arrays, "parameters": mean.astype(head.arrays["parameters"].dtype)}
            number = (ledger.head() or 0) + 1
            new = dataclasses.replace(head, arrays=arrays, version=number, parent=head.version, publisher=publisher)
            return self._put(ledger, new, stats={"average_of": len(line)}), len(line)

    def restart(self, version: int, event: int) -> ModelState:
        """Publish an earlier version again as the newest, once for each event of the gate, however often it is called.

        Training continues from it; the versions in between stay in the history.
        """
        with self._publishing() as ledger:
            head = self._head(ledger)
            for known in ledger.versions_after(version, -1):
                if known.publisher == "gate" and known.stats.get("gate_event") == event:
                    return head or self.load_version(known.version)
            old = self._fitting(version, head)
            new = dataclasses.replace(old, version=(ledger.head() or 0) + 1, parent=version, publisher="gate")
            if head is not None:  # settings and names were not the problem of the line
                new = dataclasses.replace(new, training=head.training, features=new.features or head.features)
            return self._put(ledger, new, stats={"rolled_back_to": version, "gate_event": event})

    def keep_version(self, made: ModelState, *, publisher: str) -> int:
        """Keep a model of another machine beside the versions of this run, and return its number here.

        It keeps its number if that is free, else it gets a lower one. If all lower numbers are taken, it comes after
        the newest version, which is published again to stay the newest.
        """
        with self._publishing() as ledger:
            head = self._head(ledger)
            newest = ledger.head() or 0
            taken = {version.version for version in ledger.versions_after(0, -1)}
            number = next((n for n in range(min(made.version, newest), 0, -1) if n not in taken), newest + 1)
            made = dataclasses.replace(made, version=number, parent=None, publisher=publisher)
            write_content(self.version_path(number), to_bytes(made))
            ledger.record_version(number, None, publisher)
            if head is not None and number > newest:
                self._put(ledger, dataclasses.replace(head, version=number + 1, parent=newest, publisher=publisher))
            return number

    def put_on_stage(self, version: int) -> None:
        """Make bots load this version, while the line is trained separately."""
        with self._publishing() as ledger:
            head = self._head(ledger)
            content = to_bytes(self._fitting(version, head))
            with self._staged.changing_to(ledger, content):
                if head is not None and not self.separate:
                    write_content(self.line, to_bytes(head))
                write_content(self.model, content)

    def put_line_on_stage(self) -> None:
        """Make bots load the newest version, now and whenever another one is published."""
        with self._publishing() as ledger:
            head = self._head(ledger)
            if head is not None and self.separate:
                content = to_bytes(head)
                with self._staged.changing_to(ledger, content):
                    write_content(self.model, content)
                    remove_if_there(self.line)

    def take_in_stage(self, champion: int) -> ModelState | None:
        """If somebody copied a model over the one on stage, publish it as the newest version; otherwise None.

        If the file is missing or unusable, the champion replaces it; an unusable file is renamed.
        """
        if not self.stage_changed:
            return None
        with self._publishing() as ledger:
            head = self._head(ledger)
            if not self.separate or self._staged.is_own(ledger):
                return None
            found = self._staged.usable(ledger, head, lambda: to_bytes(self._fitting(champion, head)))
            if found is None:
                return None
            number = (ledger.head() or 0) + 1
            new = dataclasses.replace(found, version=number, parent=found.version, publisher="by hand")
            return self._put(ledger, new)

    def recover(self) -> ModelState | None:
        """Complete what a killed publisher began, publish a model that a person put there, and return the head."""
        with self._publishing() as ledger:
            return self._head(ledger)

    def _fitting(self, version: int, head: ModelState | None) -> ModelState:
        """A kept version, converted to the features and actions of the head."""
        old = self.load_version(version)
        return old if head is None else fitted(old, head)

    def _publishing(self) -> AbstractContextManager[Ledger]:
        self.folder.mkdir(parents=True, exist_ok=True)
        return publishing(self._lock_path, self._ledger_path)

    def _put(
        self,
        ledger: Ledger,
        state: ModelState,
        consumed: Sequence[LedgerGame] = (),
        stats: Mapping[str, Any] | None = None,
        outcome: Outcome = "learned",
        withdrawn: Sequence[str] = (),
    ) -> ModelState:
        content = to_bytes(state)
        write_content(self.version_path(state.version), content)
        ledger.record_version(state.version, state.parent, state.publisher, consumed, stats, outcome, withdrawn)
        write_content(self.newest, content)
        ledger.record_placed(state.version)
        self._checked = self.signature()
        pins = pinned(ledger)
        for version in self.kept_versions()[: -self._keep]:  # numbers may have gaps
            if version not in pins:
                remove_if_there(self.version_path(version))
        return state

    def _head(self, ledger: Ledger) -> ModelState | None:
        """The published model. If a kill or a person left file and ledger different, they are made to agree."""
        recorded = ledger.head()
        try:
            found = read_model(self.newest)
        except (ModelMissing, ModelDamaged) as trouble:
            found = None
            if isinstance(trouble, ModelDamaged):
                logger.warning("%s", trouble)
        if found is not None:
            if recorded is None:  # the models were copied without their ledger
                return self._put(ledger, dataclasses.replace(found, publisher="adopted"))
            finished = ledger.placed() == recorded
            if found.version == recorded and not self._is_of_another_run(found):
                if not finished:
                    ledger.record_placed(recorded)
                return found
            # A publisher was killed before it replaced the file, which still has the previous version.
            just_before = found.version in [version.version for version in ledger.versions(newest=2)]
            if found.version == recorded or finished or not just_before:
                logger.warning(
                    "%s holds version %d, put there by hand: it is now version %d.",
                    self.newest,
                    found.version,
                    recorded + 1,
                )
                return self._put(
                    ledger, dataclasses.replace(found, version=recorded + 1, parent=found.version, publisher="by hand")
                )
        return None if recorded is None else self._restore(ledger, recorded)

    def _is_of_another_run(self, found: ModelState) -> bool:
        """Whether the newest model has a known number but differs from what this run published under it."""
        signature = self.signature()
        if signature == self._checked:
            return False
        try:
            ours = read_model(self.version_path(found.version))
        except (ModelMissing, ModelDamaged):
            return False
        other = not np.array_equal(ours.arrays["parameters"], found.arrays["parameters"], equal_nan=True)
        if not other:
            self._checked = signature
        return other

    def _restore(self, ledger: Ledger, recorded: int) -> ModelState | None:
        """Restore the newest readable version up to `recorded`; files after that were never published."""
        for version in reversed(self.kept_versions()):
            if version > recorded:
                continue
            try:
                state = read_model(self.version_path(version))
            except (ModelDamaged, ModelMissing):
                continue
            if version < recorded:
                logger.warning(
                    "Version %d is lost; version %d replaces it as version %d.", recorded, version, recorded + 1
                )
                return self._put(
                    ledger, dataclasses.replace(state, version=recorded + 1, parent=version, publisher="restored")
                )
            write_content(self.newest, to_bytes(state))
            return state
        return None
