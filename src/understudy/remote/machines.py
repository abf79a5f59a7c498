"""The machines of a bucket: heartbeats, how many of their games are learned, deviations, exclusion."""

from __future__ import annotations

from typing import Any, NamedTuple

from understudy import __version__
from understudy.errors import RemoteError
from understudy.remote.bucket import Bucket
from understudy.remote.head import read_head
from understudy.remote.layout import DOCUMENT_BYTES, EXCLUDED, MACHINES, from_json, machine_of, number_in, to_json
from understudy.remote.profiles import Profile, Tally, deviations
from understudy.remote.ranges import size_of


class MachineFacts(NamedTuple):
    """One machine, for people."""

    name: str
    role: str
    at: float
    """The time of its heartbeat, by its own clock."""
    complete: int
    accounted: int
    """Games that were learned from or permanently set aside."""
    notes: list[str]


def load_machines(bucket: Bucket) -> list[MachineFacts]:
    """All machines that have used the bucket."""
    beats: dict[str, dict[str, Any]] = {}
    for entry in bucket.list(MACHINES):
        machine, found = machine_of(entry.key), bucket.get(entry.key, DOCUMENT_BYTES)
        if machine is not None and found is not None:
            try:
                beats[machine] = from_json(found.data, entry.key)
            except RemoteError:
                beats[machine] = {}
    head = read_head(bucket)
    consumed = {} if head is None else head.consumed
    differing = deviations(_profiles(beats))
    excluded = load_excluded(bucket)
    learned = {name: size_of(part.ranges) for name, part in consumed.items()}
    facts = []
    for name, beat in beats.items():
        notes = [f"excluded: {excluded[name]}"] if name in excluded else []
        notes += differing.get(name, []) + _version_note(beat)
        role, at, complete = str(beat.get("role", "?")), number_in(beat, "at"), int(number_in(beat, "complete"))
        facts.append(MachineFacts(name, role, at, complete, learned.get(name, 0), notes))
    return facts


def _version_note(beat: dict[str, Any]) -> list[str]:
    version = beat.get("understudy")
    if version == __version__:
        return []
    return [f"Understudy {str(version)[:20]}, here {__version__}" if version else "heartbeat is damaged"]


def load_excluded(bucket: Bucket) -> dict[str, str]:
    """Machines whose games are not learned from, with the reason."""
    found = bucket.get(EXCLUDED, DOCUMENT_BYTES)
    return {} if found is None else {name: str(why) for name, why in from_json(found.data, EXCLUDED).items()}


def exclude(bucket: Bucket, machine: str, reason: str | None) -> None:
    """Stop learning from a machine's games or, with None, learn from them again. Earlier learning is kept."""
    while True:
        found = bucket.get(EXCLUDED, DOCUMENT_BYTES)
        excluded = {} if found is None else from_json(found.data, EXCLUDED)
        excluded.pop(machine, None)
        if reason is not None:
            excluded[machine] = reason or "by hand"
        content = to_json(excluded)
        if bucket.create(EXCLUDED, content) if found is None else bucket.replace(EXCLUDED, content, found.tag):
            return


def _profiles(beats: dict[str, dict[str, Any]]) -> dict[str, Profile]:
    """The profiles of each machine's games, merged over all learners."""
    found: dict[str, Profile] = {}
    for beat in beats.values():
        listed = beat.get("seen")
        for machine, numbers in listed.items() if isinstance(listed, dict) else ():
            try:
                seen = Profile(*(Tally(*(float(n) for n in tally)) for tally in numbers))
            except (TypeError, ValueError):
                continue
            found[machine] = found.get(machine, Profile()).merged(seen)
    return found
