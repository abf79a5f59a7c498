"""Claims: which learner takes which games. They avoid duplicate work; the head prevents learning from a game twice.

A claim is an object that only one machine can create. It lasts as long as its owner renews it: a machine that waits for
a claim to end watches the owner's heartbeat object, and takes the claim over if that has not changed for the duration
of the lease, by the watcher's own monotonic clock. Clocks of different machines are never compared.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Collection
from typing import Any

from understudy.errors import RemoteError
from understudy.remote.bucket import Bucket
from understudy.remote.head import Head
from understudy.remote.layout import (
    CLAIMS,
    DOCUMENT_BYTES,
    GAMES,
    MACHINES,
    GameKey,
    claim_key,
    from_json,
    is_deletable,
    machine_key,
    machine_of,
    number_in,
    parse_game_key,
    to_json,
)
from understudy.remote.objects import Entry
from understudy.remote.state import Claimed, SyncState

logger = logging.getLogger(__name__)

_LOOKS_PER_LEASE = 4
Games = list[tuple[GameKey, int]]


class Heartbeats:
    """When each machine's heartbeat was last seen to change, by this machine's monotonic clock."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._seen: dict[str, tuple[str, float]] = {}

    def note(self, machine: str, tag: str) -> None:
        """Record a heartbeat."""
        if self._seen.get(machine, ("", 0.0))[0] != tag:
            self._seen[machine] = (tag, self._clock())

    def silent_for(self, machine: str) -> float:
        """Seconds since the heartbeat changed; without any heartbeat, since this was first called for the machine."""
        _, at = self._seen.setdefault(machine, ("", self._clock()))
        return self._clock() - at


class Claims:
    """One machine's view of all claims of a bucket."""

    def __init__(
        self,
        bucket: Bucket,
        state: SyncState,
        machine: str,
        *,
        lease: float,
        games: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._bucket, self._state, self._machine = bucket, state, machine
        self._lease, self._games, self._clock = lease, games, clock
        self._beats = Heartbeats(clock)
        self._complete: dict[str, tuple[str, int]] = {}
        self._known: dict[str, tuple[str, dict[str, Any]]] = {}
        self._next_look = -float("inf")
        self.taken_over = 0

    def take(self, head: Head, most: int, excluded: Collection[str] = ()) -> int:
        """Claim up to `most` games that no machine has claimed; returns how many."""
        claimed = 0
        for entry in self._bucket.list(MACHINES):
            machine = machine_of(entry.key)
            if machine is None:
                continue
            self._beats.note(machine, entry.tag)
            if self._complete.get(machine, ("", 0))[0] != entry.tag:
                self._complete[machine] = entry.tag, self._read_complete(machine)
            if machine not in excluded:
                claimed += self._take_of(machine, head, most - claimed)
            if claimed >= most:
                break
        return claimed

    def look_after(self, head: Head) -> list[Claimed]:
        """Called a few times per lease: end claims that are accounted for, and take over those of silent owners.

        Returns the games that this machine had claimed and that another machine has taken over.
        """
        lost: list[Claimed] = []
        if self._clock() < self._next_look:
            return lost
        self._next_look = self._clock() + self._lease / _LOOKS_PER_LEASE
        for entry in self._bucket.list(MACHINES):
            if (machine := machine_of(entry.key)) is not None:
                self._beats.note(machine, entry.tag)
        entries = [entry for entry in self._bucket.list(CLAIMS) if is_deletable(entry.key)]
        self._known = {entry.key: self._known[entry.key] for entry in entries if entry.key in self._known}
        for entry in entries:
            claim = self._read(entry)
            if claim is None:
                continue
            games = _games_of(claim)
            left = [(place, size) for place, size in games if not head.has(place)]
            owner = claim.get("owner")
            expired = not owner or self._beats.silent_for(str(owner)) > (number_in(claim, "lease") or self._lease)
            if not left:
                if owner == self._machine or expired:
                    self._bucket.delete(entry.key)
            elif owner == self._machine:
                self._state.claim(entry.key, self._unknown(left))
            elif expired:
                self._take_over(entry.key, claim, left)
            else:
                lost += self._give_up(entry.key)
        return lost

    def give_back(self) -> int:
        """Release games that this machine has claimed and does not learn from; the caller removes the files."""
        games = self._state.claimed()
        for key in {game.claim for game in games}:
            found = self._bucket.get(key, DOCUMENT_BYTES)
            claim = {} if found is None else _parsed(found.data)
            if found is not None and claim.get("owner") == self._machine:
                self._bucket.replace(key, to_json({**claim, "owner": "", "nonce": os.urandom(6).hex()}), found.tag)
        for game in games:
            self._state.settle(game.id, fate="elsewhere", name="")
        return len(games)

    def _take_of(self, machine: str, head: Head, most: int) -> int:
        claimed = 0
        consumed = head.consumed.get(machine)
        cursor = max(self._state.cursor(machine), consumed.after if consumed else "")
        _, complete = self._complete[machine]
        if cursor > self._state.cursor(machine) and not _reaches(cursor, complete):
            cursor = max(cursor, self._last_claimed(machine))  # the key may be in the middle of another machine's claim
            self._state.advance(machine, cursor)
        while claimed < most and not _reaches(cursor, complete):
            before = cursor
            entries = self._bucket.list(f"{GAMES}{machine}/", cursor, min(most - claimed, self._games))
            free, cursor = self._free(entries, cursor, complete, head)
            if free:
                cursor, mine = self._claim(machine, free)
                claimed += len(free) if mine else 0
            if cursor == before:
                break
            self._state.advance(machine, cursor)
        return claimed

    def _last_claimed(self, machine: str) -> str:
        """The last claimed key. All games before it are claimed or accounted for."""
        keys = [""]
        for entry in self._bucket.list(f"{CLAIMS}{machine}/"):
            claim = self._read(entry) if is_deletable(entry.key) else None
            keys += [place.key for place, _ in _games_of(claim or {})]
        return max(keys)

    @staticmethod
    def _free(entries: list[Entry], cursor: str, complete: int, head: Head) -> tuple[Games, str]:
        """The first run of consecutive games that are not in the head, and the key before it."""
        free: Games = []
        for entry in entries:
            place = parse_game_key(entry.key)
            if place is not None and place.number > complete:
                break
            if place is None or head.has(place):
                if free:
                    break
                cursor = entry.key
            else:
                free.append((place, entry.size))
        return free, cursor

    def _claim(self, machine: str, games: Games) -> tuple[str, bool]:
        """Claim these games, or find out who has: the last key of the existing claim, and whether it is new."""
        key = claim_key(machine, games[0][0].number)
        document = self._document(games, 1)
        mine = self._bucket.create(key, document)
        if not mine:
            found = self._bucket.get(key, DOCUMENT_BYTES)
            if found is None:  # ended meanwhile; the next read of the head shows it
                return games[0][0].key, False
            claim = _parsed(found.data)
            theirs = _games_of(claim)
            if theirs and claim.get("owner") == self._machine:  # made before this process was killed and restarted
                self._state.claim(key, theirs)
            if theirs:
                return theirs[-1][0].key, False
            if not self._bucket.replace(key, document, found.tag):  # a damaged claim has no owner
                return games[0][0].key, False
        self._state.claim(key, games)
        return games[-1][0].key, True

    def _take_over(self, key: str, claim: dict[str, Any], left: Games) -> None:
        found = self._bucket.get(key, DOCUMENT_BYTES)
        if found is None or _parsed(found.data) != claim:
            return
        if self._bucket.replace(key, self._document(left, int(number_in(claim, "term")) + 1), found.tag):
            logger.info(
                "Took over %d games from %s, which sends no heartbeat.", len(left), claim.get("owner") or "nobody"
            )
            self._known.pop(key, None)
            self._state.claim(key, left)
            self.taken_over += len(left)

    def _give_up(self, key: str) -> list[Claimed]:
        """Another machine has taken over a claim of this one, including the games that are not learned from yet."""
        games = [game for game in self._state.claimed() if game.claim == key]
        for game in games:
            self._state.settle(game.id, fate="elsewhere")
        return games

    def _unknown(self, games: Games) -> Games:
        known = self._state.places(place.id for place, _ in games)
        return [(place, size) for place, size in games if place.id not in known]

    def _document(self, games: Games, term: int) -> bytes:
        return to_json(
            {
                "owner": self._machine,
                "lease": self._lease,
                "term": term,
                "nonce": os.urandom(6).hex(),
                "games": [[place.key, size] for place, size in games],
            }
        )

    def _read(self, entry: Entry) -> dict[str, Any] | None:
        known = self._known.get(entry.key)
        if known is None or known[0] != entry.tag:
            found = self._bucket.get(entry.key, DOCUMENT_BYTES)
            if found is None:
                return None
            known = self._known[entry.key] = (entry.tag, _parsed(found.data))
        return known[1]

    def _read_complete(self, machine: str) -> int:
        found = self._bucket.get(machine_key(machine), DOCUMENT_BYTES)
        return 0 if found is None else int(number_in(_parsed(found.data), "complete"))


def _parsed(data: bytes) -> dict[str, Any]:
    """Parse a heartbeat or a claim. A damaged one is empty, and an empty claim has ended."""
    try:
        return from_json(data, CLAIMS)
    except RemoteError:
        return {}


def _reaches(cursor: str, complete: int) -> bool:
    """Whether a cursor is at or after the last complete game."""
    place = parse_game_key(cursor)
    return place is not None and place.number >= complete


def _games_of(claim: dict[str, Any]) -> Games:
    """The games in a claim; invalid keys are left out."""
    games: Games = []
    listed = claim.get("games")
    for pair in listed if isinstance(listed, list) else []:
        match pair:
            case [str(key), int(size)] if (place := parse_game_key(key)) is not None:
                games.append((place, size))
    return games
