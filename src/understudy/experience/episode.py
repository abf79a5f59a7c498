"""Episode, the record of a game: the rules that it must meet, and its .npz file.

The rules are the same for writing and for reading, so a game that the learner would refuse is never saved.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import re
import time
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.errors import EpisodeError
from understudy.files.atomic import write_atomically
from understudy.files.npz import Shapes, read_npz, write_npz
from understudy.settings import StorageSettings

SCHEMA = 1
DEFAULT_LIMITS = StorageSettings()
_REQUIRED = ("states", "actions", "rewards")
_PER_DECISION = {
    "actions": "action",
    "rewards": "reward",
    "log_probs": "log-probability",
    "values": "value",
    "trial": "mark",
}
_FLOATS = ("states", "rewards", "log_probs", "values", "final_state")
_ARRAYS = (*_REQUIRED, "log_probs", "values", "legal", "final_state", "trial")
_MAX_META = 1_000_000
_LATEST = 32_503_680_000.0  # the year 3000: the latest time that every system's calendar functions accept
_LOG_PROB_SLACK = 1e-3  # rounding can put a certain action slightly above zero
_EXACT = 2**24  # float32 holds every whole number up to this one
_ID = re.compile(r"[A-Za-z0-9-]{1,64}")
_FILE_NAME = re.compile(r"game_(\d{8}_\d{6})_([A-Za-z0-9-]+)(?:_[A-Za-z0-9-]+)?\.npz")


def new_episode_id() -> str:
    """An id that no other game has, on any machine. It is not drawn from a seeded generator, which could repeat it."""
    return os.urandom(8).hex()


@dataclass(frozen=True, slots=True)
class EpisodeMeta:
    """What is known about a game besides its decisions. Keys that this version does not know are kept in `extra`."""

    schema: int = SCHEMA
    id: str = field(default_factory=new_episode_id)
    game: str = ""
    map: str = ""
    opponent_id: str = ""
    opponent_race: str = ""
    result: str = "Unknown"
    truncated: bool = False
    model_version: int | None = None
    features_hash: str | None = None
    actions: tuple[str, ...] | None = None
    seed: int | None = None
    started_at: float = field(default_factory=time.time)
    ended_at: float = 0.0
    trained_online: bool = False
    extra: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.schema != SCHEMA:
            raise EpisodeError(f"its schema is {self.schema!r}, this version reads {SCHEMA}: upgrade understudy.")
        for name in ("id", "game", "map", "opponent_id", "opponent_race", "result"):
            _require(isinstance(getattr(self, name), str), self, name, "text")
        for name in ("truncated", "trained_online"):
            _require(isinstance(getattr(self, name), bool), self, name, "true or false")
        for name in ("model_version", "seed"):
            value = getattr(self, name)
            _require(value is None or type(value) is int, self, name, "a whole number or null")
        for name in ("ended_at", "started_at"):
            value = getattr(self, name)
            _require(type(value) in (int, float) and 0 <= value < _LATEST, self, name, "seconds since 1970")
        _require(isinstance(self.features_hash, str | None), self, "features_hash", "text or null")
        labels = ("",) if self.actions is None else self.actions
        labelled = isinstance(labels, tuple) and len(labels) > 0 and all(isinstance(label, str) for label in labels)
        _require(labelled, self, "actions", "a list of labels or null")
        _require(bool(_ID.fullmatch(self.id)), self, "id", "1 to 64 letters, digits and '-'")
        _require(isinstance(self.extra, dict) and not META_FIELDS.intersection(self.extra), self, "extra", "other keys")

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> EpisodeMeta:
        """Build from parsed JSON; EpisodeError if a value has the wrong type."""
        known = {key: value for key, value in values.items() if key in META_FIELDS}
        if isinstance(known.get("actions"), list):
            known["actions"] = tuple(known["actions"])
        return cls(**known, extra={key: value for key, value in values.items() if key not in META_FIELDS})

    def to_json(self) -> str:
        """The JSON text that the file holds; ASCII only."""
        values = {name: getattr(self, name) for name in _FIELDS}
        try:
            return json.dumps(values | self.extra, allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            raise EpisodeError(f"meta cannot be written as JSON: {error}.") from error


_FIELDS = tuple(f.name for f in dataclasses.fields(EpisodeMeta) if f.name != "extra")
META_FIELDS = frozenset(_FIELDS)


def _require(holds: bool, meta: EpisodeMeta, name: str, expected: str) -> None:
    if not holds:
        raise EpisodeError(f"{name} in meta is {str(getattr(meta, name))[:80]!r}; it must be {expected}.")


@dataclass(frozen=True, slots=True, eq=False)
class Episode:
    """One game of T decisions. `rewards[t]` followed `actions[t]`; `log_probs` are those of the policy that acted."""

    states: NDArray[np.float32]  # (T, S)
    actions: NDArray[np.int64]  # (T,)
    rewards: NDArray[np.float32]  # (T,)
    log_probs: NDArray[np.float32] | None = None  # (T,)
    values: NDArray[np.float32] | None = None  # (T,)
    legal: NDArray[np.bool_] | None = None  # (T, A)
    final_state: NDArray[np.float32] | None = None  # (S,): the state after the last decision of a game that was cut off
    trial: NDArray[np.bool_] | None = None  # (T,): the decisions in which a trial kept to its action
    meta: EpisodeMeta = field(default_factory=EpisodeMeta)

    def __len__(self) -> int:
        return len(self.actions)

    @property
    def nbytes(self) -> int:
        """The memory its arrays take."""
        return sum(array.nbytes for array in _arrays(self).values())


@dataclass(frozen=True, slots=True)
class Expected:
    """What the present model can learn from; an Episode recorded for another model is refused."""

    state_dim: int
    n_actions: int
    features_hash: str | None = None


def features_hash(names: Sequence[str]) -> str:
    """Sixteen hex digits that change when a feature is added, renamed or moved."""
    return hashlib.blake2b(json.dumps(list(names)).encode(), digest_size=8).hexdigest()


def file_name(meta: EpisodeMeta) -> str:
    """The name of the game's file: its end in local time, its result, its id."""
    ended = time.strftime("%Y%m%d_%H%M%S", time.localtime(meta.ended_at))
    result = re.sub(r"[^A-Za-z0-9-]+", "-", meta.result)[:32] or "Unknown"
    return f"game_{ended}_{result}_{meta.id}.npz"


def write_episode(path: Path, episode: Episode, *, compress: bool, durable: bool = True) -> None:
    """Check the game and write its file atomically.

    When this returns, the file survives a power cut; `durable=False` guarantees only a whole file, and is faster.
    """
    checked = validated(_arrays(episode), episode.meta)
    arrays = _arrays(checked) | {"meta": np.array(checked.meta.to_json())}
    write_atomically(path, lambda stream: write_npz(stream, arrays, compress=compress), durable=durable)


def read_episode(path: Path, limits: StorageSettings = DEFAULT_LIMITS, expected: Expected | None = None) -> Episode:
    """Read a game from an untrusted file: EpisodeError if it is unusable, OSError if it cannot be opened.

    A file with only states, actions and rewards gets its id from a hash of its bytes, and its result from its name.
    """

    def check(shapes: Shapes) -> None:
        with _about(path):
            _check_shapes(shapes)
            if shapes["states"][0] > limits.episode_steps:
                raise EpisodeError(f"{shapes['states'][0]:,} decisions; the limit is {limits.episode_steps:,}.")

    wanted = (*_ARRAYS, "meta")
    arrays = read_npz(path, max_bytes=limits.episode_bytes, error=EpisodeError, wanted=wanted, check=check)
    with _about(path):
        values = _parsed_meta(arrays.pop("meta", None))
        values.setdefault("truncated", "final_state" in arrays)
        if "id" not in values:
            with path.open("rb") as stream:
                values["id"] = "sha-" + hashlib.file_digest(stream, lambda: hashlib.blake2b(digest_size=16)).hexdigest()
        if "result" not in values or "ended_at" not in values:
            ended_at, result = _from_file_name(path)
            values = {"ended_at": ended_at, "result": result} | values
        values.setdefault("started_at", values["ended_at"])
        return validated(arrays, EpisodeMeta.from_mapping(values), expected)


def episode_from(source: Episode | Mapping[str, Any], expected: Expected | None = None) -> Episode:
    """A checked Episode from an Episode, a dict of arrays, or what np.load returns for a game's file."""
    if isinstance(source, Episode):
        return validated(_arrays(source), source.meta, expected)
    if not isinstance(source, Mapping):
        raise EpisodeError(f"an Episode or a mapping of arrays is needed, not {type(source).__name__}.")
    try:
        given = {name: source.get(name) for name in _ARRAYS}
        arrays = {name: np.asarray(array) for name, array in given.items() if array is not None}
        meta = source.get("meta")
    except (ValueError, RuntimeError, zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise EpisodeError(f"its arrays cannot be read: {error}.") from error
    if not isinstance(meta, EpisodeMeta):
        now = time.time()
        defaults = {"truncated": "final_state" in arrays, "started_at": now, "ended_at": now}
        meta = EpisodeMeta.from_mapping(defaults | _parsed_meta(meta))
    return validated(arrays, meta, expected)


def validated(arrays: Mapping[str, NDArray[Any]], meta: EpisodeMeta, expected: Expected | None = None) -> Episode:
    """The one place that decides whether a game can be learned from; EpisodeError gives the reason if not."""
    _check_shapes({name: array.shape for name, array in arrays.items()})
    floats = {name: _floats(name, arrays[name]) for name in _FLOATS if name in arrays}
    actions = _whole_numbers(arrays["actions"])
    legal, trial = (_bools(name, arrays[name]) if name in arrays else None for name in ("legal", "trial"))
    log_probs = floats.get("log_probs")
    if log_probs is not None and (highest := log_probs.max()) > _LOG_PROB_SLACK:
        raise EpisodeError(f"log_probs reaches {highest:g}; the logarithm of a probability is at most 0.")
    n_actions = _n_actions(meta, legal, expected)
    if actions.min() < 0 or (n_actions is not None and actions.max() >= n_actions):
        bad = actions.min() if actions.min() < 0 else actions.max()
        raise EpisodeError(
            f"actions holds {bad}; " + (f"there are {n_actions} actions." if n_actions else "it is negative.")
        )
    if legal is not None:
        _check_legal(legal, actions)
    if expected is not None:
        _check_expected(expected, arrays["states"].shape[1], meta)
    return Episode(actions=actions, legal=legal, trial=trial, meta=meta, **floats)


def _arrays(episode: Episode) -> dict[str, NDArray[Any]]:
    named = {name: getattr(episode, name) for name in _ARRAYS}
    return {name: np.asarray(array) for name, array in named.items() if array is not None}


def _check_shapes(shapes: Shapes) -> None:
    """Check all rules about shapes. This needs no data, so a bad file is refused before its arrays are allocated."""
    missing = [name for name in _REQUIRED if name not in shapes]
    if missing:
        raise EpisodeError(f"{' and '.join(missing)} missing: a game needs states, actions and rewards.")
    if len(shapes["states"]) != 2 or 0 in shapes["states"]:
        raise EpisodeError(
            f"states has shape {shapes['states']}; it must be (decisions, features), at least one of each."
        )
    steps, features = shapes["states"]
    for name, noun in _PER_DECISION.items():
        shape = shapes.get(name, (steps,))
        if len(shape) != 1:
            raise EpisodeError(f"{name} has shape {shape}; it must be ({steps},), one {noun} for each decision.")
        if shape[0] != steps:
            raise EpisodeError(
                f"{name} has {shape[0]} entries, states has {steps}: every decision needs exactly one {noun}."
            )
    legal = shapes.get("legal", (steps, 1))
    if len(legal) != 2 or legal[0] != steps or legal[1] < 1:
        raise EpisodeError(f"legal has shape {legal}; it must be ({steps}, actions).")
    if shapes.get("final_state", (features,)) != (features,):
        raise EpisodeError(f"final_state has shape {shapes['final_state']}; states have {features} features.")


def _floats(name: str, array: NDArray[Any]) -> NDArray[np.float32]:
    if array.dtype.kind not in "fiub":
        raise EpisodeError(f"{name} has dtype {array.dtype}; it must be float32.")
    with np.errstate(over="ignore"):
        converted = np.ascontiguousarray(array, np.float32)
    if not np.isfinite(converted).all():
        where = int(np.flatnonzero(~np.isfinite(converted.reshape(len(converted), -1)).all(axis=1))[0])
        raise EpisodeError(f"{name} is not finite in float32, first in row {where}.")
    if array.dtype.kind in "iu" and (array.min() < -_EXACT or array.max() > _EXACT):
        raise EpisodeError(f"{name} holds whole numbers ({array.dtype}) that float32 cannot hold exactly.")
    return converted


def _whole_numbers(array: NDArray[Any]) -> NDArray[np.int64]:
    if array.dtype.kind not in "iu":
        raise EpisodeError(f"actions has dtype {array.dtype}; it must be int64.")
    if array.dtype.kind == "u" and array.max() > np.iinfo(np.int64).max:
        raise EpisodeError(f"actions holds {array.max()}, which int64 cannot.")
    return np.ascontiguousarray(array, np.int64)


def _bools(name: str, array: NDArray[Any]) -> NDArray[np.bool_]:
    if array.dtype.kind not in "biu" or (array.dtype.kind != "b" and not np.isin(array, (0, 1)).all()):
        raise EpisodeError(f"{name} has dtype {array.dtype} and must be bool, or hold only 0 and 1.")
    return np.ascontiguousarray(array, np.bool_)


def _n_actions(meta: EpisodeMeta, legal: NDArray[np.bool_] | None, expected: Expected | None) -> int | None:
    """The number of actions. All sources that state it must agree."""
    known: dict[str, int] = {}
    if expected is not None:
        known["the model"] = expected.n_actions
    if legal is not None:
        known["legal"] = legal.shape[1]
    if meta.actions is not None:
        known["the action labels"] = len(meta.actions)
    if len(set(known.values())) > 1:
        told = ", ".join(f"{count} according to {who}" for who, count in known.items())
        raise EpisodeError(f"the number of actions is {told}: the game was recorded for another set of actions.")
    return next(iter(known.values()), None)


def _check_legal(legal: NDArray[np.bool_], actions: NDArray[np.int64]) -> None:
    taken = legal[np.arange(len(actions)), actions]
    if not taken.all():  # a row in which the action taken is legal has a legal action
        row = int(np.flatnonzero(~taken)[0])
        found = f"action {actions[row]} is illegal there" if legal[row].any() else "no action is legal there"
        raise EpisodeError(f"decision {row}: {found}, according to legal.")


def _check_expected(expected: Expected, state_dim: int, meta: EpisodeMeta) -> None:
    if state_dim != expected.state_dim:
        raise EpisodeError(
            f"states has {state_dim} features, the model {expected.state_dim}: the game was recorded for another model."
        )
    found, wanted = meta.features_hash, expected.features_hash
    if found is not None and wanted is not None and found != wanted:
        raise EpisodeError(
            f"features_hash {found[:32]} in the file, {wanted} in the model: "
            "the game was recorded with another list of features."
        )


def _parsed_meta(raw: Any) -> dict[str, Any]:
    """The meta member as a dict. Its values are not checked yet."""
    if raw is None:
        return {}
    try:
        text = raw.item() if isinstance(raw, np.ndarray) else raw
        if isinstance(text, str | bytes) and len(text) <= _MAX_META:
            text = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise EpisodeError(f"meta is not JSON: {error}.") from error
    if not isinstance(text, Mapping):
        raise EpisodeError(f"meta is not a JSON object of at most {_MAX_META:,} characters.")
    return dict(text)


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not a JSON number")


def _from_file_name(path: Path) -> tuple[float, str]:
    """When the game ended and its result, from the file's name; without one, the time from the file's date."""
    match = _FILE_NAME.fullmatch(path.name)
    dated = max(path.stat().st_mtime, 0.0)  # some disks and archives give dates before 1970
    if match is None:
        return dated, "Unknown"
    try:
        ended_at = time.mktime(time.strptime(match[1], "%Y%m%d_%H%M%S"))
    except (ValueError, OverflowError):
        ended_at = dated
    return max(ended_at, 0.0), match[2]


@contextmanager
def _about(path: Path) -> Iterator[None]:
    try:
        yield
    except EpisodeError as error:
        raise EpisodeError(f"{path.name}: {error}") from error.__cause__
