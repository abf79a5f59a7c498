"""Constants of StarCraft II: races, results, difficulties, builds and the clock."""

from __future__ import annotations

from understudy.sc2 import races

TERRAN, ZERG, PROTOSS, RANDOM = races.TERRAN, races.ZERG, races.PROTOSS, races.RANDOM
RACES = races.RACES

RACE_NAMES = tuple(RACES.values())

VICTORY, DEFEAT, TIE = 1, 2, 3
RESULTS = {VICTORY: "Victory", DEFEAT: "Defeat", TIE: "Tie"}

# The game's difficulties in their order; their places, counted from 1, are the API's numbers.
DIFFICULTIES = (
    "VeryEasy",
    "Easy",
    "Medium",
    "MediumHard",
    "Hard",
    "Harder",
    "VeryHard",
    "CheatVision",
    "CheatMoney",
    "CheatInsane",
)

RANDOM_BUILD, RUSH, TIMING, POWER, MACRO, AIR = 1, 2, 3, 4, 5, 6
BUILDS = {RUSH: "Rush", TIMING: "Timing", POWER: "Power", MACRO: "Macro", AIR: "Air"}
BUILD_NAMES = tuple(BUILDS.values())

LOOPS_PER_SECOND = 22.4  # at the speed "faster", which every ladder game is played at
LOOPS_PER_DATA_SECOND = 16.0  # at the speed "normal"; the game's unit data count in these seconds
