"""What each upgrade does: which numbers of which units it changes. Numbers are in the game's "normal" seconds, as in the unit data."""

# ruff: noqa: E501 - tables

from __future__ import annotations

from typing import NamedTuple

# DAMAGE and BONUS are those of the weapon against ground, DAMAGE_AIR and BONUS_AIR of the one against air.
SPEED, RANGE, ARMOR, DAMAGE, COOLDOWN, HEALTH, SHIELD_ARMOR, BONUS, DAMAGE_AIR, BONUS_AIR = range(10)


class Effect(NamedTuple):
    """`amount` is added to the number; for COOLDOWN it multiplies it."""

    upgrade_id: int
    unit: str
    stat: int
    amount: float


ZERG_GROUND = [
    "Drone",
    "Zergling",
    "Baneling",
    "Queen",
    "Roach",
    "Ravager",
    "Hydralisk",
    "LurkerMP",
    "LurkerMPBurrowed",
    "Infestor",
    "SwarmHostMP",
    "Ultralisk",
    "Broodling",
    "LocustMP",
    "DroneBurrowed",
    "ZerglingBurrowed",
    "BanelingBurrowed",
    "QueenBurrowed",
    "RoachBurrowed",
    "RavagerBurrowed",
    "HydraliskBurrowed",
    "InfestorBurrowed",
    "SwarmHostBurrowedMP",
    "UltraliskBurrowed",
]
ZERG_AIR = [
    "Mutalisk",
    "Corruptor",
    "BroodLord",
    "Viper",
    "Overlord",
    "Overseer",
    "OverseerSiegeMode",
    "OverlordTransport",
]
INFANTRY = ["SCV", "Marine", "Marauder", "Reaper", "Ghost"]
MACHINES = [
    "Hellion",
    "HellionTank",
    "WidowMine",
    "SiegeTank",
    "SiegeTankSieged",
    "Cyclone",
    "Thor",
    "ThorAP",
    "WidowMineBurrowed",
    "VikingFighter",
    "VikingAssault",
    "Medivac",
    "Liberator",
    "LiberatorAG",
    "Banshee",
    "Raven",
    "Battlecruiser",
]
PROTOSS_GROUND = [
    "Probe",
    "Zealot",
    "Stalker",
    "Sentry",
    "Adept",
    "HighTemplar",
    "DarkTemplar",
    "Archon",
    "Immortal",
    "Colossus",
    "Disruptor",
]
PROTOSS_AIR = [
    "Phoenix",
    "VoidRay",
    "Oracle",
    "Tempest",
    "Carrier",
    "Mothership",
    "Observer",
    "WarpPrism",
    "WarpPrismPhasing",
    "ObserverSiegeMode",
    "Interceptor",
]
PROTOSS_BUILDINGS = [
    "Nexus",
    "Pylon",
    "Gateway",
    "WarpGate",
    "CyberneticsCore",
    "PhotonCannon",
    "ShieldBattery",
    "Stargate",
    "RoboticsFacility",
    "Forge",
    "TwilightCouncil",
]
TERRAN_BUILDINGS = [
    "CommandCenter",
    "OrbitalCommand",
    "PlanetaryFortress",
    "SupplyDepot",
    "Barracks",
    "Factory",
    "Starport",
    "Bunker",
    "MissileTurret",
    "EngineeringBay",
]

# First level's id, and what each of the three levels adds to each unit's damage and to its bonus against an attribute.
# Two more numbers are those of the weapon against air, where it is another one.
_WEAPONS: dict[int, dict[str, tuple[float, ...]]] = {
    53: {"Zergling": (1, 0), "Baneling": (2, 2), "Ultralisk": (3, 0), "Broodling": (1, 0)},
    59: {
        "Roach": (2, 0),
        "Hydralisk": (1, 0),
        "Ravager": (2, 0),
        "Queen": (1, 0),
        "LurkerMPBurrowed": (2, 1),
        "LocustMP": (1, 0),
    },
    68: {"Mutalisk": (1, 0), "Corruptor": (1, 1), "BroodLord": (2, 0)},
    7: {"Marine": (1, 0), "Marauder": (1, 1), "Reaper": (1, 0), "Ghost": (1, 1)},
    30: {
        "Hellion": (1, 1),
        "HellionTank": (2, 1),
        "SiegeTank": (2, 1),
        "SiegeTankSieged": (4, 1),
        "Cyclone": (2, 0),
        "Thor": (3, 0, 1, 1),
        "ThorAP": (3, 0, 3, 1),
    },
    36: {
        "VikingFighter": (1, 0),
        "VikingAssault": (1, 1),
        "Banshee": (1, 0),
        "Battlecruiser": (1, 0),
        "Liberator": (1, 0),
        "LiberatorAG": (5, 0),
    },
    39: {
        "Zealot": (1, 0),
        "Stalker": (1, 1),
        "Sentry": (1, 0),
        "Adept": (1, 1),
        "HighTemplar": (1, 0),
        "DarkTemplar": (5, 0),
        "Archon": (3, 1),
        "Immortal": (2, 3),
        "Colossus": (1, 1),
    },
    78: {"Phoenix": (1, 0), "VoidRay": (1, 0), "Tempest": (4, 0, 3, 2), "Carrier": (1, 0), "Mothership": (1, 0)},
}
_ARMOUR: dict[int, list[str]] = {
    56: ZERG_GROUND,
    71: ZERG_AIR,
    11: INFANTRY,
    116: MACHINES,
    42: PROTOSS_GROUND,
    81: PROTOSS_AIR,
}
_SINGLE = [
    Effect(66, "Zergling", SPEED, 1.75),
    Effect(65, "Zergling", COOLDOWN, 0.714),
    Effect(2, "Roach", SPEED, 0.75),
    Effect(3, "RoachBurrowed", SPEED, 2.0),
    Effect(134, "Hydralisk", RANGE, 1.0),
    Effect(135, "Hydralisk", SPEED, 0.5625),
    Effect(75, "Baneling", SPEED, 0.453),
    Effect(75, "Baneling", HEALTH, 5.0),
    Effect(62, "Overlord", SPEED, 1.235),
    Effect(62, "OverlordTransport", SPEED, 1.235),
    Effect(62, "Overseer", SPEED, 1.5),
    Effect(4, "Ultralisk", ARMOR, 2.0),
    Effect(88, "Ultralisk", SPEED, 0.42),
    Effect(127, "LurkerMPBurrowed", RANGE, 2.0),
    Effect(293, "LurkerMP", SPEED, 0.3),
    Effect(16, "Marine", HEALTH, 10.0),
    Effect(19, "Hellion", BONUS, 5.0),
    Effect(136, "Banshee", SPEED, 1.0),
    Effect(5, "MissileTurret", RANGE, 1.0),
    Effect(5, "PlanetaryFortress", RANGE, 1.0),
    Effect(86, "Zealot", SPEED, 1.125),
    Effect(50, "Colossus", RANGE, 2.0),
    Effect(99, "Phoenix", RANGE, 2.0),
    Effect(49, "WarpPrism", SPEED, 0.9),
    Effect(48, "Observer", SPEED, 0.94),
    Effect(288, "VoidRay", SPEED, 0.8),
    Effect(130, "Adept", COOLDOWN, 0.69),
]


def _weapon_effects(upgrade: int, unit: str, steps: tuple[float, ...]) -> list[Effect]:
    """The effects of one level on the weapons of one unit."""
    ground, bonus, air, air_bonus = steps if len(steps) == 4 else steps * 2
    stats = ((DAMAGE, ground), (BONUS, bonus), (DAMAGE_AIR, air), (BONUS_AIR, air_bonus))
    return [Effect(upgrade, unit, stat, amount) for stat, amount in stats if amount]


SHIELDED = PROTOSS_GROUND + PROTOSS_AIR + PROTOSS_BUILDINGS
EFFECTS: list[Effect] = (
    [
        effect
        for first, units in _WEAPONS.items()
        for level in range(3)
        for unit, steps in units.items()
        for effect in _weapon_effects(first + level, unit, steps)
    ]
    + [
        Effect(first + level, unit, ARMOR, 1.0)
        for first, units in _ARMOUR.items()
        for level in range(3)
        for unit in units
    ]
    + [Effect(45 + level, unit, SHIELD_ARMOR, 1.0) for level in range(3) for unit in SHIELDED]
    + [Effect(6, unit, ARMOR, 2.0) for unit in TERRAN_BUILDINGS]
    + _SINGLE
)
# First ids of upgrades with three levels.
FAMILIES: tuple[int, ...] = (*_WEAPONS, *_ARMOUR, 45)
# What the API shows as a unit's upgrade levels: upgrade, unit, column (weapons, armour, shields), steps.
LEVELS: list[tuple[int, str, int, int]] = (
    [(first + level, unit, 0, 1) for first, units in _WEAPONS.items() for level in range(3) for unit in units]
    + [(first + level, unit, 1, 1) for first, members in _ARMOUR.items() for level in range(3) for unit in members]
    + [(45 + level, unit, 2, 1) for level in range(3) for unit in SHIELDED]
    + [(6, unit, 1, 2) for unit in TERRAN_BUILDINGS]
)
