"""The whole state of a game in one block of memory: a structure of arrays, a slot for each unit.

So a game is copied, compared and hashed as bytes. Players are 0 and 1; 2 is neutral.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.games.zerg.proving_ground.map_parts import SIZE, Map
from understudy.games.zerg.proving_ground.rules import KINDS, UPGRADES
from understudy.games.zerg.proving_ground.spells import BUFFS
from understudy.games.zerg.proving_ground.unit_data import kind

SLOTS = 2088  # not a multiple of a large power of two, or all columns would share a cache set
QUEUE, NEUTRAL = 8, 2
DEAD_RING, GHOSTS, AREAS = 2048, 128, 32
FIRST_TAG, TAG_SHIFT = 1 << 32, 18  # a unit's tag is the first one plus its slot, shifted, plus its generation

# Orders of a unit. `abilities.py` translates the game's abilities.
(
    NONE,
    STOP,
    MOVE,
    ATTACK,
    PATROL,
    HOLD,
    GATHER,
    RETURN,
    BUILD_AT,
    MAKE,
    RESEARCH,
    MORPH_INTO,
    INJECT,
    REPAIR,
    MULE,
    CHRONO,
    TRANSFUSE,
    STIM,
    RALLY,
    CANCEL,
    SMART,
    CANCEL_LAST,
    LOAD,
    ENTER,
    UNLOAD,
    LAND,
    CAST,
    MERGE,
) = range(28)

# Answers to orders: the game's own ActionResult numbers.
SUCCESS, NOT_SUPPORTED, ERROR, QUEUE_IS_FULL = 1, 2, 3, 7
NOT_ENOUGH_MINERALS, NOT_ENOUGH_VESPENE, NOT_ENOUGH_FOOD, NOT_ENOUGH_ENERGY = 9, 10, 13, 17
CANT_TARGET_THAT_UNIT, UNIT_CANT_MOVE, TECH_NOT_MET, CANT_FIND_PLACEMENT = 36, 38, 40, 41
CANT_BUILD_HERE, TOO_CLOSE_TO_RESOURCES, NO_CREEP, NO_POWER = 44, 47, 49, 50
COOLING_DOWN, CANT_LAND, CANT_LOAD, CANT_LOAD_OTHERS, NO_ROOM, NO_CARGO = 6, 53, 73, 66, 67, 74
UNDER_CONSTRUCTION, NOT_YOURS, MUST_TARGET_RESOURCES, MUST_TARGET_UNIT = 64, 87, 89, 81

# Debug switches, as bits.
CHEAT_MAP, CHEAT_CONTROL, CHEAT_FOOD, CHEAT_FREE, CHEAT_GOD, CHEAT_TECH, CHEAT_COOLDOWN, CHEAT_FAST = (
    1 << bit for bit in range(8)
)
FAST = 10.0  # how many times as fast everything is made with CHEAT_FAST

# Rows of `score`.
(
    COLLECTED_MINERALS,
    COLLECTED_VESPENE,
    SPENT_MINERALS,
    SPENT_VESPENE,
    LOST_MINERALS_ARMY,
    LOST_MINERALS_ECONOMY,
    LOST_MINERALS_TECHNOLOGY,
    LOST_VESPENE_ARMY,
    LOST_VESPENE_ECONOMY,
    LOST_VESPENE_TECHNOLOGY,
    DAMAGE_DEALT_LIFE,
    DAMAGE_DEALT_SHIELDS,
    HEALED,
    RATE_MINERALS,
    RATE_VESPENE,
    IDLE_PRODUCTION,
    IDLE_WORKERS,
    UNITS_VALUE,
    STRUCTURES_VALUE,
    KILLED_UNITS,
    KILLED_STRUCTURES,
) = range(21)
SCORES = 24

_UNIT = (SLOTS,)
_ORDERS = (SLOTS, QUEUE)
_GRID = (SIZE, SIZE)

STATE = np.dtype(
    [
        ("loop", "i8"),
        ("random", "u8"),
        ("top", "i8"),  # slots below this one may be in use
        ("over", "i8"),  # 0 while the game runs
        ("active_at", "i8"),  # the loop at which a player last gathered, made or destroyed something that counts
        ("result", "i8", 2),  # per player: 0 undecided, else the API's 1 victory, 2 defeat, 3 tie
        # Units.
        ("alive", "u1", _UNIT),
        ("kind", "i4", _UNIT),
        ("owner", "i4", _UNIT),
        ("generation", "i4", _UNIT),
        ("x", "f8", _UNIT),
        ("y", "f8", _UNIT),
        ("heading_x", "f8", _UNIT),
        ("heading_y", "f8", _UNIT),
        ("health", "f8", _UNIT),
        ("shield", "f8", _UNIT),
        ("energy", "f8", _UNIT),
        ("progress", "f8", _UNIT),  # of construction; 1 if finished
        ("cooldown", "f8", _UNIT),
        ("target", "i4", _UNIT),  # slot it is shooting at, -1 for none
        ("target_generation", "i4", _UNIT),
        ("way_x", "f8", _UNIT),
        ("way_y", "f8", _UNIT),
        ("way_goal", "i4", _UNIT),  # cell the waypoint leads to
        ("way_until", "i8", _UNIT),
        ("way_straight", "u1", _UNIT),
        ("moving", "u1", _UNIT),
        ("carry_minerals", "f8", _UNIT),
        ("carry_vespene", "f8", _UNIT),
        ("phase", "i4", _UNIT),
        ("timer", "f8", _UNIT),
        ("resource", "i4", _UNIT),  # a worker's resource; the geyser of a gas building
        ("contents", "f8", _UNIT),
        ("busy_until", "i8", _UNIT),  # a resource while a worker is mining it
        ("assigned", "i4", _UNIT),
        ("larva_timer", "f8", _UNIT),
        ("inject_until", "i8", _UNIT),
        ("injects", "i4", _UNIT),
        ("host", "i4", _UNIT),  # larva: its hatchery; addon: its building; building: its addon; -1 for none
        ("creep", "f8", _UNIT),
        ("powered", "u1", _UNIT),
        ("chrono_until", "i8", _UNIT),
        ("stim_until", "i8", _UNIT),
        ("dies_at", "i8", _UNIT),
        ("spent", "u1", _UNIT),  # a creep tumour that has spread
        ("becomes", "i4", _UNIT),
        ("was", "i4", _UNIT),
        ("rally_x", "f8", _UNIT),  # of a liberator: the middle of its zone
        ("rally_y", "f8", _UNIT),
        ("rally_target", "i4", _UNIT),
        ("seen", "u1", (2, SLOTS)),
        ("known", "u1", (2, SLOTS)),
        ("hit_at", "i8", _UNIT),
        # Orders, the first one under way.
        ("orders", "i4", _UNIT),
        ("order", "i4", _ORDERS),
        ("argument", "i4", _ORDERS),
        ("order_target", "i4", _ORDERS),
        ("order_generation", "i4", _ORDERS),
        ("order_x", "f8", _ORDERS),
        ("order_y", "f8", _ORDERS),
        ("order_progress", "f8", _ORDERS),
        # Players.
        ("race", "i4", 2),
        ("minerals", "f8", 2),
        ("vespene", "f8", 2),
        ("income_factor", "f8", 2),
        ("upgrade", "u1", (2, UPGRADES)),
        ("pending", "u1", (2, UPGRADES)),
        ("score", "f8", (2, SCORES)),
        ("spent_on", "f8", (2, KINDS)),
        # The rules as upgrades have changed them.
        ("speed", "f8", (2, KINDS)),
        ("range_bonus", "f8", (2, KINDS)),
        ("armor_bonus", "f8", (2, KINDS)),
        ("damage_bonus", "f8", (2, KINDS, 2)),  # by weapon: against ground, against air
        ("bonus_bonus", "f8", (2, KINDS, 2)),  # added to the bonus against an attribute
        ("cooldown_factor", "f8", (2, KINDS)),
        ("health_bonus", "f8", (2, KINDS)),
        ("shield_armor", "f8", (2, KINDS)),
        # Grids.
        ("occupied", "i2", _GRID),  # slot + 1 of the structure or resource there
        ("creep_grid", "u1", _GRID),
        ("visibility", "u1", (2, SIZE, SIZE)),  # 0 never seen, 1 seen before, 2 seen now
        # Events for observations.
        ("deaths", "i8"),
        ("dead_slot", "i4", DEAD_RING),
        ("dead_generation", "i4", DEAD_RING),
        ("dead_known", "u1", (2, DEAD_RING)),  # whether the player owned or saw it
        ("failures", "i8"),
        ("failed_slot", "i4", 256),
        ("failed_generation", "i4", 256),
        ("failed_order", "i4", 256),
        ("failed_argument", "i4", 256),
        ("failed_result", "i4", 256),
        # Structures that a player remembers and that are no longer there.
        ("ghosts", "i4", 2),
        ("ghost_slot", "i4", (2, GHOSTS)),
        ("ghost_generation", "i4", (2, GHOSTS)),
        ("ghost_kind", "i4", (2, GHOSTS)),
        ("ghost_owner", "i4", (2, GHOSTS)),
        ("ghost_x", "f8", (2, GHOSTS)),
        ("ghost_y", "f8", (2, GHOSTS)),
        # Transports and spells.
        ("carrier", "i4", _UNIT),  # slot + 1 of a unit's transport; 0 if it is on the map
        ("loaded", "i4", _UNIT),  # cargo space taken
        ("spell_at", "i8", _UNIT),  # the loop at which its spell is ready
        ("rooted_until", "i8", _UNIT),
        ("reserved_minerals", "f8", _UNIT),  # paid for build orders that have not started
        ("reserved_vespene", "f8", _UNIT),
        ("buffs", "i4", _UNIT),  # bits: see spells.py
        ("buff_until", "i8", (SLOTS, BUFFS)),
        ("cheats", "i4", 2),  # debug switches of a player
        ("endless", "i8"),  # the game does not end when a player has no structures
        ("areas", "i8"),  # active spells on the ground; usually 0
        ("area_spell", "i4", AREAS),
        ("area_owner", "i4", AREAS),
        ("area_x", "f8", AREAS),
        ("area_y", "f8", AREAS),
        ("area_until", "i8", AREAS),
    ]
)

ROOF = 14  # sight of up to this many cells
TERRAIN = np.dtype(
    [
        ("pathable", "u1", _GRID),
        ("placeable", "u1", _GRID),
        ("height", "u1", _GRID),
        ("roof", "u1", (SIZE // 2, SIZE // 2)),  # the highest cell in sight of each two by two cells
    ]
)

FIELDS = 96
AHEAD = 12  # cells a unit looks down its way
RINGS = 16  # buckets of cells by distance, while a field is filled
CELLS, BUCKET = 88, 2  # the fine grid of neighbours
COARSE, WIDE = 22, 8  # the grid that targets are looked up in
# Caches derived from state and terrain, not part of a game's state: distance fields and neighbour grids.
SCRATCH = np.dtype(
    [
        ("goal", "i4", FIELDS),
        ("used", "i8", FIELDS),
        ("clock", "i8"),
        ("distance", "u2", (FIELDS, SIZE, SIZE)),
        ("ring", "i4", (RINGS, SIZE * SIZE // 4)),
        ("ring_length", "i4", RINGS),
        ("trail", "i4", AHEAD),
        ("fine", "i2", CELLS * CELLS),
        ("fine_next", "i2", SLOTS),
        ("coarse", "i2", (2, COARSE * COARSE)),  # by owner
        ("stamped", "u1", (2, SIZE // 2, SIZE // 2)),  # sight already added from a cell
        ("coarse_next", "i2", SLOTS),
    ]
)
Block = NDArray[Any]

LARVA, EGG, DRONE, ZERGLING, OVERLORD = kind("Larva"), kind("Egg"), kind("Drone"), kind("Zergling"), kind("Overlord")
HATCHERY, LAIR, HIVE, QUEEN, BANELING = kind("Hatchery"), kind("Lair"), kind("Hive"), kind("Queen"), kind("Baneling")
TUMOR, TUMOR_QUEEN, TUMOR_BURROWED = kind("CreepTumor"), kind("CreepTumorQueen"), kind("CreepTumorBurrowed")
SCV, MULE_UNIT, PYLON, NEXUS = kind("SCV"), kind("MULE"), kind("Pylon"), kind("Nexus")
MARINE, MARAUDER, MEDIVAC, ORBITAL = kind("Marine"), kind("Marauder"), kind("Medivac"), kind("OrbitalCommand")
BROODLING, BROOD_LORD, WARP_GATE = kind("Broodling"), kind("BroodLord"), kind("WarpGate")
WIDOW_MINE_BURROWED, LURKER_BURROWED = kind("WidowMineBurrowed"), kind("LurkerMPBurrowed")
BUNKER, STALKER, HIGH_TEMPLAR = kind("Bunker"), kind("Stalker"), kind("HighTemplar")
INFESTOR, RAVAGER, COLOSSUS, PRISM_PHASING = (
    kind("Infestor"),
    kind("Ravager"),
    kind("Colossus"),
    kind("WarpPrismPhasing"),
)

DARK_TEMPLAR, ARCHON, SHADE_UNIT, BATTERY = (
    kind("DarkTemplar"),
    kind("Archon"),
    kind("AdeptPhaseShift"),
    kind("ShieldBattery"),
)
VOID_RAY, TOWER, ROCK = kind("VoidRay"), kind("XelNagaTower"), kind("DestructibleRock6x6")
NYDUS_NETWORK, NYDUS_WORM, ORACLE = kind("NydusNetwork"), kind("NydusCanal"), kind("Oracle")
SUPPLY_DEPOT, DEPOT_LOWERED, FORCE_FIELD = kind("SupplyDepot"), kind("SupplyDepotLowered"), kind("ForceField")
LIBERATOR_AG, HELLBAT = kind("LiberatorAG"), kind("HellionTank")


def terrain_of(game_map: Map) -> Block:
    """A map's grids as kernels read them; cells under resources cannot be walked on."""
    block = np.zeros(1, TERRAIN)
    block["pathable"][0], block["placeable"][0], block["height"][0] = (
        game_map.pathable,
        game_map.placeable,
        game_map.height,
    )
    pathable = block["pathable"][0]
    for base in game_map.bases:
        for x, y in base.minerals:
            pathable[int(y), int(x) - 1 : int(x) + 1] = 0
        for x, y in base.geysers:
            pathable[int(y) - 1 : int(y) + 2, int(x) - 1 : int(x) + 2] = 0
    reach = ROOF + 1
    around = np.pad(game_map.height, reach)
    rows = np.max([around[n : n + SIZE : 2] for n in range(2 * reach + 2)], axis=0)
    block["roof"][0] = np.max([rows[:, n : n + SIZE : 2] for n in range(2 * reach + 2)], axis=0)
    block.flags.writeable = False
    return block


def new_scratch() -> Block:
    """Empty caches."""
    block = np.zeros(1, SCRATCH)
    block["goal"] = -1
    return block
