"""Damage of every pair of units, without and with upgrades, compared with burnysc2's own calculation."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator

from sc2.ids.unit_typeid import UnitTypeId as U

from understudy.games.zerg.proving_ground.conformance.checking_bot import ENEMY, OWN, CheckingBot
from understudy.games.zerg.proving_ground.conformance.report import Check
from understudy.games.zerg.proving_ground.unit_data import unit_types

# Units whose attack is not one weapon on one target, units that need power, and units that burnysc2's calculation
# leaves out.
LEFT_OUT = {
    *("Zealot", "HellionTank", "Cyclone", "ThorAP", "Battlecruiser", "Carrier", "Interceptor", "Oracle", "WidowMine"),
    *("Baneling", "Roach", "Hydralisk", "LurkerMPBurrowed", "Mutalisk", "BroodLord", "Broodling", "LocustMP"),
    *("SiegeTankSieged", "LiberatorAG", "AutoTurret", "Bunker", "Sentry", "HighTemplar", "Thor", "Reaper"),
    "PhotonCannon",
}
# One of each sort of armour, on the ground, in the air, and both.
DEFENDERS = (
    *("RAVAGER", "ZERGLING", "MARAUDER", "ROACH", "HIGHTEMPLAR", "STALKER", "ULTRALISK", "SUPPLYDEPOT", "BUNKER"),
    *("PHOENIX", "VOIDRAY", "CORRUPTOR", "VIPER", "MEDIVAC", "BATTLECRUISER", "BARRACKSFLYING", "COLOSSUS"),
)
MOST_LOOPS = 80


def attackers() -> list[U]:
    """Every kind with a weapon in the game's own data."""
    armed = [unit for unit in unit_types()[1:] if unit.weapons and unit.name not in LEFT_OUT and unit.race > 0]
    return [U(unit.unit_id) for unit in armed if "Burrowed" not in unit.name and unit.weapons[0].damage > 0]


async def damage_checks(stage: CheckingBot) -> AsyncIterator[Check]:
    """Every pair of units, without upgrades and with the first level of all."""
    await stage.client.debug_show_map()
    await stage.clear()
    for level in range(2):
        if level:
            await stage.client.debug_upgrade()
        for attacker in attackers():
            for name in DEFENDERS:
                check = await _pair(stage, attacker, U[name], level)
                if check is not None:
                    yield check


async def _pair(stage: CheckingBot, attacker: U, defender: U, level: int) -> Check | None:
    """One attack; None if this unit cannot attack that one or kills it at once."""
    await stage.put(OWN, attacker)
    await stage.put(ENEMY, defender)
    await stage.wait(1)
    expected, taken, most = 0.0, 0.0, math.inf
    for _ in range(MOST_LOOPS):
        ours, theirs = stage.own(attacker), stage.enemy(defender)
        if ours is None or theirs is None:
            taken = expected if theirs is None and expected >= most else taken  # one hit killed it
            break
        most = theirs.health_max + theirs.shield_max
        expected = max(expected, ours.calculate_damage_vs_target(theirs)[0])
        taken = math.ceil(theirs.health_max + theirs.shield_max - theirs.health - theirs.shield - 1e-4)
        if expected == 0 or taken > 0:
            break
        if not ours.is_attacking and not ours.is_structure:
            ours.attack(theirs)
        await stage.wait(1)
    await stage.clear()
    if expected == 0:
        return None
    name = f"{attacker.name} on {defender.name}, upgrades {level}"
    return Check(name, taken == expected, f"expected {expected:g}, was {taken:g}")
