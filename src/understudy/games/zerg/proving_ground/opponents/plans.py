"""The plans of the built-in opponents: what to build, in which order, and when to attack.

A goal is a name and a count to reach; an upgrade is named by its number. Goals are worked on in order. The rest of
the money goes into the army, in the given shares.
"""

# ruff: noqa: E501 - tables

from __future__ import annotations

from typing import NamedTuple

from understudy.games.zerg.starcraft import AIR, MACRO, POWER, PROTOSS, RUSH, TERRAN, TIMING, ZERG


class OpponentPlan(NamedTuple):
    """`attack_at`: army supply that starts an attack; `retreat_at`: the share of it below which the army retreats.

    `patience` multiplies the difficulty's time of the first attack.
    """

    goals: tuple[tuple[str | int, int], ...]
    army: tuple[tuple[str, float], ...]
    attack_at: float
    retreat_at: float = 0.3
    patience: float = 1.8


def _goals(text: str) -> tuple[tuple[str | int, int], ...]:
    pairs = (entry.split(":") for entry in text.split())
    return tuple((int(name) if name.isdigit() else name, int(count)) for name, count in pairs)


PLANS: dict[int, dict[int, OpponentPlan]] = {
    ZERG: {
        RUSH: OpponentPlan(
            _goals("SpawningPool:1 Drone:14 Queen:1 Extractor:1 66:1"), (("Zergling", 1.0),), 8, 0.2, 1.0
        ),
        TIMING: OpponentPlan(
            _goals(
                "Drone:14 Drone:17 Hatchery:2 SpawningPool:1 Drone:20 Extractor:1 Queen:2 RoachWarren:1 Drone:32 Extractor:3 59:1"
            ),
            (("Roach", 0.85), ("Zergling", 0.15)),
            32,
            patience=1.4,
        ),
        POWER: OpponentPlan(
            _goals(
                "Drone:16 SpawningPool:1 Hatchery:2 Queen:3 SpineCrawler:3 Extractor:2 RoachWarren:1 Drone:38 SpineCrawler:5 Lair:1 59:1 HydraliskDen:1 Drone:50"
            ),
            (("Roach", 0.5), ("Hydralisk", 0.5)),
            70,
        ),
        MACRO: OpponentPlan(
            _goals(
                "Drone:17 Hatchery:2 SpawningPool:1 Extractor:1 Queen:2 66:1 Drone:32 RoachWarren:1 Hatchery:3 Drone:44 Lair:1 Extractor:4 59:1 56:1 2:1 Drone:60"
            ),
            (("Roach", 0.6), ("Hydralisk", 0.25), ("Zergling", 0.15)),
            60,
        ),
        AIR: OpponentPlan(
            _goals(
                "Drone:17 Hatchery:2 SpawningPool:1 Extractor:2 Queen:3 SpineCrawler:1 Drone:32 Lair:1 Extractor:4 Spire:1 Drone:44 68:1"
            ),
            (("Mutalisk", 0.7), ("Zergling", 0.3)),
            30,
            patience=1.6,
        ),
    },
    TERRAN: {
        RUSH: OpponentPlan(_goals("SCV:14 SupplyDepot:1 Barracks:3 SCV:18"), (("Marine", 1.0),), 10, 0.2, 1.0),
        TIMING: OpponentPlan(
            _goals(
                "SCV:15 SupplyDepot:1 Barracks:1 Refinery:1 SCV:19 CommandCenter:2 Barracks:3 BarracksTechLab:1 16:1 Factory:1 SCV:34 7:1 BarracksReactor:1"
            ),
            (("Marine", 0.6), ("Marauder", 0.3), ("SiegeTank", 0.1)),
            32,
            patience=1.4,
        ),
        POWER: OpponentPlan(
            _goals(
                "SCV:15 SupplyDepot:1 Barracks:1 Refinery:1 Bunker:1 CommandCenter:2 Factory:1 FactoryTechLab:1 Bunker:3 SCV:38 Barracks:3 BarracksTechLab:1 EngineeringBay:1 7:1"
            ),
            (("Marine", 0.5), ("SiegeTank", 0.35), ("Marauder", 0.15)),
            70,
        ),
        MACRO: OpponentPlan(
            _goals(
                "SCV:16 SupplyDepot:1 Barracks:1 Refinery:1 CommandCenter:2 SCV:24 Barracks:3 BarracksTechLab:1 Factory:1 BarracksReactor:1 Starport:1 16:1 15:1 EngineeringBay:1 7:1 SCV:44 CommandCenter:3 Barracks:5 Refinery:4 SCV:60"
            ),
            (("Marine", 0.55), ("Marauder", 0.3), ("Medivac", 0.15)),
            60,
        ),
        AIR: OpponentPlan(
            _goals(
                "SCV:16 SupplyDepot:1 Barracks:1 Refinery:2 CommandCenter:2 Factory:1 Bunker:1 Starport:2 StarportTechLab:1 SCV:38 Refinery:3"
            ),
            (("Marine", 0.35), ("Banshee", 0.4), ("VikingFighter", 0.25)),
            30,
            patience=1.6,
        ),
    },
    PROTOSS: {
        RUSH: OpponentPlan(_goals("Probe:14 Pylon:1 Gateway:3 Probe:18"), (("Zealot", 1.0),), 10, 0.2, 1.0),
        TIMING: OpponentPlan(
            _goals(
                "Probe:15 Pylon:1 Gateway:1 Assimilator:1 Probe:19 CyberneticsCore:1 Nexus:2 Gateway:3 Assimilator:2 Probe:34 RoboticsFacility:1 Forge:1 39:1"
            ),
            (("Stalker", 0.5), ("Zealot", 0.3), ("Immortal", 0.2)),
            32,
            patience=1.4,
        ),
        POWER: OpponentPlan(
            _goals(
                "Probe:15 Pylon:1 Gateway:1 Assimilator:1 CyberneticsCore:1 Forge:1 PhotonCannon:2 Nexus:2 Gateway:3 RoboticsFacility:1 Probe:38 PhotonCannon:4 ShieldBattery:2 39:1 Assimilator:3"
            ),
            (("Stalker", 0.35), ("Immortal", 0.4), ("Zealot", 0.25)),
            70,
        ),
        MACRO: OpponentPlan(
            _goals(
                "Probe:16 Pylon:1 Gateway:1 Assimilator:1 Nexus:2 CyberneticsCore:1 Probe:26 Gateway:3 Zealot:2 Stalker:4 RoboticsFacility:1 Assimilator:3 Forge:1 39:1 TwilightCouncil:1 86:1 Probe:44 Nexus:3 Gateway:6 Probe:60"
            ),
            (("Zealot", 0.4), ("Stalker", 0.3), ("Immortal", 0.3)),
            60,
        ),
        AIR: OpponentPlan(
            _goals(
                "Probe:16 Pylon:1 Gateway:1 Assimilator:2 CyberneticsCore:1 Nexus:2 Stargate:2 Probe:38 ShieldBattery:1 Assimilator:3 Stargate:3"
            ),
            (("VoidRay", 0.6), ("Zealot", 0.2), ("Stalker", 0.2)),
            30,
            patience=1.6,
        ),
    },
}

# After its first attack every plan continues: it expands as far as the difficulty allows, and trains units that hit
# flyers.
LATE_GOALS: dict[int, tuple[tuple[str | int, int], ...]] = {
    ZERG: _goals(
        "SpawningPool:1 Hatchery:2 Drone:28 Extractor:2 RoachWarren:1 Lair:1 Queen:3 Hatchery:3 Drone:44 Extractor:4 HydraliskDen:1 Spire:1 59:1 56:1 Hatchery:4 Drone:66"
    ),
    TERRAN: _goals(
        "SupplyDepot:1 Barracks:1 CommandCenter:2 SCV:28 Refinery:2 Barracks:3 Factory:1 BarracksTechLab:1 Starport:1 EngineeringBay:1 7:1 CommandCenter:3 SCV:44 Refinery:4 Barracks:5 CommandCenter:4 SCV:66"
    ),
    PROTOSS: _goals(
        "Pylon:1 Gateway:1 Nexus:2 Probe:28 Assimilator:2 CyberneticsCore:1 Gateway:3 Stargate:1 Forge:1 39:1 Nexus:3 Probe:44 Assimilator:4 Gateway:5 Nexus:4 Probe:66"
    ),
}
LATE_ARMY: dict[int, tuple[tuple[str, float], ...]] = {
    ZERG: (("Hydralisk", 0.5), ("Mutalisk", 0.25)),
    TERRAN: (("Marine", 0.5), ("VikingFighter", 0.2)),
    PROTOSS: (("Stalker", 0.5), ("VoidRay", 0.25)),
}
