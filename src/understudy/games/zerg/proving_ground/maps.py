"""Maps, made from a seed: mains on high ground with one ramp each, naturals, further bases.

Three sorts: ProvingGround-7 has two start positions and twelve bases, ProvingGround-Small-7 eight bases on less ground,
ProvingGround-Four-7 four start positions, two of which are played. The second player's half is the first one's, turned
by 180 degrees; with four starts, quarters are reflected. Grids are indexed [y, x]; a cell (x, y) spans x..x+1, y..y+1.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from understudy.errors import SettingsError

SIZE = 176
MIDDLE = SIZE // 2
SORTS = ("", "Small-", "Four-")
PER_SORT = 10**9  # seeds of a sort of maps; the first sort's begin at 0
LOW, HIGH = 208, 224  # terrain height as the API sends it: z = height / 8 - 16, so 10 and 12
CLIFF_WIDTH = 2

Point = tuple[float, float]
Grid = NDArray[np.uint8]

# Resources around a townhall at (0, 0): minerals to the left, or below; a mineral field is 2 x 1, a geyser 3 x 3.
_LEFT = [(-3.5, 6.0), (-5.5, 6.0), (-6.5, 4.0), (-7.5, 3.0), (-7.5, 1.0), (-6.5, 0.0), (-7.5, -2.0), (-6.5, -4.0)]
_LEFT_GAS = [(0.0, 7.0), (-3.0, -7.0)]
_BELOW = [(-6.5, -3.0), (-5.5, -6.0), (-3.5, -7.0), (-1.5, -7.0), (0.5, -6.0), (2.5, -7.0), (4.5, -6.0), (6.5, -4.0)]
_BELOW_GAS = [(-7.0, 1.0), (7.0, 0.0)]


@dataclass(frozen=True)
class Base:
    """Where a townhall goes, and what lies around it."""

    center: Point
    minerals: tuple[Point, ...]
    geysers: tuple[Point, ...]


@dataclass(frozen=True)
class Map:
    """A map as a game starts on it. `bases[0]` and `bases[1]` are the start positions of players 1 and 2."""

    name: str
    seed: int
    pathable: Grid  # terrain only: resources and structures are not in it
    placeable: Grid
    height: Grid
    playable: tuple[int, int, int, int]
    bases: tuple[Base, ...]
    start_places: tuple[Point, ...]  # all places where somebody could have started

    @property
    def starts(self) -> tuple[Point, Point]:
        """The two start positions."""
        return self.bases[0].center, self.bases[1].center


def seed_of(name: str) -> int:
    """The seed in a map's name, as in ProvingGround-7; other names get a seed of their own, the same every time."""
    stem = name.replace("\\", "/").rsplit("/", 1)[-1].removesuffix(".SC2Map")
    tail = stem.rsplit("-", 1)[-1]
    if stem.startswith("ProvingGround") and tail.isdigit():
        sort = next((number for number, word in enumerate(SORTS) if word and f"-{word}" in stem), 0)
        return sort * PER_SORT + int(tail)
    return sum((i + 1) * byte for i, byte in enumerate(stem.encode())) % 1000


def name_of(seed: int) -> str:
    """The name of the map of this seed."""
    return f"ProvingGround-{SORTS[seed // PER_SORT]}{seed % PER_SORT}"


def common_maps() -> list[str]:
    """Names of the maps that an installation lists; every other number works too."""
    counts = (10, 5, 5)
    return [name_of(sort * PER_SORT + number) for sort, count in enumerate(counts) for number in range(count)]


@lru_cache(maxsize=16)
def make_map(seed: int) -> Map:
    """The map of this seed; the same seed gives the same map everywhere."""
    if not 0 <= seed < len(SORTS) * PER_SORT:
        raise SettingsError(f"A map's seed is a number from 0 to {len(SORTS) * PER_SORT - 1}, not {seed}.")
    sort, rng = SORTS[seed // PER_SORT], np.random.default_rng(seed)
    return _with_four_starts(seed, rng) if sort == "Four-" else _with_two_starts(seed, rng, small=sort == "Small-")


def _with_two_starts(seed: int, rng: np.random.Generator, small: bool) -> Map:
    pad = int(rng.integers(30, 33)) if small else int(rng.integers(18, 25))
    pathable, placeable, height, main = _corner(pad, rng)
    bases = [_base(center, side) for center, side in _first_half(main, pad, rng, small)]
    _rocks(pathable, height, [b.center for b in bases], rng)
    for grid in (pathable, height, placeable):
        _mirror(grid)
    placeable &= pathable
    both = tuple(base for pair in ((b, _turned(b)) for b in bases) for base in pair)
    playable = (pad, pad, SIZE - pad, SIZE - pad)
    starts = (both[0].center, both[1].center)
    return Map(name_of(seed), seed, pathable, placeable, height, playable, both, starts)


def _with_four_starts(seed: int, rng: np.random.Generator) -> Map:
    pad = int(rng.integers(16, 19))
    pathable, placeable, height, main = _corner(pad, rng)
    natural, third = (main[0] + 33.0, pad + 15.5), (pad + 15.5, main[1] + 33.0)
    quarter = [_base(center, side) for center, side in ((main, "left"), (natural, "below"), (third, "left"))]
    for grid in (pathable, height, placeable):
        grid[:, MIDDLE:] = grid[:, :MIDDLE][:, ::-1]
        grid[MIDDLE:] = grid[:MIDDLE][::-1]
    placeable &= pathable
    corners = [(False, False), (True, False), (False, True), (True, True)]
    bases = [_reflected(base, *corner) for base in quarter for corner in corners]
    starts = tuple(base.center for base in bases[: len(corners)])
    first, second = (int(number) for number in rng.permutation(len(corners))[:2])
    played = [bases[first], bases[second]]
    others = [base for number, base in enumerate(bases) if number not in (first, second)]
    playable = (pad, pad, SIZE - pad, SIZE - pad)
    return Map(name_of(seed), seed, pathable, placeable, height, playable, (*played, *others), starts)


def _corner(pad: int, rng: np.random.Generator) -> tuple[Grid, Grid, Grid, Point]:
    """Open ground with one main on its plateau and the ramp down from it: pathable, placeable, height, the main."""
    pathable = np.zeros((SIZE, SIZE), np.uint8)
    pathable[pad + 3 : SIZE - pad - 3, pad + 3 : SIZE - pad - 3] = 1
    height = np.full((SIZE, SIZE), LOW, np.uint8)
    main = (pad + 22.5 + int(rng.integers(0, 3)), pad + 22.5 + int(rng.integers(0, 3)))
    placeable = pathable.copy()
    _plateau(pathable, height, main, radius=18.0)
    _ramp(pathable, placeable, height, main, radius=18.0)
    return pathable, placeable, height, main


def _plateau(pathable: Grid, height: Grid, center: Point, radius: float) -> None:
    """High ground with rounded corners, and the cliff around it that nobody walks over."""
    ys, xs = np.mgrid[0:SIZE, 0:SIZE] + 0.5
    reach = (np.abs(xs - center[0]) ** 4 + np.abs(ys - center[1]) ** 4) ** 0.25
    height[reach <= radius + 1] = HIGH
    pathable[(reach > radius) & (reach <= radius + CLIFF_WIDTH)] = 0
    behind = ((xs < center[0]) & (ys < center[1] + radius)) | ((ys < center[1]) & (xs < center[0] + radius))
    pathable[behind & (reach > radius)] = 0


def _ramp(pathable: Grid, placeable: Grid, height: Grid, center: Point, radius: float) -> None:
    """A ramp from the plateau's upper right corner down along the diagonal.

    Exactly two cells of it have the full height, corner to corner: that is how bots tell the ramp to the main, and
    wall it.
    """
    corner = int(center[0] + radius * 0.8409) + int(
        center[1] + radius * 0.8409
    )  # x + y where the diagonal leaves the plateau
    middle = int(center[0]) - int(center[1])
    middle += (corner + middle) % 2
    length = 9
    for y in range(SIZE):
        for x in range(SIZE):
            along, across = x + y - corner, x - y - middle
            if -3 <= along < length + 4 and abs(across) <= 7:
                pathable[y, x] = 1
                height[y, x] = HIGH if along < 0 else LOW
            if 0 <= along < length and abs(across) <= 7:
                placeable[y, x] = 0
                height[y, x] = HIGH - (along + 1) * 16 // (length + 1) - (1 if along > 0 or abs(across + 1) > 1 else 0)
            if -3 <= along < length and 7 < abs(across) <= 10:
                pathable[y, x] = 0


def _rocks(pathable: Grid, height: Grid, bases: list[Point], rng: np.random.Generator) -> None:
    """Rocks that break the open ground into lanes, away from all bases."""
    for _ in range(24):
        x, y, radius = int(rng.integers(50, 126)), int(rng.integers(50, 126)), int(rng.integers(2, 5))
        away = [np.hypot(x - bx, y - by) for cx, cy in bases for bx, by in ((cx, cy), (SIZE - cx, SIZE - cy))]
        if min(away) > 15 + radius and min(away[:2]) > 36:
            pathable[y - radius : y + radius, x - radius : x + radius] = 0
            height[y - radius : y + radius, x - radius : x + radius] = HIGH


def _first_half(main: Point, pad: int, rng: np.random.Generator, small: bool) -> list[tuple[Point, str]]:
    """Where the first player's bases go, nearest first, with the side their minerals are on."""
    mx, my = main
    shift = [float(rng.integers(-2, 3)) for _ in range(6)]
    natural, third = ((mx + 37 + shift[0], pad + 15.5), "below"), ((pad + 15.5, my + 37 + shift[1]), "left")
    if rng.integers(0, 2):
        natural, third = third, natural
    if small:
        return [(main, "left"), natural, third, ((SIZE - pad - 18.5, pad + 15.5 + shift[5]), "below")]
    return [
        (main, "left"),
        natural,
        third,
        ((mx + 33.0, my + 36 + shift[2]), "left"),
        ((mx + 66 + shift[3], my + 29.0 + shift[4]), "below"),
        ((SIZE - pad - 18.5, pad + 15.5 + shift[5]), "below"),
    ]


def _base(center: Point, side: str) -> Base:
    """A base whose resources lie around `center`; the townhall's place is then found from the resources, as bots find
    it.
    """
    offsets, gas = (_LEFT, _LEFT_GAS) if side == "left" else (_BELOW, _BELOW_GAS)
    minerals = tuple((center[0] + dx, center[1] + dy) for dx, dy in offsets)
    geysers = tuple((center[0] + dx, center[1] + dy) for dx, dy in gas)
    return Base(_townhall_place(minerals, geysers), minerals, geysers)


def _townhall_place(minerals: tuple[Point, ...], geysers: tuple[Point, ...]) -> Point:
    """The place with the least way to all resources that keeps the game's distance to each."""
    resources = np.array(minerals + geysers)
    room = np.array([6.0] * len(minerals) + [7.0] * len(geysers))
    cx, cy = (int(value) + 0.5 for value in resources.mean(axis=0))
    best, place = np.inf, (cx, cy)
    for dx in range(-7, 8):
        for dy in range(-7, 8):
            distances = np.hypot(resources[:, 0] - cx - dx, resources[:, 1] - cy - dy)
            if 4 < np.hypot(dx, dy) <= 8 and np.all(distances >= room) and distances.sum() < best - 1e-9:
                best, place = float(distances.sum()), (cx + dx, cy + dy)
    return place


def _turned(base: Base) -> Base:
    """The same base for the other player."""
    return _reflected(base, True, True)


def _reflected(base: Base, across: bool, along: bool) -> Base:
    """The same base on the other side of the map's middle, left and right or up and down exchanged."""

    def turn(point: Point) -> Point:
        return SIZE - point[0] if across else point[0], SIZE - point[1] if along else point[1]

    minerals, geysers = tuple(map(turn, base.minerals)), tuple(map(turn, base.geysers))
    return Base(_townhall_place(minerals, geysers), minerals, geysers)


def _mirror(grid: Grid) -> None:
    """Make the half above the falling diagonal the turned copy of the half below it."""
    ys, xs = np.mgrid[0:SIZE, 0:SIZE]
    upper = (xs + ys > SIZE - 1) | ((xs + ys == SIZE - 1) & (xs > ys))
    grid[upper] = grid[::-1, ::-1][upper]
