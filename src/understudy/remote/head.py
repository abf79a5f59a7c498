"""The head of a bucket: the newest model, and the games that are in it or will never be.

A commit is based on the head that its machine has read, and replaces it only if the head has not changed
(compare-and-swap). So commits form one line, and a game in one commit is in no other one.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from understudy.errors import RemoteError, RemoteUnavailable
from understudy.remote.bucket import Bucket
from understudy.remote.layout import (
    COMMITS,
    DOCUMENT_BYTES,
    HEAD,
    MODELS,
    GameKey,
    check_schema,
    damaged,
    from_json,
    hash_of,
    is_deletable,
    to_json,
)
from understudy.remote.ranges import Ranges, contains, union

SCHEMA = 1
_KEPT_MODELS = 50
_KEPT_COMMITS = 10_000
_CLEAN_EVERY = 50  # commits
LEARNED = "head"
"""The name of the model that is trained; other names may follow, such as the champion's."""


class ModelRef(NamedTuple):
    """A model in the bucket."""

    key: str
    hash: str
    size: int
    version: int


class Pushed(NamedTuple):
    """The last version of a machine's run that is in the bucket, and the commit that contains it."""

    version: int
    commit: str
    model: ModelRef


class Consumed(NamedTuple):
    """The games of a machine that are accounted for, and a key before which there are no others."""

    ranges: Ranges
    after: str


@dataclass(frozen=True, slots=True)
class Head:
    """The newest commit."""

    commit: str
    number: int
    parent: str | None
    machine: str
    models: Mapping[str, ModelRef]
    consumed: Mapping[str, Consumed]
    pushed: Mapping[str, Pushed]
    recent: Sequence[str]
    tag: str = field(default="", compare=False)

    @property
    def model(self) -> ModelRef:
        """The model that is trained."""
        return self.models[LEARNED]

    def has(self, game: GameKey) -> bool:
        """Whether a game is accounted for."""
        consumed = self.consumed.get(game.machine)
        return consumed is not None and contains(consumed.ranges, game.number)


class CommitStep(NamedTuple):
    """What a machine adds to the head."""

    machine: str
    version: int
    model: bytes | ModelRef
    learned: Sequence[GameKey] = ()
    skipped: Sequence[GameKey] = ()
    own: Sequence[str] = ()
    """Ids of games that were never in the bucket."""


def read_head(bucket: Bucket) -> Head | None:
    """The head; None for an empty bucket."""
    found = bucket.get(HEAD, DOCUMENT_BYTES)
    return None if found is None else _parsed(from_json(found.data, HEAD), found.tag)


def commit(bucket: Bucket, head: Head | None, step: CommitStep) -> bool:
    """Make `step` the head if the head has not changed; False if it has, and then nothing happens."""
    number = 1 if head is None else head.number + 1
    name = f"{number:010d}-{os.urandom(6).hex()}"
    model = step.model if isinstance(step.model, ModelRef) else _upload(bucket, step.model, step.version)
    recent = list(dict.fromkeys([*(head.recent if head else ()), model.key]))
    document = {
        "schema": SCHEMA,
        "commit": name,
        "number": number,
        "parent": head and head.commit,
        "machine": step.machine,
        "models": {**(head.models if head else {}), LEARNED: model},
        "consumed": _consumed(head, [*step.learned, *step.skipped]),
        "pushed": {**(head.pushed if head else {}), step.machine: Pushed(step.version, name, model)},
        "recent": recent[-_KEPT_MODELS:],
        "learned": _by_machine(step.learned),
        "skipped": _by_machine(step.skipped),
        "own": list(step.own),
        "at": time.time(),  # for people
    }
    content = to_json(document)
    bucket.create(f"{COMMITS}{name}.json", content)
    done = bucket.create(HEAD, content) if head is None else bucket.replace(HEAD, content, head.tag)
    if done and number % _CLEAN_EVERY == 0:
        _clean(bucket, number, min(recent[-_KEPT_MODELS:]))
    return done


def _clean(bucket: Bucket, number: int, oldest_model: str) -> None:
    """Delete old models and commits, including those left behind by killed processes."""
    for entry in bucket.list(MODELS):
        if entry.key < oldest_model and is_deletable(entry.key):
            bucket.delete(entry.key)
    oldest = f"{COMMITS}{max(number - _KEPT_COMMITS, 0):010d}"
    for entry in bucket.list(COMMITS, most=2 * _CLEAN_EVERY):
        if entry.key < oldest and is_deletable(entry.key):
            bucket.delete(entry.key)


def load_model(bucket: Bucket, ref: ModelRef, most: int) -> bytes | None:
    """The verified bytes of a model; None if it was deleted."""
    if ref.size > most:
        raise RemoteError(f"{ref.key} in the bucket has {ref.size:,} bytes; the limit is {most:,} bytes.")
    found = bucket.get(ref.key, ref.size)
    if found is not None and hash_of(found.data) != ref.hash:
        raise RemoteUnavailable(f"{ref.key} did not arrive whole: its hash is not {ref.hash}.")
    return None if found is None else found.data


def _upload(bucket: Bucket, data: bytes, version: int) -> ModelRef:
    content = hash_of(data)
    key = f"{MODELS}{version:010d}-{content}.npz"
    bucket.create(key, data)  # an existing one is identical
    return ModelRef(key, content, len(data), version)


def _consumed(head: Head | None, games: Iterable[GameKey]) -> dict[str, Consumed]:
    consumed = dict(head.consumed if head else {})
    by_machine: dict[str, list[GameKey]] = {}
    for game in games:
        by_machine.setdefault(game.machine, []).append(game)
    for machine, more in by_machine.items():
        before = consumed.get(machine, Consumed([], ""))
        ranges = union(before.ranges, (game.number for game in more))
        through = ranges[0][1] if ranges[0][0] == 1 else 0
        keys = [before.after, *(game.key for game in more if game.number <= through)]
        consumed[machine] = Consumed(ranges, max(keys))
    return consumed


def _by_machine(games: Iterable[GameKey]) -> dict[str, Ranges]:
    found: dict[str, Ranges] = {}
    for game in games:
        found[game.machine] = union(found.get(game.machine, []), [game.number])
    return found


def _parsed(values: dict[str, Any], tag: str) -> Head:
    check_schema(values, HEAD, SCHEMA)
    try:
        return Head(
            commit=str(values["commit"]),
            number=int(values["number"]),
            parent=values["parent"],
            machine=str(values["machine"]),
            models={name: _ref(ref) for name, ref in values["models"].items()},
            consumed={
                machine: Consumed([[int(first), int(last)] for first, last in ranges], str(after))
                for machine, (ranges, after) in values["consumed"].items()
            },
            pushed={
                machine: Pushed(int(version), str(name), _ref(ref))
                for machine, (version, name, ref) in values["pushed"].items()
            },
            recent=[str(key) for key in values["recent"]],
            tag=tag,
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise damaged(HEAD, f"{error!r}") from error


def _ref(values: Any) -> ModelRef:
    key, content, size, version = values
    return ModelRef(str(key), str(content), int(size), int(version))
