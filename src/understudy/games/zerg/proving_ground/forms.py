"""The forms that units and structures can take: tables written by hand."""

from __future__ import annotations

MORPHS = [
    ("Hatchery", "Lair"),
    ("Lair", "Hive"),
    ("Spire", "GreaterSpire"),
    ("Zergling", "Baneling"),
    ("Roach", "Ravager"),
    ("Hydralisk", "LurkerMP"),
    ("Corruptor", "BroodLord"),
    ("Overlord", "Overseer"),
    ("Overlord", "OverlordTransport"),
    ("OverlordTransport", "Overseer"),
    ("CommandCenter", "OrbitalCommand"),
    ("CommandCenter", "PlanetaryFortress"),
]
# Changes of shape without a price: from, to, the ability, and the ability back.
SHAPES = [
    ("SiegeTank", "SiegeTankSieged", 388, 390),
    ("SupplyDepot", "SupplyDepotLowered", 556, 558),
    ("VikingFighter", "VikingAssault", 403, 405),
    ("WarpPrism", "WarpPrismPhasing", 1528, 1530),
    ("Gateway", "WarpGate", 1518, 1520),
    ("Overseer", "OverseerSiegeMode", 3743, 3745),
    ("Observer", "ObserverSiegeMode", 3741, 3739),
    ("WidowMine", "WidowMineBurrowed", 2095, 2097),
    ("Hellion", "HellionTank", 1998, 1978),
    ("Thor", "ThorAP", 2362, 2364),
    ("Liberator", "LiberatorAG", 2558, 2560),
    ("LurkerMP", "LurkerMPBurrowed", 2108, 2110),
    ("Drone", "DroneBurrowed", 1378, 1380),
    ("Zergling", "ZerglingBurrowed", 1390, 1392),
    ("Baneling", "BanelingBurrowed", 1374, 1376),
    ("Queen", "QueenBurrowed", 1433, 1435),
    ("Roach", "RoachBurrowed", 1386, 1388),
    ("Ravager", "RavagerBurrowed", 2340, 2342),
    ("Hydralisk", "HydraliskBurrowed", 1382, 1384),
    ("Infestor", "InfestorBurrowed", 1444, 1446),
    ("SwarmHostMP", "SwarmHostBurrowedMP", 2014, 2016),
    ("Ultralisk", "UltraliskBurrowed", 1512, 1514),
]
SHAPE_LOOPS = 16.0  # of a change of shape; the others in seconds:
SHAPE_SECONDS = {
    "SiegeTankSieged": 2.7,
    "SiegeTank": 2.7,
    "VikingAssault": 2.3,
    "VikingFighter": 2.3,
    "HellionTank": 2.9,
    "Hellion": 2.9,
    "ThorAP": 1.8,
    "Thor": 1.8,
    "WidowMineBurrowed": 2.7,
    "LiberatorAG": 2.7,
    "LurkerMPBurrowed": 1.4,
    "WarpPrismPhasing": 1.4,
    "WarpPrism": 1.4,
    "WarpGate": 7.1,
    "Gateway": 7.1,
    "CommandCenterFlying": 1.4,
    "OrbitalCommandFlying": 1.4,
    "BarracksFlying": 1.4,
    "FactoryFlying": 1.4,
    "StarportFlying": 1.4,
}
# Structures that move: standing, moving, the abilities to leave and to settle. Settling needs a place.
MOVABLE = (
    ("CommandCenter", "CommandCenterFlying", 417, 419),
    ("OrbitalCommand", "OrbitalCommandFlying", 1522, 1524),
    ("Barracks", "BarracksFlying", 452, 554),
    ("Factory", "FactoryFlying", 485, 520),
    ("Starport", "StarportFlying", 518, 522),
    ("SpineCrawler", "SpineCrawlerUprooted", 1725, 1729),
    ("SporeCrawler", "SporeCrawlerUprooted", 1727, 1731),
)
COCOONS = {
    "Baneling": "BanelingCocoon",
    "Ravager": "RavagerCocoon",
    "LurkerMP": "LurkerMPEgg",
    "BroodLord": "BroodLordCocoon",
    "Overseer": "OverlordCocoon",
    "OverlordTransport": "TransportOverlordCocoon",
}
ADDONS = [(host, f"{host}{addon}") for host in ("Barracks", "Factory", "Starport") for addon in ("TechLab", "Reactor")]
