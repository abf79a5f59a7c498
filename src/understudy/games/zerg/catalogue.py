"""Unit types as the bot knows them: price, supply and properties, by the game's unit ids.

The ladder zip does not contain the proving ground and its tables, so the bot has its own; a test compares the two.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

IDS = 2048  # all unit ids of a melee game are below this


class CatalogueUnit(NamedTuple):
    """One unit type. Costs include the drone of a Zerg building."""

    id: int
    name: str
    race: int
    minerals: float
    vespene: float
    supply: float
    footprint: int
    flags: str  # a army, s structure, w worker, h townhall, x gas, f flying, d detector, g hits ground, u hits air


# id, name, race, minerals, vespene, supply, footprint, flags
_TABLE = """
4 Colossus 3 300 200 6 0 ag; 8 BanelingCocoon 2 50 25 0.5 0 a; 9 Baneling 2 50 25 0.5 0 ag;
10 Mothership 3 400 400 8 0 afgu; 18 CommandCenter 1 400 0 0 5 sh; 19 SupplyDepot 1 100 0 0 2 s;
20 Refinery 1 75 0 0 3 sx; 21 Barracks 1 150 0 0 3 s; 22 EngineeringBay 1 125 0 0 3 s;
23 MissileTurret 1 100 0 0 2 sdu; 24 Bunker 1 100 0 0 3 sgu; 25 SensorTower 1 125 100 0 1 s;
26 GhostAcademy 1 150 50 0 3 s; 27 Factory 1 150 100 0 3 s; 28 Starport 1 150 100 0 3 s; 29 Armory 1 150 100 0 3 s;
30 FusionCore 1 150 150 0 3 s; 32 SiegeTankSieged 1 150 125 3 0 ag; 33 SiegeTank 1 150 125 3 0 ag;
34 VikingAssault 1 150 75 2 0 ag; 35 VikingFighter 1 150 75 2 0 afu; 36 CommandCenterFlying 1 400 0 0 0 sf;
37 BarracksTechLab 1 50 25 0 2 s; 38 BarracksReactor 1 50 50 0 2 s; 39 FactoryTechLab 1 50 25 0 2 s;
40 FactoryReactor 1 50 50 0 2 s; 41 StarportTechLab 1 50 25 0 2 s; 42 StarportReactor 1 50 50 0 2 s;
43 FactoryFlying 1 150 100 0 0 sf; 44 StarportFlying 1 150 100 0 0 sf; 45 SCV 1 50 0 1 0 wg;
46 BarracksFlying 1 150 0 0 0 sf; 47 SupplyDepotLowered 1 100 0 0 0 s; 48 Marine 1 50 0 1 0 agu;
49 Reaper 1 50 50 1 0 ag; 50 Ghost 1 150 125 2 0 agu; 51 Marauder 1 100 25 2 0 ag; 52 Thor 1 300 200 6 0 agu;
53 Hellion 1 100 0 2 0 ag; 54 Medivac 1 100 100 2 0 af; 55 Banshee 1 150 100 3 0 afg; 56 Raven 1 100 150 2 0 afd;
57 Battlecruiser 1 400 300 6 0 afgu; 59 Nexus 3 400 0 0 5 sh; 60 Pylon 3 100 0 0 2 s; 61 Assimilator 3 75 0 0 3 sx;
62 Gateway 3 150 0 0 3 s; 63 Forge 3 150 0 0 3 s; 64 FleetBeacon 3 300 200 0 3 s; 65 TwilightCouncil 3 150 100 0 3 s;
66 PhotonCannon 3 150 0 0 2 sdgu; 67 Stargate 3 150 150 0 3 s; 68 TemplarArchive 3 150 200 0 3 s;
69 DarkShrine 3 150 150 0 2 s; 70 RoboticsBay 3 150 150 0 3 s; 71 RoboticsFacility 3 150 100 0 3 s;
72 CyberneticsCore 3 150 0 0 3 s; 73 Zealot 3 100 0 2 0 ag; 74 Stalker 3 125 50 2 0 agu;
75 HighTemplar 3 50 150 2 0 ag; 76 DarkTemplar 3 125 125 2 0 ag; 77 Sentry 3 50 100 2 0 agu;
78 Phoenix 3 150 100 2 0 afu; 79 Carrier 3 350 250 6 0 afgu; 80 VoidRay 3 250 150 4 0 afgu;
81 WarpPrism 3 250 0 2 0 af; 82 Observer 3 25 75 1 0 afd; 83 Immortal 3 275 100 4 0 ag; 84 Probe 3 50 0 1 0 wg;
85 Interceptor 3 15 0 0 0 fgu; 86 Hatchery 2 350 0 0 5 sh; 87 CreepTumor 2 0 0 0 1 s; 88 Extractor 2 75 0 0 3 sx;
89 SpawningPool 2 250 0 0 3 s; 90 EvolutionChamber 2 125 0 0 3 s; 91 HydraliskDen 2 150 100 0 3 s;
92 Spire 2 250 200 0 2 s; 93 UltraliskCavern 2 200 200 0 3 s; 94 InfestationPit 2 150 100 0 3 s;
95 NydusNetwork 2 200 150 0 3 s; 96 BanelingNest 2 150 50 0 3 s; 97 RoachWarren 2 200 0 0 3 s;
98 SpineCrawler 2 150 0 0 2 sg; 99 SporeCrawler 2 125 0 0 2 sdu; 100 Lair 2 500 100 0 5 sh;
101 Hive 2 700 250 0 5 sh; 102 GreaterSpire 2 350 350 0 0 s; 103 Egg 2 0 0 0 0 -; 104 Drone 2 50 0 1 0 wg;
105 Zergling 2 25 0 0.5 0 ag; 106 Overlord 2 100 0 0 0 f; 107 Hydralisk 2 100 50 2 0 agu;
108 Mutalisk 2 100 100 2 0 afgu; 109 Ultralisk 2 300 200 6 0 ag; 110 Roach 2 75 25 2 0 ag;
111 Infestor 2 100 150 2 0 a; 112 Corruptor 2 150 100 2 0 afu; 113 BroodLordCocoon 2 300 250 2 0 af;
114 BroodLord 2 300 250 4 0 afg; 126 Queen 2 150 0 2 0 gu; 128 OverlordCocoon 2 150 100 0 0 f;
129 Overseer 2 150 50 0 0 fd; 130 PlanetaryFortress 1 550 150 0 5 shg; 132 OrbitalCommand 1 550 0 0 5 sh;
133 WarpGate 3 150 0 0 0 s; 134 OrbitalCommandFlying 1 550 0 0 0 sf; 135 ForceField 3 0 0 0 0 -;
136 WarpPrismPhasing 3 250 0 2 0 af; 137 CreepTumorBurrowed 2 0 0 0 1 s; 138 CreepTumorQueen 2 0 0 0 1 s;
139 SpineCrawlerUprooted 2 150 0 0 0 s; 140 SporeCrawlerUprooted 2 125 0 0 0 s; 141 Archon 3 175 275 4 0 agu;
142 NydusCanal 2 75 75 0 3 s; 145 GhostNova 1 150 125 2 0 agu; 151 Larva 2 0 0 0 0 -; 268 MULE 1 50 0 0 0 w;
289 Broodling 2 0 0 0 0 g; 311 Adept 3 100 25 2 0 ag; 484 HellionTank 1 100 0 2 0 ag;
488 MothershipCore 3 100 100 2 0 ag; 489 LocustMP 2 0 0 0 0 g; 491 NydusCanalAttacker 2 200 0 2 2 sgu;
492 NydusCanalCreeper 2 150 75 0 0 s; 494 SwarmHostMP 2 100 75 3 0 a; 495 Oracle 3 150 150 3 0 afg;
496 Tempest 3 250 175 5 0 afgu; 497 WarHound 1 150 75 3 0 ag; 498 WidowMine 1 75 25 2 0 a;
499 Viper 2 100 200 3 0 af; 500 WidowMineBurrowed 1 75 25 2 0 agu; 501 LurkerMPEgg 2 0 0 2 0 a;
502 LurkerMP 2 150 150 3 0 a; 503 LurkerMPBurrowed 2 150 150 3 0 ag; 504 LurkerDenMP 2 150 150 0 3 s;
687 RavagerCocoon 2 0 0 2 0 a; 688 Ravager 2 100 100 3 0 ag; 689 Liberator 1 150 125 3 0 afu;
691 ThorAP 1 300 200 6 0 agu; 692 Cyclone 1 150 100 3 0 agu; 693 LocustMPFlying 2 0 0 0 0 f;
694 Disruptor 3 150 150 3 0 a; 725 VoidMPImmortalReviveCorpse 3 250 100 4 0 a; 727 GuardianMP 2 150 200 2 0 ag;
729 DevourerMP 2 250 150 2 0 au; 731 DefilerMP 2 50 150 2 0 a; 732 OracleStasisTrap 3 0 0 0 1 s;
733 DisruptorPhased 3 0 0 3 0 a; 734 LiberatorAG 1 150 125 3 0 afg; 801 AdeptPhaseShift 3 0 0 2 0 a;
820 HERCPlacement 1 200 100 3 0 ag; 830 KD8Charge 1 0 0 0 0 s; 838 HERC 1 200 100 3 0 ag;
840 Replicant 3 150 300 4 0 a; 855 CorsairMP 3 150 100 2 0 au; 856 ScoutMP 3 275 125 3 0 agu;
857 ArbiterMP 3 100 350 4 0 agu; 858 ScourgeMP 2 12 37 0.5 0 au; 860 QueenMP 2 0 0 0 0 -;
891 Elsecaro_Colonist_Hut 1 100 0 0 0 s; 892 TransportOverlordCocoon 2 150 100 0 0 f;
893 OverlordTransport 2 100 0 0 0 f; 895 BypassArmorDrone 1 0 0 0 0 s; 1910 ShieldBattery 3 100 0 0 2 s;
1911 ObserverSiegeMode 3 25 75 1 0 afd; 1912 OverseerSiegeMode 2 150 50 0 0 fd; 1913 RavenRepairDrone 1 100 0 0 0 s;
1943 RefineryRich 1 75 0 0 0 sx; 1994 AssimilatorRich 3 75 0 0 0 sx; 1995 ExtractorRich 2 75 0 0 0 sx
"""


def _parse(entry: str) -> CatalogueUnit:
    number, name, race, minerals, vespene, supply, footprint, flags = entry.split()
    return CatalogueUnit(
        int(number), name, int(race), float(minerals), float(vespene), float(supply), int(footprint), flags.strip("-")
    )


UNIT_TYPES: tuple[CatalogueUnit, ...] = tuple(_parse(entry) for entry in _TABLE.replace("\n", " ").split(";"))
BY_NAME: dict[str, CatalogueUnit] = {unit.name: unit for unit in UNIT_TYPES}
BY_ID: dict[int, CatalogueUnit] = {unit.id: unit for unit in UNIT_TYPES}


def _flagged(flag: str) -> NDArray[np.bool_]:
    table = np.zeros(IDS, np.bool_)
    for unit in UNIT_TYPES:
        table[unit.id] = flag in unit.flags
    return table


# Looked up by unit id, for whole columns of units at a time.
IS_ARMY, IS_STRUCTURE, IS_WORKER, IS_TOWNHALL = _flagged("a"), _flagged("s"), _flagged("w"), _flagged("h")
IS_GAS, IS_FLYING, HITS_GROUND, HITS_AIR = _flagged("x"), _flagged("f"), _flagged("g"), _flagged("u")
IS_DEFENCE = IS_STRUCTURE & (HITS_GROUND | HITS_AIR)
SUPPLY: NDArray[np.float64] = np.zeros(IDS)
RACE: NDArray[np.int64] = np.zeros(IDS, np.int64)
for _unit in UNIT_TYPES:
    SUPPLY[_unit.id], RACE[_unit.id] = _unit.supply, _unit.race
# Weight of a fighter when armies are compared: its supply; a defensive structure counts 2.
STRENGTH: NDArray[np.float64] = np.where(IS_ARMY, SUPPLY, 0.0) + np.where(IS_DEFENCE, 2.0, 0.0)

_SECOND_TIER = (
    "Lair Factory Starport TwilightCouncil Stargate RoboticsFacility HydraliskDen Spire InfestationPit Armory"
)
_THIRD_TIER = (
    "Hive FusionCore FleetBeacon TemplarArchive DarkShrine RoboticsBay UltraliskCavern GreaterSpire GhostAcademy"
)
TIER: NDArray[np.int64] = np.where(IS_STRUCTURE, 1, 0)
for _tier, _names in ((2, _SECOND_TIER), (3, _THIRD_TIER)):
    for _name in _names.split():
        TIER[BY_NAME[_name].id] = _tier


def _id(name: str) -> int:
    return BY_NAME[name].id


LARVA, EGG, DRONE, OVERLORD, QUEEN = _id("Larva"), _id("Egg"), _id("Drone"), _id("Overlord"), _id("Queen")
ZERGLING, ROACH, HYDRALISK = _id("Zergling"), _id("Roach"), _id("Hydralisk")
HATCHERY, LAIR, HIVE, EXTRACTOR = _id("Hatchery"), _id("Lair"), _id("Hive"), _id("Extractor")
SPAWNING_POOL, ROACH_WARREN, HYDRALISK_DEN = _id("SpawningPool"), _id("RoachWarren"), _id("HydraliskDen")
EVOLUTION_CHAMBER, SPINE_CRAWLER, SPORE_CRAWLER = _id("EvolutionChamber"), _id("SpineCrawler"), _id("SporeCrawler")


class UpgradeType(NamedTuple):
    """One upgrade the bot researches: its id, price, building, and requirements (0 for none)."""

    id: int
    minerals: float
    vespene: float
    at: int
    after_building: int = 0
    after_upgrade: int = 0


LING_SPEED = UpgradeType(66, 100, 100, SPAWNING_POOL)
ROACH_SPEED = UpgradeType(2, 100, 100, ROACH_WARREN, LAIR)
HYDRA_RANGE = UpgradeType(134, 100, 100, HYDRALISK_DEN)
MELEE_1 = UpgradeType(53, 100, 100, EVOLUTION_CHAMBER)
MISSILE_1 = UpgradeType(59, 100, 100, EVOLUTION_CHAMBER)
MISSILE_2 = UpgradeType(60, 150, 150, EVOLUTION_CHAMBER, LAIR, 59)
CARAPACE_1 = UpgradeType(56, 150, 150, EVOLUTION_CHAMBER)
UPGRADES = (LING_SPEED, MELEE_1, CARAPACE_1, ROACH_SPEED, MISSILE_1, HYDRA_RANGE, MISSILE_2)
