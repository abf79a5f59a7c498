"""Spells as a table: casters, costs and effects. Stim, blink, storms and injects are in `casting`.

Times are in game loops. A spell's number in orders is FIRST_SPELL plus its row.
"""

from __future__ import annotations

from typing import NamedTuple

FIRST_SPELL, MOST_SPELLS = 200, 64
SELF, POINT, UNIT = range(3)  # what a spell is cast on
OWN, ENEMY, ANYBODY = 1, 2, 3  # whose units may be targeted
(BUFF, DAMAGE, DRAIN, FEEDBACK, PULL, SUMMON, JUMP, BOMB, SHADE, SWITCH_ON, SWITCH_OFF, RECALL, CHARGE, SALVAGE) = (
    range(14)
)
RUSH, EXPLODE, CONSUME, FIELD, NOTHING = range(14, 19)  # NOTHING: accepted as an order, without effect here

# Buffs: bits of a unit's `buffs`.
(ARMOR_DOWN, GUARDED, CLOAK, ALIGNED, OVERCHARGED, BOOSTED, DISABLED, BLINDED, LOCKED, LIFTED) = range(10)
BEAM, CREEPING, HOLDS_FIRE, SUPPLIED, CONTAMINATED, REVEALED, HALLUCINATED = range(10, 17)
BUFFS = 17
BUFF_IDS = (279, 18, 7, 122, 301, 89, 277, 83, 116, 5, 99, 0, 12, 25, 36, 49, 0)  # the API's, in the same order


class Spell(NamedTuple):
    """One spell."""

    abilities: tuple[int, ...]
    casters: tuple[str, ...]
    energy: float
    cooldown: int
    reach: float
    target: int
    side: int
    effect: int
    amount: float = 0.0  # damage
    radius: float = 0.0  # of the area that is hit; 0 for one unit
    loops: int = 0  # how long a buff or a summoned unit lasts, or how long a bomb takes
    buff: int = 0
    upgrade: int = 0  # the upgrade that it needs
    summons: str = ""
    attributes: int = 0  # the target needs at least one of these attribute bits
    needs: str = ""  # a building that the player must have


FOREVER = 1 << 40
FIELD_RADIUS = 1.7
HALLUCINATIONS = (  # ability, how many, of which unit
    (164, 2, "Zealot"),
    (158, 2, "Stalker"),
    (2391, 2, "Adept"),
    (156, 4, "Probe"),
    (150, 2, "HighTemplar"),
    (152, 1, "Immortal"),
    (148, 1, "Colossus"),
    (146, 1, "Archon"),
    (2389, 1, "Disruptor"),
    (154, 1, "Phoenix"),
    (160, 1, "VoidRay"),
    (2114, 1, "Oracle"),
    (162, 1, "WarpPrism"),
)
_BIOLOGICAL, _MECHANICAL_OR_PSIONIC = 1 << 3, 1 << 4 | 1 << 6
SPELLS: tuple[Spell, ...] = (
    Spell((3753,), ("Raven",), 75, 0, 10, UNIT, ENEMY, BUFF, radius=2.88, loops=470, buff=ARMOR_DOWN),
    Spell(
        (3747,), ("Raven",), 75, 0, 9, UNIT, ENEMY, BUFF, loops=246, buff=DISABLED, attributes=_MECHANICAL_OR_PSIONIC
    ),
    Spell((1764, 349), ("Raven",), 50, 0, 2, POINT, 0, SUMMON, loops=224, summons="AutoTurret"),
    Spell((76,), ("Sentry",), 75, 0, 0, SELF, OWN, BUFF, radius=4.5, loops=246, buff=GUARDED),
    Spell((2393,), ("VoidRay",), 0, 960, 0, SELF, OWN, BUFF, loops=320, buff=ALIGNED),
    Spell((4107,), ("Nexus",), 50, 1344, 500, UNIT, OWN, BUFF, loops=314, buff=OVERCHARGED),
    Spell((2116,), ("Medivac",), 0, 314, 0, SELF, OWN, BUFF, loops=94, buff=BOOSTED),
    Spell((173,), ("Phoenix",), 50, 0, 4, UNIT, ENEMY, BUFF, loops=160, buff=LIFTED),
    Spell((2063,), ("Viper",), 100, 0, 10, POINT, ENEMY, BUFF, radius=2.0, loops=128, buff=BLINDED),
    Spell((2350,), ("Cyclone",), 0, 96, 7, UNIT, ENEMY, BUFF, loops=320, buff=LOCKED),
    Spell((140,), ("HighTemplar",), 50, 0, 10, UNIT, ENEMY, FEEDBACK),
    Spell((401,), ("Battlecruiser",), 0, 1600, 10, UNIT, ENEMY, DAMAGE, amount=240, upgrade=76),
    Spell((2714,), ("Ghost",), 50, 0, 10, UNIT, ENEMY, DAMAGE, amount=170, attributes=_BIOLOGICAL),
    Spell((1628,), ("Ghost",), 75, 0, 10, POINT, ENEMY, DRAIN, amount=100, radius=1.5),
    Spell((2542,), ("Viper",), 125, 0, 8, UNIT, ENEMY, BOMB, amount=120, radius=3.0, loops=112),
    Spell((2067,), ("Viper",), 75, 0, 9, UNIT, ANYBODY, PULL),
    Spell((2346,), ("Disruptor",), 0, 480, 13, POINT, 0, BOMB, amount=145, radius=1.5, loops=47),
    Spell((2588,), ("Reaper",), 0, 314, 5, POINT, 0, BOMB, amount=5, radius=2.0, loops=45, summons="KD8Charge"),
    Spell((181,), ("Overseer", "OverseerSiegeMode"), 50, 0, 0, SELF, OWN, SUMMON, loops=3360, summons="Changeling"),
    Spell((2358,), ("Battlecruiser",), 0, 1600, 500, POINT, 0, JUMP),
    Spell((2544,), ("Adept",), 0, 246, 500, POINT, 0, SHADE, loops=157, summons="AdeptPhaseShift"),
    Spell((392, 3676), ("Banshee",), 25, 0, 0, SELF, OWN, SWITCH_ON, buff=CLOAK, upgrade=20),
    Spell((393, 3677), ("Banshee",), 0, 0, 0, SELF, OWN, SWITCH_OFF, buff=CLOAK),
    Spell((382, 3676), ("Ghost",), 25, 0, 0, SELF, OWN, SWITCH_ON, buff=CLOAK, upgrade=25),
    Spell((383, 3677), ("Ghost",), 0, 0, 0, SELF, OWN, SWITCH_OFF, buff=CLOAK),
    Spell((2375,), ("Oracle",), 25, 0, 0, SELF, OWN, SWITCH_ON, buff=BEAM),
    Spell((2376,), ("Oracle",), 0, 0, 0, SELF, OWN, SWITCH_OFF, buff=BEAM),
    Spell((1692,), ("Overlord", "OverlordTransport"), 0, 0, 0, SELF, OWN, SWITCH_ON, buff=CREEPING, needs="Lair"),
    Spell((1693,), ("Overlord", "OverlordTransport"), 0, 0, 0, SELF, OWN, SWITCH_OFF, buff=CREEPING),
    Spell((36, 3688), ("Ghost",), 0, 0, 0, SELF, OWN, SWITCH_ON, buff=HOLDS_FIRE),
    Spell((38, 3689), ("Ghost",), 0, 0, 0, SELF, OWN, SWITCH_OFF, buff=HOLDS_FIRE),
    Spell((2550, 3688), ("LurkerMPBurrowed",), 0, 0, 0, SELF, OWN, SWITCH_ON, buff=HOLDS_FIRE),
    Spell((2552, 3689), ("LurkerMPBurrowed",), 0, 0, 0, SELF, OWN, SWITCH_OFF, buff=HOLDS_FIRE),
    Spell((4126,), ("Nexus",), 50, 1344, 13, UNIT, OWN, CHARGE, amount=100),
    Spell((4128, 32, 1624), ("Bunker",), 0, 0, 0, SELF, OWN, SALVAGE),
    Spell((3757, 3686), ("Nexus",), 50, 2912, 500, POINT, OWN, RECALL, radius=2.5),
    Spell((142, 3686), ("Mothership",), 50, 2912, 500, POINT, OWN, RECALL, radius=2.5),
    Spell((255,), ("OrbitalCommand",), 50, 0, 500, UNIT, OWN, BUFF, loops=FOREVER, buff=SUPPLIED),
    Spell((1819,), ("Zealot",), 0, 160, 4, UNIT, ENEMY, RUSH, loops=56, buff=BOOSTED, upgrade=86),
    Spell((2700, 3687), ("DarkTemplar",), 0, 336, 8, POINT, 0, JUMP, upgrade=141),
    Spell((42,), ("Baneling", "BanelingBurrowed"), 0, 0, 0, SELF, OWN, EXPLODE),
    Spell((1825,), ("Overseer", "OverseerSiegeMode"), 125, 0, 3, UNIT, ENEMY, BUFF, loops=672, buff=CONTAMINATED),
    Spell((2073,), ("Viper",), 0, 0, 7, UNIT, OWN, CONSUME, amount=200),
    Spell((2146,), ("Oracle",), 25, 224, 12, POINT, ENEMY, BUFF, radius=6, loops=336, buff=REVEALED),
    Spell((1526,), ("Sentry",), 50, 0, 9, POINT, 0, FIELD, radius=FIELD_RADIUS, loops=246, summons="ForceField"),
    *(
        Spell(
            (ability,),
            ("Sentry",),
            75,
            0,
            0,
            SELF,
            OWN,
            SUMMON,
            amount=number,
            loops=963,
            buff=HALLUCINATED,
            summons=unit,
        )
        for ability, number, unit in HALLUCINATIONS
    ),
    Spell((1042,), ("Carrier",), 0, 0, 0, SELF, OWN, NOTHING),
    Spell((4113, 3765), ("ShieldBattery",), 0, 0, 0, SELF, OWN, NOTHING),
    Spell((2081, 2082), ("Baneling",), 0, 0, 0, SELF, OWN, NOTHING),
    Spell((26, 3684), ("SCV",), 0, 0, 0, SELF, OWN, NOTHING),
    Spell((28, 3684), ("Drone",), 0, 0, 0, SELF, OWN, NOTHING),
    Spell((30, 3684), ("Probe",), 0, 0, 0, SELF, OWN, NOTHING),
)
