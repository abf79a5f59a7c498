"""Maps generated from a seed, with the proportions of ladder maps.

Four sorts: ProvingGround-7 has two start positions and fourteen bases, ProvingGround-Small-7 ten bases on less ground,
ProvingGround-Four-7 four start positions, two of which are played. Empty128 is flat ground without an end condition,
for tests. The second player's half is the first one's, turned by 180 degrees; with four starts, quarters are
reflected. `map_layout.py` draws the terrain.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from understudy.errors import SettingsError
from understudy.games.zerg.proving_ground.map_layout import draw
from understudy.games.zerg.proving_ground.map_parts import PER_SORT, SORTS, Map, name_of

_MOST_DIGITS = len(str(PER_SORT - 1))


def seed_of(name: str) -> int:
    """The seed in a map's name, as in ProvingGround-7; any other name is hashed to a fixed seed."""
    stem = name.replace("\\", "/").rsplit("/", 1)[-1].removesuffix(".SC2Map")
    tail = stem.rsplit("-", 1)[-1]
    if stem.startswith("ProvingGround") and tail.isascii() and tail.isdigit() and len(tail) <= _MOST_DIGITS:
        sort = next((number for number, word in enumerate(SORTS) if word and f"-{word}" in stem), 0)
        return sort * PER_SORT + int(tail)
    number = sum((i + 1) * byte for i, byte in enumerate(stem.encode(errors="replace"))) % 1000
    return SORTS.index("Empty-") * PER_SORT + number if stem.startswith("Empty") else number


def common_maps() -> list[str]:
    """Names of the maps that an installation lists; every other number works too."""
    counts = (10, 5, 5)
    return [name_of(sort * PER_SORT + number) for sort, count in enumerate(counts) for number in range(count)]


@lru_cache(maxsize=16)
def make_map(seed: int) -> Map:
    """The map of this seed; the same seed gives the same map everywhere."""
    if not 0 <= seed < len(SORTS) * PER_SORT:
        raise SettingsError(f"A map's seed is a number from 0 to {len(SORTS) * PER_SORT - 1}, not {seed}.")
    return draw(seed, SORTS[seed // PER_SORT], np.random.default_rng(seed))
