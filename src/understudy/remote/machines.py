"""The machines of a bucket: heartbeats, how many of their games are learned, deviations, exclusion."""

from __future__ import annotations

from typing import Any, NamedTuple

from understudy.errors import RemoteError
from understudy.remote.bucket import Bucket
from understudy.remote.head import read_head
from understudy.remote.layout import DOCUMENT_BYTES, EXCLUDED, MACHINES, from_json, machine_of, to_json
from understudy.remote.profiles import Profile, Tally, deviations
from understudy.remote.ranges import size_of


class MachineFacts(NamedTuple):
    """One machine, for people."""

    name: str
    role: str
    at: float
    """When it sent its heartbeat, by its own clock."""
    complete: int
    accounted: int
    """Games that were learned, or set aside for good."""
    notes: list[str]


def load_machines(bucket: Bucket) -> list[MachineFacts]:
    """All machines that have used the bucket."""
    beats: dict[str, dict[str, Any]] = {}
    for entry in bucket.list(MACHINES):
        machine, found = machine_of(entry.key), bucket.get(entry.key, DOCUMENT_BYTES)
        if machine is not None and found is not None:
            beats[machine] = from_json(found.data, entry.key)
    head = read_head(bucket)
    consumed = {} if head is None else head.consumed
    differing = deviations(_profiles(beats))
    excluded = load_excluded(bucket)
    return [
        MachineFacts(
            name,
            str(beat.get("role", "?")),
            float(beat.get("at", 0)),
            int(beat.get("complete", 0)),
            size_of(consumed[name].ranges) if name in consumed else 0,
            [*([f"excluded: {excluded[name]}"] if name in excluded else []), *differing.get(name, [])],
        )
        for name, beat in beats.items()
    ]


def load_excluded(bucket: Bucket) -> dict[str, str]:
    """Machines whose games are not learned from, and why."""
    found = bucket.get(EXCLUDED, DOCUMENT_BYTES)
    return {} if found is None else {name: str(why) for name, why in from_json(found.data, EXCLUDED).items()}


def exclude(bucket: Bucket, machine: str, reason: str | None) -> None:
    """Learn no more games of a machine, or learn them again (None). Games that are learned already stay learned."""
    if machine_of(f"{MACHINES}{machine}.json") is None:
        raise RemoteError(f"{machine!r} cannot be the name of a machine.")
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
    """What the learners have seen of each machine's games, together."""
    found: dict[str, Profile] = {}
    for beat in beats.values():
        for machine, numbers in dict(beat.get("seen", {})).items():
            try:
                seen = Profile(*(Tally(*(float(n) for n in tally)) for tally in numbers))
            except (TypeError, ValueError):
                continue
            found[machine] = found.get(machine, Profile()).merged(seen)
    return found
