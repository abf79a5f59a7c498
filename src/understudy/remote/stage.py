"""One stage for all machines: champion, candidate and the evidence of their comparison, in one object of the bucket.

Every machine has its own gate, which continues to decide while the bucket cannot be reached. `stage.json` is replaced
only by a machine that has read it (compare-and-swap). A comparison is identified by a key: champion, challenger, stage.

    same key        the comparisons of both sides make up the evidence; `counted` says how many of each machine are in
    another key     a machine has decided: the first decision that reaches the bucket applies to all
"""

from __future__ import annotations

import dataclasses
import json
import logging
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from understudy.errors import ModelError, ModelMissing
from understudy.files.atomic import write_atomically
from understudy.ledger.gate import GateLedger
from understudy.models.contest import Contest, contest_from
from understudy.models.gate import Gate
from understudy.models.gate_state import GateState, state_from
from understudy.models.state import MAX_BYTES, ModelState, read_model, to_bytes
from understudy.models.store import ModelStore
from understudy.remote.bucket import Bucket
from understudy.remote.head import ModelRef, load_model
from understudy.remote.layout import (
    DOCUMENT_BYTES,
    STAGE,
    STAGED,
    check_schema,
    damaged,
    from_json,
    hash_of,
    is_deletable,
    to_json,
)
from understudy.remote.state import SyncState
from understudy.rundir import RunDir

logger = logging.getLogger(__name__)

SCHEMA = 1
_KEPT_MODELS = 50
_FACT = "stage"
Key = list[Any]
"""Hashes of champion and challenger, the stage, how often the line was taken off, and the mode."""


@dataclass(slots=True)
class _Memory:
    """The last agreement between this machine and the bucket."""

    key: Key
    number: int
    """The number of the contest in the local gate."""
    closed: list[int]
    """The completed local blocks of that contest, in the order in which they are counted."""


@dataclass(frozen=True, slots=True)
class StageDocument:
    """The content of stage.json."""

    key: Key
    machine: str
    state: GateState
    """With the version numbers of the machine that wrote it."""
    models: dict[str, ModelRef]
    counted: dict[str, int]
    sentence: str
    tag: str


class SharedStage:
    """The gate of one run, synchronised with the bucket."""

    def __init__(self, bucket: Bucket, run: RunDir, state: SyncState, store: ModelStore, machine: str) -> None:
        self._bucket, self._run, self._state, self._store, self._machine = bucket, run, state, store, machine
        self._gate = Gate(run.ledger, store)
        self._digests: dict[int, str] = {}
        self.overruled = 0

    def exchange(self) -> None:
        """Merge what others have found, and send what was found here."""
        document = self._read()
        local = self._gate.look()
        if local is None:
            if document is None or self._store.signature() is None:
                return
            local = self._gate.use(document.state.settings)
        if local is not None and not local.agreed:  # left by a killed process
            local = self._gate.use(local.settings)
        if local is None or not local.agreed:
            return
        try:
            self._exchange(document, local)
        except ModelError as error:
            logger.warning("The stage is not shared now: %s", error)

    def _exchange(self, document: StageDocument | None, local: GateState) -> None:
        memory = self._remembered()
        key = self._key(local)
        if document is None:
            self._push(None, local, self._noted(memory, local, key), {})
        elif key == document.key:
            self._merge(document, local, self._noted(memory, local, key))
        elif memory is not None and memory.key == document.key:
            self._push(document, local, self._noted(memory, local, key), {})
        else:
            if memory is not None and memory.key != key:
                self.overruled += 1
                logger.warning("Another machine decided first: %s", document.sentence)
            self._take_over(document, local)

    def _merge(self, document: StageDocument, local: GateState, memory: _Memory) -> None:
        """The evidence of both: that of the bucket, plus this machine's comparisons that are not in it."""
        counted = document.counted.get(self._machine, 0)
        new = self._differences(memory.closed[counted:])
        theirs = document.state.contest
        contest = local.contest if theirs is None else _with(theirs, new, local.contest)
        if contest != local.contest:
            number = local.number if local.contest is not None else self._next_number(local)
            merged = dataclasses.replace(local, contest=contest, number=number, settings=document.state.settings)
            shared = self._gate.share(local, merged, "")
            if shared is None:  # a game has ended meanwhile
                return
            local = shared
        if local.contest != theirs or self._key(local) != document.key:
            counts = {} if theirs is None else document.counted
            self._push(document, local, self._noted(memory, local, self._key(local)), counts)
        else:
            self._remember(self._noted(memory, local, document.key))

    def _take_over(self, document: StageDocument, local: GateState) -> None:
        """Put on stage what another machine has decided."""
        theirs = document.state
        champion = self._version_of(document, "champion")
        changed = champion != local.champion
        state = dataclasses.replace(
            local,
            settings=theirs.settings,
            champion=champion,
            since=theirs.since,
            stage=theirs.stage,
            line_from=champion if changed else local.line_from,
            contest=theirs.contest,
            number=self._next_number(local),
            challenger=self._version_of(document, "challenger") if "challenger" in document.models else None,
            budget=theirs.budget,
            former=(*local.former, local.champion)[-3:] if changed else local.former,
            restart=None,
            harms=theirs.harms,
            agreed=False,
        )
        shared = self._gate.share(local, state, f"Machine {document.machine} decided: {document.sentence}")
        if shared is not None:
            self._remember(_Memory(document.key, state.number, []))

    def _push(self, document: StageDocument | None, local: GateState, memory: _Memory, counted: dict[str, int]) -> None:
        """Write the local state; if another machine was faster, the next pass tries again."""
        key = self._key(local)
        same = document is not None and document.key == key
        models = {"champion": self._uploaded(local.champion)}
        if local.challenger is not None:
            models["challenger"] = self._uploaded(local.challenger)
        content = to_json(
            {
                "schema": SCHEMA,
                "nonce": os.urandom(6).hex(),
                "machine": self._machine,
                "key": key,
                "state": local.as_json(),
                "models": models,
                "counted": {**(counted if same else {}), self._machine: len(memory.closed)},
                "sentence": self._last_event() if document is None or not same else document.sentence,
                "at": time.time(),  # for people
            }
        )
        self._remember(dataclasses.replace(memory, key=memory.key if not same and document else key))
        tag = None if document is None else document.tag
        done = self._bucket.create(STAGE, content) if tag is None else self._bucket.replace(STAGE, content, tag)
        if done:
            self._remember(dataclasses.replace(memory, key=key))
            self._clean(models.values())

    # ---- what is known here -----------------------------------------------------------------------------------------

    def _noted(self, memory: _Memory | None, local: GateState, key: Key) -> _Memory:
        """The memory with newly completed blocks, each at a fixed position."""
        if memory is None or memory.number != local.number:
            memory = _Memory(memory.key if memory else key, local.number, [])
        with GateLedger(self._run.ledger) as ledger:
            query = "SELECT block FROM gate_blocks WHERE contest = ? AND difference IS NOT NULL ORDER BY at, block"
            done = [int(block) for (block,) in ledger.query(query, (local.number,))]
        known = set(memory.closed)
        return dataclasses.replace(memory, closed=[*memory.closed, *(block for block in done if block not in known)])

    def _differences(self, blocks: Sequence[int]) -> list[float]:
        with GateLedger(self._run.ledger) as ledger:
            rows = [ledger.query("SELECT difference FROM gate_blocks WHERE block = ?", (block,)) for block in blocks]
        return [float(found[0][0]) for found in rows if found]

    def _next_number(self, local: GateState) -> int:
        """A number that no contest of this run has had, so that its open blocks belong to no contest."""
        with GateLedger(self._run.ledger) as ledger:
            (row,) = ledger.query("SELECT max(contest) FROM gate_blocks")
        return max(local.number, row[0] or 0) + 1

    def _last_event(self) -> str:
        with GateLedger(self._run.ledger) as ledger:
            events = ledger.events(newest=1)
        return events[0].sentence if events else ""

    def _remembered(self) -> _Memory | None:
        text = self._state.fact(_FACT)
        return _Memory(**json.loads(text)) if text else None

    def _remember(self, memory: _Memory) -> None:
        text = json.dumps(dataclasses.asdict(memory))
        if text != self._state.fact(_FACT):
            self._state.remember(**{_FACT: text})

    # ---- versions, which have other numbers on other machines -------------------------------------------------------

    def _key(self, state: GateState) -> Key:
        challenger = None if state.challenger is None else self._digest(state.challenger)
        return [self._digest(state.champion), challenger, state.stage, state.harms, state.settings.mode]

    def _digest(self, version: int) -> str:
        if version not in self._digests:
            self._digests[version] = digest_of(self._store.load_version(version))
        return self._digests[version]

    def _version_of(self, document: StageDocument, role: str) -> int:
        """The local version with the weights of the document's champion or challenger, downloaded if necessary."""
        digest = document.key[0 if role == "champion" else 1]
        for version in reversed(self._store.kept_versions()):
            if self._digest(version) == digest:
                return version
        ref = document.models[role]
        data = load_model(self._bucket, ref, MAX_BYTES)
        if data is None:
            raise ModelMissing(f"{ref.key}, the {role} of the bucket, is missing.")
        path = self._run.remote_models / f"{ref.hash}.npz"
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, lambda stream: stream.write(data))
        made = read_model(path)
        made.require_finite()
        return self._store.keep_version(made, publisher="stage")

    def _uploaded(self, version: int) -> ModelRef:
        data = to_bytes(self._store.load_version(version))
        content = hash_of(data)
        key = f"{STAGED}{version:010d}-{content}.npz"
        self._bucket.create(key, data)  # an existing one is identical
        return ModelRef(key, content, len(data), version)

    def _clean(self, used: Any) -> None:
        """Delete the oldest models if very many versions were on stage."""
        keys = {ref.key for ref in used}
        entries = [entry.key for entry in self._bucket.list(STAGED)]
        unused = [key for key in entries if key not in keys and is_deletable(key)]
        for key in unused[:-_KEPT_MODELS]:
            self._bucket.delete(key)

    def _read(self) -> StageDocument | None:
        found = self._bucket.get(STAGE, DOCUMENT_BYTES)
        if found is None:
            return None
        values = from_json(found.data, STAGE)
        check_schema(values, STAGE, SCHEMA)
        try:
            return StageDocument(
                key=list(values["key"]),
                machine=str(values["machine"]),
                state=state_from(values["state"]),
                models={role: ModelRef(*ref) for role, ref in values["models"].items()},
                counted={str(machine): int(number) for machine, number in values["counted"].items()},
                sentence=str(values["sentence"]),
                tag=found.tag,
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise damaged(STAGE, f"{error!r}") from error


def digest_of(model: ModelState) -> str:
    """A hash that identifies equal weights under different version numbers."""
    return hash_of(model.arrays["parameters"].tobytes())


def _with(shared: Contest, differences: Sequence[float], local: Contest | None) -> Contest:
    """The shared evidence plus these comparisons. Simulated games are the same everywhere: the longer series stays."""
    for difference in differences:
        shared = shared.after(difference)
    mine, theirs = getattr(local, "simulated", None), getattr(shared, "simulated", None)
    if mine is not None and theirs is not None and mine.seen > theirs.seen:
        shared = contest_from({**shared.as_json(), "simulated": dataclasses.asdict(mine)})
    return shared
