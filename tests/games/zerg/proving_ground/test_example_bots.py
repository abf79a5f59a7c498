"""Bots written as tutorials write them do what their names say."""

from __future__ import annotations

from pathlib import Path

import pytest

from understudy.games.zerg.proving_ground.bot_games import BotGames, play_one
from understudy.games.zerg.proving_ground.doors import IN_PROCESS, Pairing

BOTS = Path(__file__).with_name("bots")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "seconds", "made"),
    [
        ("protoss_cannons", 330, {"PhotonCannon": 3, "Forge": 1}),
        ("protoss_voidrays", 420, {"VoidRay": 2, "Nexus": 2, "Assimilator": 2}),
        ("protoss_warpgate", 360, {"WarpGate": 2, "Stalker": 2}),
        ("terran_wall", 170, {"SupplyDepot": 2, "Barracks": 1, "SupplyDepotLowered": 2}),
        ("zerg_rush", 150, {"Zergling": 6}),
    ],
)
def test_a_bot_makes_what_it_is_named_after(name: str, seconds: float, made: dict[str, int]) -> None:
    pairing = Pairing("Terran", "VeryEasy", "Macro", 1, 1)
    summary = play_one(IN_PROCESS, BotGames(str(BOTS / f"{name}.py"), None, pairing, seconds))
    assert summary.result in ("Tie", "Victory")
    assert {kind: summary.made.get(kind, 0) >= count for kind, count in made.items()} == dict.fromkeys(made, True)
