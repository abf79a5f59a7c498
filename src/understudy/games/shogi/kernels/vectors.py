"""Sums of products on vectors of 16 numbers, emitted as LLVM code, which is faster than numba's own loops.

LLVM splits the vectors into the processor's registers, two of AVX2 or one of AVX-512. Matrices are given by the address
of their first element and their strides, in bytes; nothing is checked. The type of the elements is that of `floor`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic
from numpy.typing import NDArray

LANES = 16
MOST_ROWS = 6  # of a tile: with six rows, the sums just fit the registers of AVX2

_INT = ir.IntType(64)
_STEPS_AT_ONCE = 4  # unrolled steps of a sum


class _Vectors:
    """Emits loads, stores and arithmetic on vectors."""

    def __init__(self, context: Any, builder: Any, number: Any) -> None:
        self._builder, self._number = builder, number
        self.vector = ir.VectorType(number, LANES)
        self._size = number.get_abi_size(context.target_data)
        signature = ir.FunctionType(self.vector, [self.vector] * 3)
        name = f"llvm.fmuladd.v{LANES}f{8 * self._size}"
        self._multiply_add = cgutils.get_or_insert_function(builder.module, signature, name)

    def further(self, address: Any, stride: Any, times: int) -> Any:
        return self._builder.add(address, self._builder.mul(stride, _INT(times)))

    def load(self, address: Any) -> Any:
        return self._load(address, self.vector)

    def load_everywhere(self, address: Any) -> Any:
        """One number, in all lanes."""
        return self.everywhere(self._load(address, self._number))

    def everywhere(self, number: Any) -> Any:
        undefined = ir.Constant(self.vector, ir.Undefined)
        first = self._builder.insert_element(undefined, number, ir.IntType(32)(0))
        zeros = ir.Constant(ir.VectorType(ir.IntType(32), LANES), None)
        return self._builder.shuffle_vector(first, undefined, zeros)

    def constant(self, number: float) -> Any:
        return ir.Constant(self.vector, [self._number(number)] * LANES)

    def store(self, vector: Any, address: Any) -> None:
        self._builder.store(vector, self._pointer(address, self.vector), align=self._size)

    def multiply_add(self, a: Any, b: Any, c: Any) -> Any:
        return self._builder.call(self._multiply_add, [a, b, c])

    def at_least(self, vector: Any, floor: Any) -> Any:
        """The elementwise maximum; NaN stays NaN."""
        return self._builder.select(self._builder.fcmp_ordered("<", vector, floor), floor, vector)

    def _load(self, address: Any, kind: Any) -> Any:
        return self._builder.load(self._pointer(address, kind), align=self._size)

    def _pointer(self, address: Any, kind: Any) -> Any:
        return self._builder.inttoptr(address, kind.as_pointer())


def tile(rows: int) -> Any:
    """A function for kernels: `rows` rows of c = max(a·b, floor), 16 columns wide; or c = max(c + a·b, floor).

    `a` may have any strides; the rows of `b` and `c` must be contiguous.
    """

    @intrinsic  # type: ignore[untyped-decorator]
    def multiply(
        _: Any,
        a: Any,
        a_row: Any,
        a_step: Any,
        b: Any,
        b_step: Any,
        c: Any,
        c_row: Any,
        depth: Any,
        add: Any,
        floor: Any,
    ) -> Any:
        return types.void(*[types.intp] * 8, types.boolean, floor), emit

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        a, a_row, a_step, b, b_step, c, c_row, depth, add, floor = args
        builder.function.attributes.add("noinline")  # inlined copies would take long to compile
        v = _Vectors(context, builder, floor.type)
        results = [v.further(c, c_row, i) for i in range(rows)]
        # LLVM keeps these values in registers.
        steps, at_a, at_b = (cgutils.alloca_once_value(builder, start) for start in (depth, a, b))
        sums = [cgutils.alloca_once(builder, v.vector) for _ in range(rows)]
        with builder.if_else(add) as (added, new):
            with added:
                for result, total in zip(results, sums, strict=True):
                    builder.store(v.load(result), total)
            with new:
                for total in sums:
                    builder.store(v.constant(0), total)
        for at_once in (_STEPS_AT_ONCE, 1) if rows == MOST_ROWS else (1,):
            with _as_long_as_left(builder, steps, at_once):
                a_now, b_now = builder.load(at_a), builder.load(at_b)
                for k in range(at_once):
                    row = v.load(v.further(b_now, b_step, k))
                    for i, total in enumerate(sums):
                        number = v.load_everywhere(v.further(v.further(a_now, a_row, i), a_step, k))
                        builder.store(v.multiply_add(number, row, builder.load(total)), total)
                builder.store(v.further(a_now, a_step, at_once), at_a)
                builder.store(v.further(b_now, b_step, at_once), at_b)
        floors = v.everywhere(floor)
        for result, total in zip(results, sums, strict=True):
            v.store(v.at_least(builder.load(total), floors), result)
        return context.get_dummy_value()

    return multiply


@contextmanager
def _as_long_as_left(builder: Any, steps: Any, at_once: int) -> Iterator[None]:
    """A loop that takes `at_once` steps at a time while that many remain."""
    look, body, end = (builder.append_basic_block(name) for name in ("look", "body", "end"))
    builder.branch(look)
    builder.position_at_end(look)
    left = builder.load(steps)
    builder.cbranch(builder.icmp_signed(">=", left, _INT(at_once)), body, end)
    builder.position_at_end(body)
    builder.store(builder.sub(left, _INT(at_once)), steps)
    yield
    builder.branch(look)
    builder.position_at_end(end)


def linear_map(matrix: NDArray[np.float64], x_parts: int = 1, y_parts: int = 1) -> Any:
    """A function for kernels: y = max(matrix · x, floor), 16 columns wide. Zeros of the matrix cost nothing.

    The rows of x and y lie in parts of equal size, which begin `x_part` and `y_part` bytes apart.
    """
    y_rows, x_rows = (count // parts for count, parts in zip(matrix.shape, (y_parts, x_parts), strict=True))

    @intrinsic  # type: ignore[untyped-decorator]
    def apply(_: Any, x: Any, x_row: Any, x_part: Any, y: Any, y_row: Any, y_part: Any, floor: Any) -> Any:
        return types.void(*[types.intp] * 6, floor), emit

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        x, x_row, x_part, y, y_row, y_part, floor = args
        v = _Vectors(context, builder, floor.type)
        floors = v.everywhere(floor)
        inputs = [
            v.load(v.further(v.further(x, x_part, k // x_rows), x_row, k % x_rows)) for k in range(matrix.shape[1])
        ]
        for i, row in enumerate(matrix.tolist()):
            total = v.constant(0)
            for number, vector in zip(row, inputs, strict=True):
                total = v.multiply_add(vector, v.constant(number), total) if number else total
            v.store(v.at_least(total, floors), v.further(v.further(y, y_part, i // y_rows), y_row, i % y_rows))
        return context.get_dummy_value()

    return apply
