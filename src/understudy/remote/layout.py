"""Where everything in a bucket is, and what the objects that machines exchange must look like.

games/MACHINE/DAY/NUMBER-ID-HASH.npz   a game; written once. Each machine numbers its games, so keys only grow
machines/MACHINE.json                  a machine's heartbeat: how many of its games are complete, what it does
claims/MACHINE/NUMBER.json             a learner has taken games of this machine, from this number on
models/NUMBER-HASH.npz                 a model; written once
commits/NUMBER-NONCE.json              one step of the model: its model, the games in it, its parent; written once
head.json                              the newest commit; replaced only by a commit that was made from it
stage.json                             who is on stage, and the evidence; replaced only by a machine that has read it
stage/NUMBER-HASH.npz                  a champion or challenger; written once
counts/FILE                            what all machines have counted, as games against each opponent
run.json                               which game is played here
excluded.json                          machines whose games are not learned from

No clock is compared with another one: a day is only part of a name, and a machine never goes back to an earlier day.
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
    """What the key of a game tells about it."""

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
    """The parts of a game's key; None if it is none."""
    match = _GAME.fullmatch(key)
    return match and GameKey(match[1], match[2], int(match[3]), match[4], match[5])


def machine_key(machine: str) -> str:
    """Where a machine's heartbeat is."""
    return f"{MACHINES}{machine}.json"


def machine_of(key: str) -> str | None:
    """The machine of a heartbeat's key."""
    name = key.removeprefix(MACHINES).removesuffix(".json")
    return name if _MACHINE.fullmatch(name) else None


def claim_key(machine: str, number: int) -> str:
    """Where a claim on a machine's games from a number on is."""
    return f"{CLAIMS}{machine}/{number:010d}.json"


def is_deletable(key: str) -> bool:
    """Whether an object is a claim, a model or a commit: nothing else in the bucket is ever deleted."""
    return _DELETABLE.fullmatch(key) is not None


def hash_of(data: bytes) -> str:
    """32 hex digits by which content is recognised."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def to_json(values: Any) -> bytes:
    """The bytes of a document; the same values give the same bytes."""
    return json.dumps(values, sort_keys=True, allow_nan=False).encode()


def from_json(data: bytes, key: str) -> dict[str, Any]:
    """A document that somebody wrote; RemoteError if it is no JSON object."""
    try:
        values = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise damaged(key, f"it is no JSON ({error})") from None
    if not isinstance(values, dict):
        raise damaged(key, "it is no JSON object")
    return values


def number_in(values: dict[str, Any], name: str) -> float:
    """A number of a document; 0 if it has none of this name."""
    value = values.get(name)
    return value if isinstance(value, (int, float)) and math.isfinite(value) else 0


def check_schema(values: dict[str, Any], key: str, schema: int) -> None:
    """RemoteError if a document was written by a newer version of Understudy, or by something else."""
    found = values.get("schema")
    if isinstance(found, int) and found > schema:
        raise RemoteError(
            f"{key} in the bucket was written by a newer version of Understudy (schema {found}, here {schema}): "
            "upgrade Understudy on this machine."
        )
    if found != schema:
        raise damaged(key, f"its schema is {found!r}, not {schema}")


def damaged(key: str, why: str) -> RemoteError:
    """The error that a document cannot be read, with what to do."""
    folder = key.partition("/")[0]
    return RemoteError(f"{key} in the bucket is damaged: {why}. {_REPAIRS.get(folder, 'Delete it.')}")
