"""The game's names of Zerg units, structures and upgrades, our names for them, and their supply and build times."""

from __future__ import annotations

# Numbered milestones (hatchery_2 is the first expansion), and the highest number.
NUMBERED = {
    "Hatchery": ("hatchery", 6),
    "Extractor": ("gas", 8),
    "ExtractorRich": ("gas", 8),
    "Queen": ("queen", 6),
    "Overlord": ("overlord", 4),
    "EvolutionChamber": ("evolution_chamber", 2),
}
SINGLE = {
    "SpawningPool": "pool",
    "RoachWarren": "roach_warren",
    "BanelingNest": "baneling_nest",
    "Lair": "lair",
    "HydraliskDen": "hydralisk_den",
    "LurkerDenMP": "lurker_den",
    "InfestationPit": "infestation_pit",
    "Spire": "spire",
    "GreaterSpire": "greater_spire",
    "Hive": "hive",
    "UltraliskCavern": "ultralisk_cavern",
    "NydusNetwork": "nydus_network",
    "SpineCrawler": "spine_crawler",
    "SporeCrawler": "spore_crawler",
}
UPGRADES = {
    "zerglingmovementspeed": "metabolic_boost",
    "zerglingattackspeed": "adrenal_glands",
    "CentrificalHooks": "centrifugal_hooks",
    "GlialReconstitution": "glial_reconstitution",
    "TunnelingClaws": "tunneling_claws",
    "EvolveGroovedSpines": "grooved_spines",
    "EvolveMuscularAugments": "muscular_augments",
    "hydraliskspeed": "muscular_augments",
    "Frenzy": "frenzy",
    "LurkerRange": "seismic_spines",
    "DiggingClaws": "adaptive_talons",
    "overlordspeed": "pneumatized_carapace",
    "overlordtransport": "ventral_sacs",
    "Burrow": "burrow",
    "NeuralParasite": "neural_parasite",
    "MicrobialShroud": "microbial_shroud",
    "InfestorEnergyUpgrade": "pathogen_glands",
    "ChitinousPlating": "chitinous_plating",
    "AnabolicSynthesis": "anabolic_synthesis",
    **{
        f"Zerg{kind}Level{level}": f"{name}_{level}"
        for kind, name in {
            "MeleeWeapons": "melee_attack",
            "MissileWeapons": "missile_attack",
            "GroundArmors": "ground_armor",
            "FlyerWeapons": "flyer_attack",
            "FlyerArmors": "flyer_armor",
        }.items()
        for level in (1, 2, 3)
    },
}
DRONE_BUILT = frozenset(NUMBERED.keys() | SINGLE.keys()) - {"Queen", "Overlord", "Lair", "Hive", "GreaterSpire"}
FRAMES_TO_MAKE = {"Queen": 800, "Lair": 1280, "Hive": 1600, "GreaterSpire": 1600}
ARMY_SUPPLY = {
    "Zergling": 0.5,
    "Baneling": 0.5,
    "BanelingCocoon": 0.5,
    "Roach": 2,
    "Ravager": 3,
    "RavagerCocoon": 3,
    "Hydralisk": 2,
    "LurkerMP": 3,
    "LurkerMPEgg": 3,
    "Mutalisk": 2,
    "Corruptor": 2,
    "BroodLord": 4,
    "BroodLordCocoon": 4,
    "Infestor": 2,
    "SwarmHostMP": 3,
    "Viper": 3,
    "Ultralisk": 6,
}
SUPPLY = {"Drone": 1.0, "Queen": 2.0, **ARMY_SUPPLY}
