"""The layout of a bucket, and the format of the objects that machines exchange.

    games/MACHINE/DAY/NUMBER-ID-HASH.npz   a game; written once. Each machine numbers its games, so keys only grow
    machines/MACHINE.json                  a machine's heartbeat: its number of complete games, and its state
    claims/MACHINE/NUMBER.json             a learner has taken games of this machine, from this number on
    models/NUMBER-HASH.npz                 a model; written once
    commits/NUMBER-NONCE.json              one step of the model: its model, the games in it, its parent; written once
    head.json                              the newest commit; replaced only by a commit that is based on it
    stage.json                             who is on stage, and the evidence; replaced only by a machine that has read
    it
    stage/NUMBER-HASH.npz                  a champion or challenger; written once
    counts/FILE                            sums over all machines, such as games against each opponent
    run.json                               the game that is played here
    excluded.json                          machines whose games are not learned from

Clocks of different machines are never compared: a day is only part of a name, and a machine never returns to an earlier
day.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from typing import Any, NamedTuple

from understudy.errors import RemoteError

HEAD, STAGE, RUN, EXCLUDED = "head.json", "stage.json", "run.json", "excluded.json"
GAMES, MACHINES, CLAIMS, COMMITS, MODELS = "games/", "machines/", "claims/", "commits/", "models/"
STAGED, COUNTS = "stage/", "counts/"
DOCUMENT_BYTES = 16_000_000
_REPAIRS = {
    HEAD: f"Copy the newest object of {COMMITS} to {HEAD}.",
    STAGE: "Delete it: the machines make another one.",
    RUN: "Delete it, and name the game once with `understudy work --game`.",
    EXCLUDED: "Delete it, and exclude the machines again.",
}
_MACHINE = re.compile(r"[a-z0-9][a-z0-9-]{0,47}")
_GAME = re.compile(
    r"games/([a-z0-9][a-z0-9-]{0,47})/(\d{4}-\d\d-\d\d)/(\d{10})-([A-Za-z0-9-]{1,64})-([0-9a-f]{32})\.npz"
)
_DELETABLE = re.compile(
    r"claims/[a-z0-9][a-z0-9-]{0,47}/\d{10}\.json|(models|stage)/\d{10}-[0-9a-f]{32}\.npz|commits/\d{10}-[0-9a-f]{12}\.json"
)


class GameKey(NamedTuple):
    """The parts of a game's key."""

    machine: str
    day: str
    number: int
    id: str
    hash: str

    @property
    def key(self) -> str:
        """The key in the bucket."""
        return f"{GAMES}{self.machine}/{self.day}/{self.number:010d}-{self.id}-{self.hash}.npz"


def parse_game_key(key: str) -> GameKey | None:
    """The parts of a game's key; None if it is not one."""
    match = _GAME.fullmatch(key)
    return match and GameKey(match[1], match[2], int(match[3]), match[4], match[5])


def machine_key(machine: str) -> str:
    """The key of a machine's heartbeat."""
    return f"{MACHINES}{machine}.json"


def machine_of(key: str) -> str | None:
    """The machine of a heartbeat's key."""
    name = key.removeprefix(MACHINES).removesuffix(".json")
    return name if _MACHINE.fullmatch(name) else None


def claim_key(machine: str, number: int) -> str:
    """The key of a claim on a machine's games from this number on."""
    return f"{CLAIMS}{machine}/{number:010d}.json"


def is_deletable(key: str) -> bool:
    """Whether an object is a claim, a model or a commit; nothing else in the bucket is ever deleted."""
    return _DELETABLE.fullmatch(key) is not None


def hash_of(data: bytes) -> str:
    """A hash of 32 hex digits that identifies content."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def to_json(values: Any) -> bytes:
    """The bytes of a document; the same values always give the same bytes."""
    return json.dumps(values, sort_keys=True, allow_nan=False).encode()


def from_json(data: bytes, key: str) -> dict[str, Any]:
    """Parse a document; RemoteError if it is not a JSON object."""
    try:
        values = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise damaged(key, f"it is not JSON ({error})") from None
    if not isinstance(values, dict):
        raise damaged(key, "it is not a JSON object")
    return values


def number_in(values: dict[str, Any], name: str) -> float:
    """A number of a document; 0 if there is none with this name."""
    value = values.get(name)
    return value if isinstance(value, (int, float)) and math.isfinite(value) else 0


def check_schema(values: dict[str, Any], key: str, schema: int) -> None:
    """RemoteError if a document was written by a newer version of Understudy, or by another program."""
    found = values.get("schema")
    if isinstance(found, int) and found > schema:
        raise RemoteError(
            f"{key} in the bucket was written by a newer version of Understudy (schema {found}, here {schema}): "
            "upgrade Understudy on this machine."
        )
    if found != schema:
        raise damaged(key, f"its schema is {found!r}, not {schema}")


def damaged(key: str, why: str) -> RemoteError:
    """The error for a document that cannot be read, with what to do."""
    folder = key.partition("/")[0]
    return RemoteError(f"{key} in the bucket is damaged: {why}. {_REPAIRS.get(folder, 'Delete it.')}")
