"""Thousands of episode files that must never be learned from, each damaged in a way that has a name."""

from __future__ import annotations

import io
import json
import os
import pickle
import struct
import warnings
import zipfile
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.experience.episode import Expected

MARKER = "pickle-was-executed"  # appears in the folder if a pickle in one of the files is ever run

Arrays = dict[str, NDArray[Any]]


class _Source:
    """Everything a mutation may draw from."""

    def __init__(self, rng: np.random.Generator, expected: Expected, folder: Path) -> None:
        self.rng = rng
        self.expected = expected
        self.folder = folder

    def pick(self, *choices: Any) -> Any:
        return choices[self.rng.integers(len(choices))]

    def meta(self, **changes: Any) -> NDArray[Any]:
        meta = {"schema": 1, "id": self.rng.bytes(8).hex(), "game": "zerg", "result": "Victory", "ended_at": 1.7e9}
        if self.expected.features_hash is not None:
            meta["features_hash"] = self.expected.features_hash
        return np.array(json.dumps(meta | changes))

    def arrays(self) -> Arrays:
        """A sound game."""
        rng, steps, n_actions = self.rng, int(self.rng.integers(8, 40)), self.expected.n_actions
        actions = rng.integers(0, n_actions, steps)
        legal = rng.random((steps, n_actions)) < 0.5
        legal[np.arange(steps), actions] = True
        return {
            "states": rng.normal(size=(steps, self.expected.state_dim)).astype(np.float32),
            "actions": actions,
            "rewards": rng.normal(size=steps).astype(np.float32),
            "log_probs": -rng.random(steps).astype(np.float32),
            "values": rng.normal(size=steps).astype(np.float32),
            "legal": legal,
            "final_state": rng.normal(size=self.expected.state_dim).astype(np.float32),
            "meta": self.meta(),
        }

    def file(self, arrays: Arrays | None = None) -> bytes:
        """What np.savez or np.savez_compressed writes, but always at the same time of day."""
        method = self.pick(zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w") as archive:
            for name, array in (self.arrays() if arrays is None else arrays).items():
                member = io.BytesIO()
                np.lib.format.write_array(member, array)
                archive.writestr(zipfile.ZipInfo(f"{name}.npy"), member.getvalue(), method)
        return stream.getvalue()


def _truncated(s: _Source) -> bytes:
    whole = s.file()
    return whole[: s.rng.integers(1, len(whole))]


def _bit_flipped(s: _Source) -> bytes:
    """One flipped bit that matters: a flip in a date or in padding leaves the content as it was, and is tried again."""
    whole = s.file()
    original = _content(whole)
    while True:
        flipped = bytearray(whole)
        flipped[s.rng.integers(len(whole))] ^= 1 << s.rng.integers(8)
        if _content(bytes(flipped)) != original:
            return bytes(flipped)


def _content(file: bytes) -> dict[str, tuple[str, tuple[int, ...], bytes]] | None:
    """What NumPy reads, None where it fails."""
    try:
        with np.load(io.BytesIO(file), allow_pickle=False) as arrays:
            return {name: (array.dtype.str, array.shape, array.tobytes()) for name, array in arrays.items()}
    except (ValueError, KeyError, EOFError, OSError, RuntimeError, struct.error, zipfile.BadZipFile, zlib.error):
        return None


def _wrong_type(s: _Source) -> bytes:
    arrays = s.arrays()
    name, dtype = s.pick(
        ("actions", "f8"), ("actions", "?"), ("states", "U8"), ("rewards", "S4"), ("values", "c8"), ("legal", "f4")
    )
    return s.file(arrays | {name: arrays[name].astype(dtype)})


def _wrong_shape(s: _Source) -> bytes:
    arrays = s.arrays()
    states, legal = arrays["states"], arrays["legal"]
    return s.file(
        arrays
        | s.pick(
            {"states": states.reshape(-1)},
            {"states": states[:, :, None]},
            {"states": states[:, 1:]},
            {"actions": arrays["actions"][:, None]},
            {"rewards": arrays["rewards"][None]},
            {"rewards": np.array(1.0)},
            {"legal": legal[:, 0]},
            {"legal": np.ones((len(legal), legal.shape[1] + 1), bool)},
            {"final_state": states},
            {name: arrays[name][:0] for name in ("states", "actions", "rewards", "log_probs", "values", "legal")},
        )
    )


def _different_lengths(s: _Source) -> bytes:
    arrays = s.arrays()
    name = s.pick("states", "actions", "rewards", "log_probs", "values", "legal")
    array = arrays[name]
    return s.file(arrays | {name: s.pick(array[:-1], array[: len(array) // 2], np.concatenate([array, array[:1]]))})


def _missing(s: _Source) -> bytes:
    arrays = s.arrays()
    del arrays[s.pick("states", "actions", "rewards")]
    return s.file(arrays)


def _not_finite(s: _Source) -> bytes:
    arrays = s.arrays()
    name = s.pick("states", "rewards", "log_probs", "values", "final_state")
    array = arrays[name].astype(np.float64)
    array.flat[s.rng.integers(array.size)] = s.pick(np.nan, np.inf, -np.inf, 1e300)
    return s.file(arrays | {name: array})


def _action_out_of_range(s: _Source) -> bytes:
    arrays = s.arrays()
    actions, legal = arrays["actions"], arrays["legal"]
    row = s.rng.integers(len(actions))
    if s.rng.random() < 0.3:
        legal[row, actions[row]] = False
        return s.file(arrays)
    actions[row] = s.pick(-1, s.expected.n_actions, 2**40, -(2**63))
    if s.rng.random() < 0.5:
        del arrays["legal"]
    return s.file(arrays)


def _wrong_features(s: _Source) -> bytes:
    return s.file(s.arrays() | {"meta": s.meta(features_hash=s.rng.bytes(8).hex())})


def _wrong_meta(s: _Source) -> bytes:
    text = s.pick("{", "[]", "null", "[" * 50_000, '{"x": NaN}', '{"id": "../../../etc/passwd"}', '{"schema": 99}')
    changes = s.pick({"id": 7}, {"result": []}, {"ended_at": "today"}, {"actions": [1]}, {"truncated": "no"})
    return s.file(
        s.arrays() | {"meta": s.pick(np.array(text), s.meta(**changes), np.arange(3), np.array([text, text]))}
    )


def _npy(shape: str, descr: str = "<f4", data: bytes = b"", padding: int = 0) -> bytes:
    text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}".encode() + b" " * padding + b"\n"
    return b"\x93NUMPY\x02\x00" + struct.pack("<I", len(text)) + text + data


def _with_member(s: _Source, name: str, content: bytes, method: int = zipfile.ZIP_STORED) -> bytes:
    """A sound game with one more raw member, or with one replaced."""
    arrays = s.arrays()
    arrays.pop(name.removesuffix(".npy"), None)
    stream = io.BytesIO(s.file(arrays))
    with zipfile.ZipFile(stream, "a") as archive:
        archive.writestr(zipfile.ZipInfo(name), content, method)
    return stream.getvalue()


def _huge_header(s: _Source) -> bytes:
    width = s.expected.state_dim
    npy = s.pick(
        _npy(f"(4611686018427387904, {width})"),
        _npy(f"(4294967296, 4294967296, {width})"),
        _npy("(" + "9" * 300 + ",)"),
        _npy(f"(-5, {width})"),
        _npy(f"(0, {10**30})"),
        _npy(f"(8, {width})", data=bytes(32 * width), padding=200_000),
        _npy("(8,)", "<U268435456"),
        b"\x93NUMPY\x02\x00\xff\xff\xff\xff" + bytes(100),
    )
    return _with_member(s, "states.npy", npy, s.pick(zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))


@cache
def _zeros(megabytes: int) -> bytes:
    """Raw deflate blocks of zeros, without the last one."""
    deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
    return (deflate.compress(bytes(1 << 20)) + deflate.flush(zlib.Z_FULL_FLUSH)) * megabytes


def _deflated_zip(members: dict[str, tuple[bytes, int]]) -> bytes:
    """A zip of members that are deflated already, each with whatever size one likes to claim for it."""
    data, directory = b"", b""
    for name, (packed, size) in members.items():
        common = struct.pack("<5H3I2H", 20, 0, 8, 0, 0x21, 0, len(packed), size, len(name), 0)
        directory += b"PK\x01\x02" + struct.pack("<H", 20) + common + struct.pack("<3H2I", 0, 0, 0, 0, len(data))
        directory += name.encode()
        data += b"PK\x03\x04" + common + name.encode() + packed
    counts = struct.pack("<4H2IH", 0, 0, len(members), len(members), len(directory), len(data), 0)
    return data + directory + b"PK\x05\x06" + counts


def _bomb(s: _Source, claim: Callable[[int], int]) -> bytes:
    """A game of zeros whose states unpack to a gigabyte or a good part of it; `claim` turns rows into those told."""
    width = s.expected.state_dim
    blocks = -(-s.pick(1024, 300, 300, 300) // width)
    rows = blocks << 18  # rows of four bytes that fill `blocks` megabytes
    members = {}
    for name, descr, sides in (("states", "<f4", width), ("actions", "<i8", 1), ("rewards", "<f4", 1)):
        told = claim(rows)
        header = _npy(f"({told}, {width})" if name == "states" else f"({told},)", descr)
        row_bytes = int(descr[2]) * sides
        deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
        packed = deflate.compress(header) + deflate.flush(zlib.Z_FULL_FLUSH) + _zeros(blocks * row_bytes // 4)
        packed += zlib.compressobj(9, zlib.DEFLATED, -15).flush()
        members[f"{name}.npy"] = (packed, len(header) + told * row_bytes)
    return _deflated_zip(members)


def _zip_bomb(s: _Source) -> bytes:
    return _bomb(s, lambda rows: rows)


def _lying_directory(s: _Source) -> bytes:
    told = int(s.rng.integers(1, 50))
    return _bomb(s, lambda rows: told)


def _not_a_zip(s: _Source) -> bytes:
    stream = io.BytesIO()
    np.save(stream, s.arrays()["states"])
    noise = s.rng.bytes(int(s.rng.integers(1, 5000)))
    text: bytes = s.pick(noise, b"PK\x03\x04" + noise, b"<html>404</html>\n", stream.getvalue(), bytes(1000), b"\n")
    return text


def _empty(s: _Source) -> bytes:
    return b""


class _Payload:
    """Makes a folder when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Callable[..., None], tuple[str]]:
        return os.mkdir, (str(self.path),)


def _pickled(s: _Source) -> bytes:
    payload = _Payload(s.folder / MARKER)
    if s.rng.random() < 0.2:
        return pickle.dumps(payload)
    objects = np.empty(1, object)
    objects[0] = payload
    name = s.pick("states", "actions", "rewards", "log_probs", "legal", "meta")
    return s.file(s.arrays() | {name: objects})


def _duplicated(s: _Source) -> bytes:
    stream = io.BytesIO(s.file())
    with zipfile.ZipFile(stream, "a") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        name = s.pick("states", "actions", "rewards", "legal", "meta") + ".npy"
        archive.writestr(zipfile.ZipInfo(name), archive.read(name))
    return stream.getvalue()


def _odd_zip(s: _Source) -> bytes:
    """Names that are paths, compression nobody uses, encryption, crowds of members."""
    width = s.expected.state_dim
    states = _npy(f"(8, {width})", data=bytes(32 * width))
    kind = s.rng.integers(4)
    if kind == 0:
        return _with_member(s, s.pick("../x.npy", "/x.npy", "a/b.npy", "..\\x.npy", "x"), states)
    if kind == 1:
        return _with_member(s, "states.npy", states, s.pick(zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA))
    if kind == 2:
        whole = bytearray(s.file())
        whole[whole.rindex(b"PK\x01\x02") + 8] |= 1
        return bytes(whole)
    return s.file(s.arrays() | {f"more{i}": np.zeros(1) for i in range(60)})


_KINDS: dict[str, Callable[[_Source], bytes]] = {
    "truncated": _truncated,
    "bit-flipped": _bit_flipped,
    "wrong-type": _wrong_type,
    "wrong-shape": _wrong_shape,
    "different-lengths": _different_lengths,
    "missing": _missing,
    "not-finite": _not_finite,
    "action-out-of-range": _action_out_of_range,
    "wrong-features": _wrong_features,
    "wrong-meta": _wrong_meta,
    "huge-header": _huge_header,
    "zip-bomb": _zip_bomb,
    "lying-directory": _lying_directory,
    "not-a-zip": _not_a_zip,
    "empty": _empty,
    "pickled": _pickled,
    "duplicated": _duplicated,
    "odd-zip": _odd_zip,
}


def corrupt_files(folder: Path, count: int, seed: int, expected: Expected) -> list[tuple[Path, str]]:
    """Write `count` unusable games into `folder`, of all kinds in turn, and return each with its kind.

    Games of the wrong features are among them only if `expected` says which ones are right.
    """
    source = _Source(np.random.default_rng(seed), expected, folder)
    kinds = [kind for kind in _KINDS if kind != "wrong-features" or expected.features_hash is not None]
    written = []
    for index in range(count):
        kind = kinds[index % len(kinds)]
        path = (
            folder
            / f"game_20260125_{index // 3600 % 24:02}{index // 60 % 60:02}{index % 60:02}_Defeat_{kind}-{index}.npz"
        )
        path.write_bytes(_KINDS[kind](source))
        written.append((path, kind))
    return written


def sound_file(seed: int, expected: Expected, folder: Path) -> bytes:
    """The kind of game that the mutations start from, undamaged."""
    return _Source(np.random.default_rng(seed), expected, folder).file()
