"""Sets of whole numbers as a few ranges, such as the processed games of a machine."""

from __future__ import annotations

from collections.abc import Iterable

Ranges = list[list[int]]
"""Disjoint [first, last] pairs in order, with a gap between neighbours."""


def contains(ranges: Ranges, number: int) -> bool:
    """Whether a number is in one of the ranges."""
    return any(first <= number <= last for first, last in ranges)


def union(ranges: Ranges, numbers: Iterable[int]) -> Ranges:
    """The ranges with these numbers added."""
    merged: Ranges = []
    for first, last in sorted([*ranges, *([number, number] for number in numbers)]):
        if merged and first <= merged[-1][1] + 1:
            merged[-1][1] = max(merged[-1][1], last)
        else:
            merged.append([first, last])
    return merged


def numbers_in(ranges: Ranges) -> list[int]:
    """Every number, in order."""
    return [number for first, last in ranges for number in range(first, last + 1)]


def size_of(ranges: Ranges) -> int:
    """The number of elements."""
    return sum(last - first + 1 for first, last in ranges)
