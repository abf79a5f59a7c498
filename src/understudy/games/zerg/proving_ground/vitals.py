"""Unit data that the game's data response lacks: health, shields, energy, radius, some weapons, sizes and roles.

One line a unit: name, health, shields, energy, radius. Names are those of units.tsv.
"""

# ruff: noqa: E501 - tables

from __future__ import annotations

from typing import NamedTuple


class Vitals(NamedTuple):
    """Health and shields at full, the energy bar (0 for none), and the radius used for ranges and crowding."""

    health: float
    shields: float
    energy: float
    radius: float


_TABLE = """
SCV 45 0 0 0.375; Marine 45 0 0 0.375; Marauder 125 0 0 0.5625; Reaper 60 0 0 0.375; Ghost 100 0 200 0.375; Hellion 90 0 0 0.625
HellionTank 135 0 0 0.625; WidowMine 90 0 0 0.5; WidowMineBurrowed 90 0 0 0.5; SiegeTank 175 0 0 0.875; SiegeTankSieged 175 0 0 0.875
Cyclone 120 0 0 0.75; Thor 400 0 0 1; ThorAP 400 0 0 1; VikingFighter 135 0 0 0.75; VikingAssault 135 0 0 0.75; Medivac 150 0 200 0.75
Liberator 180 0 0 0.75; LiberatorAG 180 0 0 0.75; Banshee 140 0 200 0.75; Raven 140 0 200 0.625; Battlecruiser 550 0 0 1.25; MULE 60 0 0 0.375
AutoTurret 100 0 0 1; CommandCenter 1500 0 0 2.75; OrbitalCommand 1500 0 200 2.75; PlanetaryFortress 1500 0 0 2.5
CommandCenterFlying 1500 0 0 2.75; OrbitalCommandFlying 1500 0 200 2.75; SupplyDepot 400 0 0 1.25; SupplyDepotLowered 400 0 0 1.25
Refinery 500 0 0 1.6875; RefineryRich 500 0 0 1.6875; Barracks 1000 0 0 1.8125; BarracksFlying 1000 0 0 1.8125; EngineeringBay 850 0 0 1.8125
MissileTurret 250 0 0 0.875; Bunker 400 0 0 1.8125; SensorTower 200 0 0 0.875; GhostAcademy 1250 0 0 1.8125; Factory 1250 0 0 1.8125
FactoryFlying 1250 0 0 1.8125; Starport 1300 0 0 1.8125; StarportFlying 1300 0 0 1.8125; Armory 750 0 0 1.8125; FusionCore 750 0 0 1.8125
TechLab 400 0 0 1; Reactor 400 0 0 1; BarracksTechLab 400 0 0 1; BarracksReactor 400 0 0 1; FactoryTechLab 400 0 0 1
FactoryReactor 400 0 0 1; StarportTechLab 400 0 0 1; StarportReactor 400 0 0 1
Probe 20 20 0 0.375; Zealot 100 50 0 0.5; Stalker 80 80 0 0.625; Sentry 40 40 200 0.5; Adept 70 70 0 0.5; HighTemplar 40 40 200 0.375
DarkTemplar 40 80 0 0.375; Archon 10 350 0 1; Immortal 200 100 0 1; Colossus 200 150 0 1; Disruptor 100 100 0 0.625; Observer 40 20 0 0.5
ObserverSiegeMode 40 20 0 0.5; WarpPrism 80 100 0 0.875; WarpPrismPhasing 80 100 0 0.875; Phoenix 120 60 200 0.75; VoidRay 150 100 0 0.875
Oracle 100 60 200 0.75; Tempest 200 100 0 1.125; Carrier 300 150 0 1.25; Interceptor 40 40 0 0.25; Mothership 350 350 200 1.375
Nexus 1000 1000 200 2.75; Pylon 200 200 0 1.125; Assimilator 300 300 0 1.6875; AssimilatorRich 300 300 0 1.6875; Gateway 500 500 0 1.8125
WarpGate 500 500 0 1.8125; Forge 400 400 0 1.8125; FleetBeacon 500 500 0 1.8125; TwilightCouncil 500 500 0 1.8125; PhotonCannon 150 150 0 1.125
Stargate 600 600 0 1.8125; TemplarArchive 500 500 0 1.8125; DarkShrine 500 500 0 1.125; RoboticsBay 500 500 0 1.8125
RoboticsFacility 450 450 0 1.8125; CyberneticsCore 550 550 0 1.8125; ShieldBattery 150 150 100 1.125; OracleStasisTrap 30 30 0 0.5
Larva 25 0 0 0.125; Egg 200 0 0 0.125; Drone 40 0 0 0.375; DroneBurrowed 40 0 0 0.375; Zergling 35 0 0 0.375; ZerglingBurrowed 35 0 0 0.375
Baneling 30 0 0 0.375; BanelingBurrowed 30 0 0 0.375; BanelingCocoon 50 0 0 0.375; Queen 175 0 200 0.875; QueenBurrowed 175 0 200 0.875
Roach 145 0 0 0.625; RoachBurrowed 145 0 0 0.625; Ravager 120 0 0 0.75; RavagerBurrowed 120 0 0 0.75; RavagerCocoon 100 0 0 0.625
Hydralisk 90 0 0 0.625; HydraliskBurrowed 90 0 0 0.625; LurkerMP 200 0 0 0.9375; LurkerMPBurrowed 200 0 0 0.9375; LurkerMPEgg 100 0 0 0.625
Mutalisk 120 0 0 0.5; Corruptor 200 0 0 0.625; BroodLord 225 0 0 1; BroodLordCocoon 200 0 0 0.625; Broodling 20 0 0 0.375
Infestor 90 0 200 0.625; InfestorBurrowed 90 0 200 0.625; SwarmHostMP 160 0 0 0.8125; SwarmHostBurrowedMP 160 0 0 0.8125; LocustMP 50 0 0 0.375
Viper 150 0 200 0.75; Ultralisk 500 0 0 1; UltraliskBurrowed 500 0 0 1; Overlord 200 0 0 1; OverlordCocoon 200 0 0 1; OverlordTransport 200 0 0 1
TransportOverlordCocoon 200 0 0 1; Overseer 200 0 200 1; OverseerSiegeMode 200 0 200 1; Changeling 5 0 0 0.375
Hatchery 1500 0 0 2.75; Lair 2000 0 0 2.75; Hive 2500 0 0 2.75; Extractor 500 0 0 1.6875; ExtractorRich 500 0 0 1.6875
SpawningPool 1000 0 0 1.8125; EvolutionChamber 750 0 0 1.8125; HydraliskDen 850 0 0 1.8125; Spire 850 0 0 1.125; GreaterSpire 1000 0 0 1.125
UltraliskCavern 850 0 0 1.8125; InfestationPit 850 0 0 1.8125; NydusNetwork 850 0 0 1.8125; NydusCanal 300 0 0 1.125; BanelingNest 850 0 0 1.8125
RoachWarren 850 0 0 1.8125; LurkerDenMP 850 0 0 1.8125; SpineCrawler 300 0 0 1.125; SporeCrawler 400 0 0 1.125
SpineCrawlerUprooted 300 0 0 0.9; SporeCrawlerUprooted 400 0 0 0.9; CreepTumor 50 0 0 0.875; CreepTumorQueen 50 0 0 0.875
CreepTumorBurrowed 50 0 0 0.875; MineralField 500 0 0 1.125; MineralField750 500 0 0 1.125; VespeneGeyser 500 0 0 1.5
XelNagaTower 400 0 0 1; DestructibleRock6x6 2000 0 0 3; ForceField 200 0 0 1.7; AdeptPhaseShift 90 50 0 0.5; KD8Charge 100 0 0 0.3
"""

VITALS: dict[str, Vitals] = {
    name: Vitals(*map(float, numbers))
    for name, *numbers in (entry.split() for entry in _TABLE.replace("\n", ";").split(";") if entry.strip())
}
UNKNOWN = Vitals(100.0, 0.0, 0.0, 0.5)

# Weapons that the data response leaves out because they are behaviours there: type, damage, attacks, range, seconds, bonus attribute, bonus.
EXTRA_WEAPONS: dict[str, tuple[int, float, int, float, float, int, float]] = {
    "Baneling": (1, 16.0, 1, 0.25, 0.833, 1, 19.0),
    "VoidRay": (3, 6.0, 1, 6.0, 0.5, 2, 4.0),
    "Sentry": (3, 6.0, 1, 5.0, 1.0, 0, 0.0),
    "Carrier": (3, 5.0, 16, 8.0, 3.0, 0, 0.0),
    "WidowMineBurrowed": (3, 125.0, 1, 5.0, 40.0, 0, 0.0),
    "Bunker": (3, 6.0, 4, 6.0, 0.861, 0, 0.0),
}
# Weapons that the data response lists once although they hit air targets with other damage.
AIR_DAMAGE = {"Battlecruiser": 5.0}
# Radius in which a hit also hurts the target's neighbours; the game's several rings are one ring here.
SPLASH: dict[str, float] = {
    "Baneling": 2.2,
    "SiegeTankSieged": 1.25,
    "Colossus": 1.4,
    "Hellion": 0.9,
    "HellionTank": 1.2,
    "Ultralisk": 1.6,
    "Archon": 1.0,
    "LurkerMPBurrowed": 1.0,
    "PlanetaryFortress": 1.25,
    "Liberator": 1.5,
    "Mutalisk": 0.8,
    "WidowMineBurrowed": 1.75,
}
FLYING = {
    "VikingFighter",
    "Medivac",
    "Liberator",
    "LiberatorAG",
    "Banshee",
    "Raven",
    "Battlecruiser",
    "CommandCenterFlying",
    "OrbitalCommandFlying",
    "BarracksFlying",
    "FactoryFlying",
    "StarportFlying",
    "Observer",
    "ObserverSiegeMode",
    "WarpPrism",
    "WarpPrismPhasing",
    "Phoenix",
    "VoidRay",
    "Oracle",
    "Tempest",
    "Carrier",
    "Interceptor",
    "Mothership",
    "Mutalisk",
    "Corruptor",
    "BroodLord",
    "BroodLordCocoon",
    "Viper",
    "Overlord",
    "OverlordCocoon",
    "OverlordTransport",
    "TransportOverlordCocoon",
    "Overseer",
    "OverseerSiegeMode",
    "LocustMPFlying",
}
CLOAKED = {
    "DarkTemplar",
    "Observer",
    "ObserverSiegeMode",
    "DroneBurrowed",
    "ZerglingBurrowed",
    "BanelingBurrowed",
    "QueenBurrowed",
    "RoachBurrowed",
    "RavagerBurrowed",
    "HydraliskBurrowed",
    "LurkerMPBurrowed",
    "InfestorBurrowed",
    "SwarmHostBurrowedMP",
    "UltraliskBurrowed",
    "WidowMineBurrowed",
    "CreepTumorBurrowed",
    "CreepTumor",
    "CreepTumorQueen",
    "OracleStasisTrap",
}
DETECTORS = {
    "Observer",
    "ObserverSiegeMode",
    "Overseer",
    "OverseerSiegeMode",
    "Raven",
    "MissileTurret",
    "SporeCrawler",
    "PhotonCannon",
}
# How much faster a unit is on creep; every other Zerg ground unit has 1.3, workers and broodlings nothing.
CREEP_SPEED: dict[str, float] = {
    "Queen": 2.67,
    "SpineCrawlerUprooted": 2.5,
    "SporeCrawlerUprooted": 2.5,
    "Hydralisk": 1.3,
    "Drone": 1.0,
    "Broodling": 1.0,
}

# What units and structures are.
WORKERS = {"SCV", "Drone", "Probe", "MULE"}
TOWNHALLS = {"CommandCenter", "OrbitalCommand", "PlanetaryFortress", "Nexus", "Hatchery", "Lair", "Hive"}
GAS_BUILDINGS = {"Refinery", "RefineryRich", "Assimilator", "AssimilatorRich", "Extractor", "ExtractorRich"}
UNPOWERED = {"Nexus", "Pylon", "Assimilator", "AssimilatorRich"}
FREE_OF_CREEP = {"Hatchery", "Extractor", "NydusCanal"}
CREEP_RADIUS = {
    "Hatchery": 12.0,
    "Lair": 12.0,
    "Hive": 12.0,
    "CreepTumorBurrowed": 10.0,
    "CreepTumor": 10.0,
    "CreepTumorQueen": 10.0,
    "NydusCanal": 10.0,
}
FOOTPRINTS = {
    "CreepTumor": 1,
    "CreepTumorQueen": 1,
    "CreepTumorBurrowed": 1,
    "Lair": 5,
    "Hive": 5,
    "OrbitalCommand": 5,
    "PlanetaryFortress": 5,
    "WarpGate": 3,
    "SupplyDepotLowered": 2,
    "GreaterSpire": 2,
    "XelNagaTower": 2,
    "DestructibleRock6x6": 6,
}
NOT_ARMY = {"Overlord", "Overseer", "OverlordTransport", "Larva", "Egg", "Queen"}
ROOM = {
    "Bunker": 4,
    "Medivac": 8,
    "OverlordTransport": 8,
    "WarpPrism": 8,
    "WarpPrismPhasing": 8,
    "NydusNetwork": 255,
    "NydusCanal": 255,
}
ADDON_SIZE = 2
WARP_PAUSE = {"Zealot": 20, "Sentry": 23, "Stalker": 23, "Adept": 20, "HighTemplar": 32, "DarkTemplar": 32}  # seconds
