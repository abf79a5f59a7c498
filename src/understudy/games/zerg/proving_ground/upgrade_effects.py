"""What each upgrade does: which numbers of which units it changes. Numbers are in the game's "normal" seconds, as in the unit data."""

# ruff: noqa: E501 - tables

from __future__ import annotations

from typing import NamedTuple

SPEED, RANGE, ARMOR, DAMAGE, COOLDOWN, HEALTH, SHIELD_ARMOR = range(7)


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
]
ZERG_AIR = ["Mutalisk", "Corruptor", "BroodLord", "Viper", "Overlord", "Overseer", "OverlordTransport"]
INFANTRY = ["SCV", "Marine", "Marauder", "Reaper", "Ghost"]
MACHINES = [
    "Hellion",
    "HellionTank",
    "WidowMine",
    "SiegeTank",
    "SiegeTankSieged",
    "Cyclone",
    "Thor",
    "VikingFighter",
    "Medivac",
    "Liberator",
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
PROTOSS_AIR = ["Phoenix", "VoidRay", "Oracle", "Tempest", "Carrier", "Mothership", "Observer", "WarpPrism"]
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

# First level's id, and what each of the three levels adds to each unit's damage.
_WEAPONS: dict[int, dict[str, float]] = {
    53: {"Zergling": 1, "Baneling": 2, "Ultralisk": 3, "Broodling": 1},
    59: {"Roach": 2, "Hydralisk": 1, "Ravager": 1, "Queen": 1, "LurkerMPBurrowed": 2},
    68: {"Mutalisk": 1, "Corruptor": 1, "BroodLord": 2},
    7: {"Marine": 1, "Marauder": 1, "Reaper": 1, "Ghost": 1},
    30: {"Hellion": 1, "HellionTank": 2, "SiegeTank": 2, "SiegeTankSieged": 4, "Cyclone": 2, "Thor": 3},
    36: {"VikingFighter": 1, "Banshee": 1, "Battlecruiser": 1, "Liberator": 1},
    39: {
        "Zealot": 1,
        "Stalker": 1,
        "Sentry": 1,
        "Adept": 1,
        "DarkTemplar": 5,
        "Archon": 3,
        "Immortal": 2,
        "Colossus": 1,
    },
    78: {"Phoenix": 1, "VoidRay": 1, "Tempest": 3, "Carrier": 1},
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
    Effect(19, "Hellion", DAMAGE, 5.0),
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

EFFECTS: list[Effect] = (
    [
        Effect(first + level, unit, DAMAGE, add)
        for first, units in _WEAPONS.items()
        for level in range(3)
        for unit, add in units.items()
    ]
    + [
        Effect(first + level, unit, ARMOR, 1.0)
        for first, units in _ARMOUR.items()
        for level in range(3)
        for unit in units
    ]
    + [
        Effect(45 + level, unit, SHIELD_ARMOR, 1.0)
        for level in range(3)
        for unit in PROTOSS_GROUND + PROTOSS_AIR + PROTOSS_BUILDINGS
    ]
    + [Effect(6, unit, ARMOR, 2.0) for unit in TERRAN_BUILDINGS]
    + _SINGLE
)
