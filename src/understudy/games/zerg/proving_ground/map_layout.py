"""Draws the terrain of a map: mains on plateaus with one ramp each, naturals with a choke, lanes and pillars between.

Everything is drawn for one player in the lower left corner: the main, the natural above it, further bases around them.
Then it is rotated for the other player. Some maps are transposed or reflected as a whole, so that naturals and ramps
are on every side. A ramp has the dimensions of the game's main ramps, which bots recognise and wall.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from understudy.games.zerg.proving_ground.map_parts import (
    HIGH,
    LOW,
    MIDDLE,
    SIZE,
    Base,
    Grid,
    Map,
    Point,
    base_at,
    name_of,
    reflected,
)

CLIFF = 2  # cells of a cliff's foot that nobody walks on
RAMP_LENGTH, RAMP_HALF = 8, 2  # in diagonal steps; cells on each side of its middle line
BASE_ROOM = 13.0  # no obstacle within this distance of a townhall's position
STYLES = ("pillars", "lanes", "ring")
TRIES = 40
_ys, _xs = np.mgrid[0:SIZE, 0:SIZE]

Spec = tuple[Point, str]  # where a base goes, and the side its minerals are on


@dataclass
class Sheet:
    """The grids that are being drawn, and the objects on them."""

    pad: int
    pathable: Grid = field(default_factory=lambda: np.zeros((SIZE, SIZE), np.uint8))
    placeable: Grid = field(default_factory=lambda: np.ones((SIZE, SIZE), np.uint8))
    height: Grid = field(default_factory=lambda: np.full((SIZE, SIZE), LOW, np.uint8))
    bases: list[Spec] = field(default_factory=list)
    towers: list[Point] = field(default_factory=list)
    rocks: list[Point] = field(default_factory=list)

    def __post_init__(self) -> None:
        border = self.pad + 3
        self.pathable[border : SIZE - border, border : SIZE - border] = 1

    def block(self, where: np.ndarray) -> None:
        """Put a cliff that nobody climbs on these cells."""
        self.pathable[where], self.placeable[where], self.height[where] = 0, 0, HIGH


def draw(seed: int, sort: str, rng: np.random.Generator) -> Map:
    """The map of a seed."""
    if sort == "Empty-":
        return _empty(seed)
    for attempt in range(TRIES):
        made = _with_four_starts(seed, rng) if sort == "Four-" else _with_two_starts(seed, rng, sort == "Small-")
        if _sound(made) or attempt == TRIES - 1:
            return made
    raise AssertionError("the last attempt is returned")


def _empty(seed: int) -> Map:
    """Flat, empty ground, on which the game does not end by itself."""
    pad = (SIZE - 128) // 2
    sheet = Sheet(pad)
    bases = tuple(Base((x, x), (), ()) for x in (pad + 16.5, SIZE - pad - 16.5))
    playable = (pad, pad, SIZE - pad, SIZE - pad)
    sheet.placeable &= sheet.pathable
    starts = (bases[0].center, bases[1].center)
    grids = (sheet.pathable, sheet.placeable, sheet.height)
    return Map(name_of(seed), seed, *grids, playable, bases, starts, melee=False)


def _with_two_starts(seed: int, rng: np.random.Generator, small: bool) -> Map:
    pad = int(rng.integers(22, 25)) if small else int(rng.integers(15, 19))
    sheet = Sheet(pad)
    main = _home(sheet, rng)
    _further_bases(sheet, main, rng, small)
    _obstacles(sheet, rng, STYLES[int(rng.integers(len(STYLES)))])
    _towers_and_rocks(sheet, rng)
    if rng.integers(2):
        _transpose(sheet)
    for grid in (sheet.pathable, sheet.placeable, sheet.height):
        _turn_half(grid)
    bases = [base_at(center, side) for center, side in sheet.bases]
    both = [base for pair in ((b, reflected(b, True, True)) for b in bases) for base in pair]
    towers = [place for x, y in sheet.towers for place in ((x, y), (SIZE - x, SIZE - y))]
    rocks = [place for x, y in sheet.rocks for place in ((x, y), (SIZE - x, SIZE - y))]
    if rng.integers(2):  # the first player starts on the right
        for grid in (sheet.pathable, sheet.placeable, sheet.height):
            grid[:] = grid[:, ::-1].copy()
        both = [reflected(base, True, False) for base in both]
        towers, rocks = [(SIZE - x, y) for x, y in towers], [(SIZE - x, y) for x, y in rocks]
    return _finished(seed, sheet, both, (both[0].center, both[1].center), towers, rocks)


def _with_four_starts(seed: int, rng: np.random.Generator) -> Map:
    sheet = Sheet(int(rng.integers(14, 17)))
    main = _home(sheet, rng)
    sheet.bases.append(((main[0] + 33.0, sheet.pad + 15.5), "below"))
    if rng.integers(2):
        _transpose(sheet)
    for grid in (sheet.pathable, sheet.placeable, sheet.height):
        grid[:, MIDDLE:] = grid[:, :MIDDLE][:, ::-1]
        grid[MIDDLE:] = grid[:MIDDLE][::-1]
    corners = [(False, False), (True, False), (False, True), (True, True)]
    quarter = [base_at(center, side) for center, side in sheet.bases]
    bases = [reflected(base, *corner) for base in quarter for corner in corners]
    starts = tuple(base.center for base in bases[: len(corners)])
    first, second = (int(number) for number in rng.permutation(len(corners))[:2])
    others = [base for number, base in enumerate(bases) if number not in (first, second)]
    towers = [(MIDDLE - 14.0, float(MIDDLE)), (MIDDLE + 14.0, float(MIDDLE))]
    return _finished(seed, sheet, [bases[first], bases[second], *others], starts, towers, [])


def _finished(
    seed: int, sheet: Sheet, bases: list[Base], starts: tuple[Point, ...], towers: list[Point], rocks: list[Point]
) -> Map:
    sheet.placeable &= sheet.pathable
    for x, y in towers:
        sheet.placeable[int(y) - 1 : int(y) + 1, int(x) - 1 : int(x) + 1] = 0
    pad = sheet.pad
    playable = (pad, pad, SIZE - pad, SIZE - pad)
    grids = (sheet.pathable, sheet.placeable, sheet.height)
    return Map(name_of(seed), seed, *grids, playable, tuple(bases), starts, tuple(towers), tuple(rocks))


def _home(sheet: Sheet, rng: np.random.Generator) -> Point:
    """The main, its ramp, and the natural with its choke."""
    pad = sheet.pad
    mx, my = pad + 16.5 + int(rng.integers(0, 3)), pad + 17.5 + int(rng.integers(0, 3))
    natural = (mx - 2 + int(rng.integers(0, 3)), my + 24 + int(rng.integers(0, 3)))
    top = (int(mx) + 7, int(my) + 16)
    _plateau_with_ramp(sheet, top, edge=int(my) + 11, right=int(mx) + 19)
    _natural_walls(sheet, natural, int(rng.integers(10, 13)))
    sheet.bases += [((mx, my), "left"), (natural, "left")]
    return mx, my


def _plateau_with_ramp(sheet: Sheet, top: tuple[int, int], edge: int, right: int) -> None:
    """High ground up to `edge`, a lobe to the right of the ramp, and the ramp from there to the upper left.

    A cell lies `down` diagonal steps below the ramp's upper end and `across` steps beside its middle line.
    """
    down = (top[0] - top[1]) - (_xs - _ys)
    across = (_xs + _ys) - (top[0] + top[1] + 1)
    lobe = (down < 0) & (_ys <= top[1] + 6)
    corners = (down == 0) & (np.abs(across) == 3)  # wall buildings stand on these two cells
    high = (((_ys <= edge) | lobe) & (_xs <= right)) | corners
    ramp = (down >= 0) & (down <= RAMP_LENGTH) & (np.abs(across) <= RAMP_HALF)
    beside = (down > 0) & (down < RAMP_LENGTH - 1) & (np.abs(across) > RAMP_HALF) & (np.abs(across) < 7)
    foot = _grown(high, CLIFF) & ~high & ~ramp
    sheet.height[high] = HIGH
    sheet.pathable[foot | (beside & ~high)] = 0
    sheet.pathable[ramp], sheet.placeable[ramp] = 1, 0
    sheet.height[ramp] = (HIGH - 2 - down[ramp] * (HIGH - LOW - 2) // RAMP_LENGTH).astype(np.uint8)


def _natural_walls(sheet: Sheet, natural: Point, choke: int) -> None:
    """The cliff behind a natural; its end leaves a choke of this width to the plateau."""
    x, y = natural
    above = (np.abs(_ys - (y + 14)) < 2) & (_xs < x + 15)
    end = np.hypot(_xs - (x + 15), _ys - (y + choke + 4)) < 4.5
    sheet.block(above | end)


def _further_bases(sheet: Sheet, main: Point, rng: np.random.Generator, small: bool) -> None:
    """Where further bases go, nearest first."""
    mx, my = main
    pad, far = sheet.pad, SIZE - sheet.pad
    shift = [float(rng.integers(-2, 3)) for _ in range(6)]
    third, pocket = ((pad + 15.5, my + 56 + shift[0]), "left"), ((mx + 36 + shift[1], pad + 15.5), "below")
    sheet.bases += [third, pocket] if rng.integers(2) else [pocket, third]
    (x, y), (px, py) = third[0], pocket[0]
    sheet.block((np.abs(_ys - (y + 16)) < 2) & (_xs < x + int(rng.integers(2, 8))))  # two ways into the third
    sheet.block(np.hypot(_xs - (x + 18), _ys - (y + 9)) < 3.5)
    sheet.block(np.hypot(_xs - (px + 16), _ys - (py + 13)) < 3.5)
    if small:
        sheet.bases.append(((far - 17.5, pad + 17.5 + shift[2]), "below"))
        return
    sheet.bases.append(((mx + 41 + shift[3], my + 27 + shift[4]), "below"))
    sheet.bases.append(((mx + 70 + shift[5], pad + 15.5), "below"))
    sheet.bases.append(((far - 17.5, pad + 17.5 + shift[2]), "below"))


def _obstacles(sheet: Sheet, rng: np.random.Generator, style: str) -> None:
    """Obstacles that divide the open ground into lanes, away from bases, ramps and chokes."""
    if style == "ring":
        sheet.block(np.hypot(_xs + 0.5 - MIDDLE, _ys + 0.5 - MIDDLE) < int(rng.integers(8, 14)))
    count = {"pillars": 26, "lanes": 14, "ring": 12}[style]
    for _ in range(count):
        x, y = (
            int(rng.integers(sheet.pad + 12, SIZE - sheet.pad - 12)),
            int(rng.integers(sheet.pad + 30, SIZE // 2 + 20)),
        )
        wide, high = int(rng.integers(2, 5)), int(rng.integers(2, 5))
        if style == "lanes":
            wide, high = (wide, high + 6) if rng.integers(2) else (wide + 6, high)
        if _away(sheet, (x, y)) > BASE_ROOM + max(wide, high) and not (x < sheet.pad + 46 and y < sheet.pad + 62):
            sheet.block((np.abs(_xs - x) < wide) & (np.abs(_ys - y) < high))


def _towers_and_rocks(sheet: Sheet, rng: np.random.Generator) -> None:
    """A watch tower near the middle and rocks beside a lane, for each player."""
    for places, low, high, room in ((sheet.towers, 12, 30, 9.0), (sheet.rocks, 22, 48, 12.0)):
        for _ in range(200):
            angle, far = rng.uniform(-0.6, 2.2), rng.uniform(low, high)
            x, y = round(MIDDLE + far * np.cos(angle)), round(MIDDLE - far * np.sin(angle))
            free = sheet.pathable[y - 4 : y + 5, x - 4 : x + 5].all() and x + y < SIZE - 8
            alone = all(np.hypot(x - tx, y - ty) > 12 for tx, ty in sheet.towers)
            if free and alone and _away(sheet, (x, y)) > room + 4:
                places.append((float(x), float(y)))
                break


def _away(sheet: Sheet, place: Point) -> float:
    """Distance to the nearest base of either player."""
    x, y = place
    both = [point for (bx, by), _ in sheet.bases for point in ((bx, by), (SIZE - bx, SIZE - by))]
    return min(float(np.hypot(x - bx, y - by)) for bx, by in both)


def _grown(mask: np.ndarray, cells: int) -> np.ndarray:
    """The cells within this distance of a mask, diagonals included."""
    grown = mask.copy()
    for dy in range(-cells, cells + 1):
        for dx in range(-cells, cells + 1):
            grown |= np.roll(mask, (dy, dx), (0, 1))
    return grown


def _transpose(sheet: Sheet) -> None:
    """Exchange x and y: the natural is then beside the main."""
    sheet.pathable, sheet.placeable, sheet.height = (
        np.ascontiguousarray(grid.T) for grid in (sheet.pathable, sheet.placeable, sheet.height)
    )
    sheet.bases = [((y, x), "below" if side == "left" else "left") for (x, y), side in sheet.bases]
    sheet.towers, sheet.rocks = [(y, x) for x, y in sheet.towers], [(y, x) for x, y in sheet.rocks]


def _turn_half(grid: Grid) -> None:
    """Make the half above the falling diagonal the turned copy of the half below it."""
    upper = (_xs + _ys > SIZE - 1) | ((_xs + _ys == SIZE - 1) & (_xs > _ys))
    grid[upper] = grid[::-1, ::-1][upper]


def _sound(made: Map) -> bool:
    """Whether every base has room for its townhall and can be walked to from the first start."""
    reached = _reachable(made)
    for base in made.bases:
        x, y = int(base.center[0]), int(base.center[1])
        around = np.s_[y - 2 : y + 3, x - 2 : x + 3]
        if not made.placeable[around].all() or not reached[y, x]:
            return False
        for fx, fy in (*base.minerals, *base.geysers):
            if not made.placeable[int(fy) - 1 : int(fy) + 2, int(fx) - 1 : int(fx) + 2].all():
                return False
    return True


def _reachable(made: Map) -> np.ndarray:
    """Cells that can be walked to from the first start."""
    reached = np.zeros((SIZE, SIZE), bool)
    x, y = made.starts[0]
    reached[int(y), int(x)] = True
    free, count = made.pathable == 1, 0
    while count != (count := int(reached.sum())):
        for _ in range(8):
            reached[1:] |= reached[:-1]
            reached[:-1] |= reached[1:]
            reached[:, 1:] |= reached[:, :-1]
            reached[:, :-1] |= reached[:, 1:]
            reached &= free
    return reached
