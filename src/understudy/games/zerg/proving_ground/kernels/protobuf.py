"""Protobuf, written by compiled kernels.

Lengths are two-byte varints, which every protobuf reader accepts, so no bytes need to be moved afterwards.
"""

from __future__ import annotations

from typing import Any

from understudy.games.zerg.proving_ground.compiled import kernel

VARINT_TYPE, BYTES_TYPE, FLOAT_TYPE = 0, 2, 5  # protobuf's wire types
X_FIELD, Y_FIELD, Z_FIELD = 1, 2, 3  # of a Point
FIELD_SHIFT = 3  # a field's key is its number and, in the lowest three bits, its wire type
MORE, SEVEN, SEVEN_BITS = 128, 7, 127  # of a varint's byte: whether another one follows, and its value


@kernel
def put_varint(out: Any, at: int, value: int) -> int:
    """Write a number that is not negative."""
    while value > SEVEN_BITS:
        out[at] = (value & SEVEN_BITS) | MORE
        value >>= SEVEN
        at += 1
    out[at] = value
    return at + 1


@kernel
def put_number(out: Any, at: int, field: int, value: int) -> int:
    """Write a varint field."""
    return put_varint(out, put_varint(out, at, field << FIELD_SHIFT | VARINT_TYPE), value)


@kernel
def put_float(out: Any, at: int, field: int, value: float, cell: Any) -> int:
    """Write a 32-bit float field; `cell` is one number, as float32 and as the same four bytes in a uint32."""
    at = put_varint(out, at, field << FIELD_SHIFT | FLOAT_TYPE)
    cell[0][0] = value
    bits = cell[1][0]
    out[at], out[at + 1], out[at + 2], out[at + 3] = bits & 255, (bits >> 8) & 255, (bits >> 16) & 255, bits >> 24
    return at + 4


@kernel
def open_message(out: Any, at: int, field: int) -> int:
    """Start an embedded message and leave two bytes for its length."""
    return put_varint(out, at, field << FIELD_SHIFT | BYTES_TYPE) + 2


@kernel
def close_message(out: Any, start: int, at: int) -> None:
    """Fill in the length of the message that began at `start`."""
    size = at - start
    out[start - 2] = (size & SEVEN_BITS) | MORE
    out[start - 1] = size >> SEVEN


@kernel
def put_point(out: Any, at: int, field: int, x: float, y: float, z: float, cell: Any) -> int:
    """Write a Point."""
    start = open_message(out, at, field)
    at = put_float(out, start, X_FIELD, x, cell)
    at = put_float(out, at, Y_FIELD, y, cell)
    at = put_float(out, at, Z_FIELD, z, cell)
    close_message(out, start, at)
    return at
