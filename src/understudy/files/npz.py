"""Arrays in .npz files: fast, deterministic writing, and reading that trusts no byte of the file.

An .npz is a zip of .npy members. Only the part of both formats that NumPy writes is read, by code in this file. Every
size is known and checked before memory is allocated, nothing is unpickled or evaluated, and a file that contradicts
itself is refused.
"""

from __future__ import annotations

import math
import re
import stat
import struct
import sys
import zlib
from collections.abc import Callable, Collection, Mapping
from functools import lru_cache
from io import BufferedReader, BytesIO
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

Shapes = Mapping[str, tuple[int, ...]]
_File = BufferedReader | BytesIO

_MAX_MEMBERS = 64
_MAX_DIMENSIONS = 8
_MAX_NPY_HEADER = 1024  # NumPy needs 118 bytes for a matrix
_MAX_NAME = 100
_SMALL_FILE = 1 << 16
_MAX_TEXT = 1 << 24  # characters; NumPy's own limit is a little higher, and an error of another kind

_STORED, _DEFLATED = 0, 8
_DEFLATE_LEVEL = 1  # a third of the time of level 6, for slightly larger files
_RAW_DEFLATE = -15
_SAMPLE = 2048
_VERSION, _NEWEST_VERSION = 20, 63
_HARMLESS_FLAGS = 0x80E  # how hard deflate tried, sizes that follow the data, names in UTF-8
_DATE = 0x21  # 1 January 1980, the first date in zip: the same arrays always give the same bytes
_LOCAL = struct.Struct("<4s5H3I2H")
_CENTRAL = struct.Struct("<4s6H3I5H2I")
_END = struct.Struct("<4s4H2IH")
_LOCAL_MAGIC, _CENTRAL_MAGIC, _END_MAGIC = b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06"
_NPY_MAGIC = b"\x93NUMPY"
_ZIP_LIMIT = 2**32 - 1  # larger files would need zip64

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*\.npy")
_ITEM = r"'(?:descr|fortran_order|shape)'\s*:\s*(?:'[^'\\]*'|True|False|\([0-9, ]*\))\s*"
_DICT = re.compile(rf"\s*\{{\s*{_ITEM}(?:,\s*{_ITEM})*,?\s*\}}\s*")
_PAIR = re.compile(r"'(descr|fortran_order|shape)'\s*:\s*('[^'\\]*'|True|False|\([0-9, ]*\))")
_DTYPE = re.compile(r"[<>|=]?([biufSU])([0-9]{1,9})")


class _Unusable(Exception):
    """Why a file cannot be read, as words that complete "x.npz …"."""


class _Member(NamedTuple):
    name: str
    method: int
    crc: int
    compressed: int
    size: int
    start: int  # of the local header; of the data once the header was read


class _Header(NamedTuple):
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    fortran: bool
    length: int  # of the header itself
    nbytes: int


def read_npz(
    path: Path,
    *,
    max_bytes: int,
    error: type[Exception],
    wanted: Collection[str] | None = None,
    check: Callable[[Shapes], None] | None = None,
) -> dict[str, NDArray[Any]]:
    """Read the `wanted` arrays (None: all; missing ones are left out) as fresh, writable arrays in native byte order.

    A file that is damaged, hostile or larger than `max_bytes` raises `error` with the reason; a file that cannot be
    opened raises OSError. `check` sees the shapes before any array is allocated, and may raise.
    """
    if not stat.S_ISREG(path.stat().st_mode):
        raise error(f"{path.name} is not a regular file.")
    with path.open("rb") as file:
        return _arrays(_in_memory(file), path.name, max_bytes, error, wanted, check)


def parse_npz(content: bytes, name: str, *, max_bytes: int, error: type[Exception]) -> dict[str, NDArray[Any]]:
    """As read_npz, for the content of a file; `name` is used in error messages."""
    return _arrays(BytesIO(content), name, max_bytes, error)


def _arrays(
    file: _File,
    name: str,
    max_bytes: int,
    error: type[Exception],
    wanted: Collection[str] | None = None,
    check: Callable[[Shapes], None] | None = None,
) -> dict[str, NDArray[Any]]:
    try:
        members = [_at_data(file, m) for m in _members(file, max_bytes)]
        chosen = [m for m in members if wanted is None or m.name in wanted]
        headers = [_npy_header(_beginning(file, m), m, max_bytes) for m in chosen]
        if check is not None:
            check({m.name: h.shape for m, h in zip(chosen, headers, strict=True)})
        return {m.name: _array(file, m, h) for m, h in zip(chosen, headers, strict=True)}
    except _Unusable as reason:
        raise error(f"{name} {reason}.") from None
    except zlib.error as reason:
        raise error(f"{name} holds compressed data that is damaged ({reason}).") from None
    except MemoryError:
        raise error(f"{name} needs more memory than there is.") from None


def write_npz(stream: BinaryIO, arrays: Mapping[str, NDArray[Any]], *, compress: bool) -> None:
    """Write an .npz that np.load can read. The same arrays give the same bytes; a member that deflate cannot shrink is
    stored."""
    if len(arrays) > _MAX_MEMBERS:
        raise ValueError(f"{len(arrays)} arrays: an .npz of Understudy holds at most {_MAX_MEMBERS}.")
    directory = []
    position = 0
    for key, array in arrays.items():
        name = f"{key}.npy"
        if not _NAME.fullmatch(name) or len(name) > _MAX_NAME:
            raise ValueError(f"{key!r} cannot name an array in an .npz: use letters, digits, '_', '.' and '-'.")
        header, body = _npy(key, array)
        size = len(header) + body.nbytes
        crc = zlib.crc32(body, zlib.crc32(header))
        parts: tuple[bytes | memoryview, ...] = (header, body)
        method, stored = _STORED, size
        if compress:
            packed = _deflate(header, body)
            if len(packed) < size:
                method, stored, parts = _DEFLATED, len(packed), (packed,)
        if position + stored >= _ZIP_LIMIT or size >= _ZIP_LIMIT:
            raise ValueError(f"{key} makes the file larger than 4 GB, the limit of an .npz of Understudy.")
        common = (_VERSION, 0, method, 0, _DATE, crc, stored, size, len(name), 0)
        local = _LOCAL.pack(_LOCAL_MAGIC, *common) + name.encode()
        directory.append(_CENTRAL.pack(_CENTRAL_MAGIC, _VERSION, *common, 0, 0, 0, 0o600 << 16, position))
        directory.append(name.encode())
        stream.write(local)
        for part in parts:
            stream.write(part)
        position += len(local) + stored
    central = b"".join(directory)
    count = len(arrays)
    stream.write(central + _END.pack(_END_MAGIC, 0, 0, count, count, len(central), position, 0))


def _npy(key: str, array: NDArray[Any]) -> tuple[bytes, memoryview]:
    """The .npy header and the bytes of an array."""
    try:
        _dtype(key, array.dtype.str)
    except _Unusable as reason:
        raise ValueError(f"An .npz of this kind never {reason}.") from None
    text = f"{{'descr': '{array.dtype.str}', 'fortran_order': False, 'shape': {array.shape}, }}".encode()
    padding = -(len(text) + 11) % 64  # data begins at a multiple of 64, as in files of NumPy
    header = _NPY_MAGIC + struct.pack("<BBH", 1, 0, len(text) + padding + 1) + text + b" " * padding + b"\n"
    flat = np.ascontiguousarray(array).reshape(-1)
    return header, flat.view(np.uint8).data if flat.nbytes else memoryview(b"")


def _deflate(header: bytes, body: memoryview) -> bytes:
    """Compress for speed. Noise-like numbers have no repetitions, so coding bytes by frequency alone packs them as
    well."""
    strategy = zlib.Z_DEFAULT_STRATEGY
    if body.nbytes > 8 * _SAMPLE:
        middle = body.nbytes // 2
        if len(zlib.compress(body[middle : middle + _SAMPLE], _DEFLATE_LEVEL)) > 0.8 * _SAMPLE:
            strategy = zlib.Z_HUFFMAN_ONLY
    deflate = zlib.compressobj(_DEFLATE_LEVEL, zlib.DEFLATED, _RAW_DEFLATE, strategy=strategy)
    return b"".join((deflate.compress(header), deflate.compress(body), deflate.flush()))


def _members(file: _File, max_bytes: int) -> list[_Member]:
    """The zip's directory, after all checks that need no reading of members."""
    length = file.seek(0, 2)
    if length < _END.size:
        raise _Unusable(f"is {length} bytes long, too short for an .npz" if length else "is empty")
    if length > max_bytes + _MAX_MEMBERS * (_MAX_NPY_HEADER + 1024):
        raise _Unusable(f"is {length:,} bytes long; the limit is {max_bytes:,} bytes")
    magic, disk, first_disk, here, count, size, start, comment = _END.unpack(_read(file, length - _END.size, _END.size))
    if magic != _END_MAGIC or comment:
        raise _Unusable("is not an .npz, or its end is missing")
    if disk or first_disk or here != count or start + size != length - _END.size:
        raise _Unusable("has a zip directory that contradicts itself")
    if count > _MAX_MEMBERS or size > _MAX_MEMBERS * 512:
        raise _Unusable(
            f"has a zip directory of {count} members and {size:,} bytes; {_MAX_MEMBERS} members are allowed"
        )
    directory = _read(file, start, size)
    members: dict[str, _Member] = {}
    position = 0
    for _ in range(count):
        member, position = _directory_entry(directory, position)
        if member.name in members:
            raise _Unusable(f"holds {member.name} twice")
        if member.start + _LOCAL.size + member.compressed > start:
            raise _Unusable(f"ends before its member {member.name} does")
        members[member.name] = member
    if position != size:
        raise _Unusable("has a zip directory that contradicts itself")
    total = sum(member.size for member in members.values())
    if total > max_bytes + count * _MAX_NPY_HEADER:
        raise _Unusable(f"expands to {total:,} bytes; the limit is {max_bytes:,} bytes")
    return list(members.values())


def _directory_entry(directory: bytes, position: int) -> tuple[_Member, int]:
    if position + _CENTRAL.size > len(directory):
        raise _Unusable("has a zip directory that contradicts itself")
    fields = _CENTRAL.unpack_from(directory, position)
    magic, _, version, flags, method, _, _, crc, compressed, size, name_length, extra, comment, _, _, _, start = fields
    position += _CENTRAL.size
    name = directory[position : position + name_length].decode("latin-1")
    if magic != _CENTRAL_MAGIC:
        raise _Unusable("has a zip directory that contradicts itself")
    if not _NAME.fullmatch(name) or name_length > _MAX_NAME:
        raise _Unusable(f"holds a member named {name[:_MAX_NAME]!r}, which is not a valid array name")
    if flags & ~_HARMLESS_FLAGS or version & 0xFF > _NEWEST_VERSION:
        raise _Unusable(f"holds {name}, which is encrypted or needs a newer unzip")
    if method not in (_STORED, _DEFLATED):
        raise _Unusable(f"holds {name}, compressed by zip method {method}; only stored and deflated ones are read")
    if method == _STORED and compressed != size:
        raise _Unusable(f"holds {name}, stored in {compressed} bytes but declared as {size} bytes long")
    member = _Member(name.removesuffix(".npy"), method, crc, compressed, size, start)
    return member, position + name_length + extra + comment


def _at_data(file: _File, member: _Member) -> _Member:
    """Check a member's own header against the directory, and return the position of its data."""
    name = f"{member.name}.npy".encode()
    raw = _read(file, member.start, _LOCAL.size + len(name))
    magic, _, flags, method, _, _, _, _, _, name_length, extra = _LOCAL.unpack_from(raw)
    if magic != _LOCAL_MAGIC or name_length != len(name) or raw[_LOCAL.size :] != name:
        raise _Unusable(f"has no member {member.name} where its directory says")
    if method != member.method or flags & ~_HARMLESS_FLAGS:
        raise _Unusable(f"describes its member {member.name} in two contradictory ways")
    data = member.start + len(raw) + extra
    return _Member(member.name, member.method, member.crc, member.compressed, member.size, data)


def _beginning(file: _File, member: _Member) -> bytes:
    """The first bytes of a member, enough to include its .npy header."""
    enough = _MAX_NPY_HEADER + 12
    raw = _read(file, member.start, min(member.compressed, enough))
    return raw if member.method == _STORED else zlib.decompressobj(_RAW_DEFLATE).decompress(raw, enough)


def _npy_header(raw: bytes, member: _Member, max_bytes: int) -> _Header:
    """Parse a .npy header (format 1 to 3) and check that its size agrees with the zip."""
    lengths = {1: "<H", 2: "<I", 3: "<I"}
    if len(raw) < 12 or raw[:6] != _NPY_MAGIC or raw[6] not in lengths:
        raise _Unusable(f"holds {member.name}, which is not a NumPy array")
    width = lengths[raw[6]]
    begin = 8 + struct.calcsize(width)
    end = begin + struct.unpack_from(width, raw, 8)[0]
    if end - begin > _MAX_NPY_HEADER or end > len(raw):
        raise _Unusable(f"holds {member.name}, whose array header is {end - begin:,} bytes long")
    dtype, shape, fortran = _described(member.name, raw[begin:end], max_bytes)
    nbytes = math.prod(shape) * dtype.itemsize
    if end + nbytes != member.size:
        found = f"{end + nbytes:,} bytes, in a member of {member.size:,}"
        raise _Unusable(f"holds {member.name} of shape {shape} and dtype {dtype}, {found}")
    return _Header(dtype, shape, fortran, end, nbytes)


@lru_cache(maxsize=256)  # games of one bot have identical array headers
def _described(name: str, header: bytes, max_bytes: int) -> tuple[np.dtype[Any], tuple[int, ...], bool]:
    """Dtype, shape and order of an array, from the text of its header."""
    text = header.decode("latin-1")
    items = dict(_PAIR.findall(text))
    descr, order, shape_text = items.get("descr", ""), items.get("fortran_order"), items.get("shape", "")
    if not _DICT.fullmatch(text) or descr[:1] != "'" or order not in ("True", "False") or shape_text[:1] != "(":
        raise _Unusable(f"holds {name}, which is not an array of plain numbers: {text.strip()[:120]!r}")
    return _dtype(name, descr[1:-1]), _shape(name, shape_text, max_bytes), order == "True"


def _dtype(name: str, descr: str) -> np.dtype[Any]:
    match = _DTYPE.fullmatch(descr)
    if match is None:
        raise _Unusable(f"holds {name} of dtype {descr!r}; only plain numbers, bools and strings are read")
    kind, size = match[1], int(match[2])
    allowed = {"b": (1,), "i": (1, 2, 4, 8), "u": (1, 2, 4, 8), "f": (2, 4, 8)}
    if size > _MAX_TEXT or size not in allowed.get(kind, (size,)):
        raise _Unusable(f"holds {name} of dtype {descr!r}, of a size that is not read")
    return np.dtype(descr)


def _shape(name: str, text: str, max_bytes: int) -> tuple[int, ...]:
    """The numbers of a tuple's text, each small enough for NumPy to multiply."""
    parts = [part.strip() for part in text[1:-1].split(",")]
    if parts[-1] == "":
        parts.pop()
    if len(parts) > _MAX_DIMENSIONS or not all(part.isdecimal() for part in parts):
        raise _Unusable(
            f"holds {name} of shape {text[:120]}, which is not a shape of at most {_MAX_DIMENSIONS} dimensions"
        )
    shape = tuple(int(part) for part in parts)
    if math.prod(side for side in shape if side) > max_bytes:
        raise _Unusable(f"holds {name} of shape {text[:120]}, which is beyond the limit of {max_bytes:,} bytes")
    return shape


def _array(file: _File, member: _Member, header: _Header) -> NDArray[Any]:
    """Read one member, of exactly the declared size."""
    if member.method == _STORED:
        prefix = _read(file, member.start, header.length)
        raw = np.empty(header.nbytes, np.uint8)
        if file.readinto(raw.data) != header.nbytes:
            raise _Unusable(f"ends before its member {member.name} does")
        crc = zlib.crc32(raw.data, zlib.crc32(prefix))
    else:
        inflate = zlib.decompressobj(_RAW_DEFLATE)
        whole = inflate.decompress(_read(file, member.start, member.compressed), member.size + 1)
        if len(whole) != member.size or not inflate.eof or inflate.unused_data:
            raise _Unusable(f"holds {member.name}, which does not expand to the {member.size:,} bytes it promises")
        crc = zlib.crc32(whole)
        raw = np.frombuffer(whole, np.uint8, header.nbytes, header.length).copy()
    if crc != member.crc:
        raise _Unusable(f"holds {member.name}, whose checksum is wrong: the file was damaged")
    if header.dtype.itemsize == 0:
        return np.zeros(header.shape, header.dtype)
    array = raw.view(header.dtype)
    # NumPy does not check either of these, and fails in odd ways when such arrays are used.
    if header.dtype.kind == "b" and raw.size and raw.max() > 1:
        raise _Unusable(f"holds {member.name}, with bools that are neither 0 nor 1")
    if header.dtype.kind == "U" and raw.size and array.view(f"{header.dtype.byteorder}u4").max() > sys.maxunicode:
        raise _Unusable(f"holds {member.name}, with text that is not valid Unicode")
    if header.dtype.isnative and not header.fortran:
        return array.reshape(header.shape)
    array = array.reshape(header.shape, order="F" if header.fortran else "C")
    return np.ascontiguousarray(array, header.dtype.newbyteorder("=")).reshape(header.shape)  # 0-d arrays became 1-d


def _in_memory(file: BufferedReader) -> _File:
    """A small file, read at once: reading it member by member costs more in system calls than in bytes."""
    start = file.read(_SMALL_FILE + 1)
    return BytesIO(start) if len(start) <= _SMALL_FILE else file


def _read(file: _File, start: int, length: int) -> bytes:
    file.seek(start)
    data = file.read(length)
    if len(data) != length:
        raise _Unusable("ends too early")
    return data
