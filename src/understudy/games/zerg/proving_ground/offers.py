"""The abilities that a unit can use now, as the game lists them."""

from __future__ import annotations

from functools import cache

import numpy as np

from understudy.games.zerg.proving_ground import state as orders
from understudy.games.zerg.proving_ground.abilities import abilities_of, labels
from understudy.games.zerg.proving_ground.kernels.construction import TUMOR_ENERGY
from understudy.games.zerg.proving_ground.rules import BLINK_TECH, BURROW, PSI_STORM, STIMPACK, WARP_GATE_TECH
from understudy.games.zerg.proving_ground.simulation import Simulation
from understudy.games.zerg.proving_ground.spells import BEAM, FIRST_SPELL, SWITCH_OFF, SWITCH_ON
from understudy.games.zerg.proving_ground.unit_data import kind, unit_types

SMART, STOP, ATTACK, SCAN_MOVE, ATTACK_BATTLECRUISER = 1, 4, 23, 19, 3771
MOVING, MOVING_BATTLECRUISER = (STOP, 16, 17, 18), (3783, 3776, 3777, 3778)  # stop, move, patrol, hold
RALLY = (
    (("Barracks", "Factory", "Starport", "Gateway", "RoboticsFacility", "Stargate", "Bunker"), (195,)),
    (("NydusNetwork", "NydusCanal"), (195,)),
    (("CommandCenter", "OrbitalCommand", "PlanetaryFortress"), (203,)),
    (("Nexus",), (207,)),
    (("Hatchery", "Lair", "Hive"), (211, 212)),
)
CARGO = {  # load, unload all
    "Medivac": (394, 396),
    "Bunker": (407, 408),
    "WarpPrism": (911, 913),
    "WarpPrismPhasing": (911, 913),
    "OverlordTransport": (1406, 1408),
    "NydusNetwork": (1437, 1438),
    "NydusCanal": (2370, 2371),
}
OTHERS = {  # repair, heal, merge to an archon
    orders.SCV: (316,),
    orders.MEDIVAC: (386,),
    orders.HIGH_TEMPLAR: (1766,),
    orders.DARK_TEMPLAR: (1766,),
}
# By kind: ability, energy, upgrade it needs (0 for none).
SPELLS: dict[int, tuple[tuple[int, float, int], ...]] = {
    orders.QUEEN: ((251, 25.0, 0), (1664, 50.0, 0)),
    orders.ORBITAL: ((171, 50.0, 0), (399, 50.0, 0)),
    orders.NEXUS: ((3755, 50.0, 0),),
    orders.MARINE: ((380, 0.0, STIMPACK),),
    orders.MARAUDER: ((253, 0.0, STIMPACK),),
    orders.STALKER: ((1442, 0.0, BLINK_TECH),),
    orders.HIGH_TEMPLAR: ((1036, 75.0, PSI_STORM),),
    orders.INFESTOR: ((74, 75.0, 0),),
    orders.RAVAGER: ((2338, 0.0, 0),),
}


def available(game: Simulation, player: int, slot: int, free: bool) -> list[int]:
    """The abilities that a unit can use now; `free` ignores prices."""
    state, rules = game.state, game.tables
    unit = int(state["kind"][slot])
    if state["owner"][slot] != player or state["progress"][slot] < 1 or state["becomes"][slot]:
        return []
    if (rules["needs_power"][unit] and not state["powered"][slot]) or _occupied(game, slot):
        return []
    found = _of_its_kind(game, slot) + _ready_spells(game, player, slot)
    bank = (np.inf, np.inf) if free else (state["minerals"][player], state["vespene"][player])
    for ability, meant in abilities_of(unit):
        if _possible(game, player, slot, meant.order, meant.argument, bank):
            found.append(ability)
    return found


def _of_its_kind(game: Simulation, slot: int) -> list[int]:
    """What every unit of this kind can do: move, fight, work, load, rally."""
    state, rules = game.state, game.tables
    unit = int(state["kind"][slot])
    found: list[int] = list(_rally().get(unit, ()))
    moves = state["speed"][state["owner"][slot], unit] > 0 and unit != orders.LARVA
    armed = rules["damage"][unit].any() and (unit != orders.BUNKER or state["loaded"][slot] > 0)
    if moves or armed or found:
        found.append(SMART)
    if moves:
        found += MOVING if unit != kind("Battlecruiser") else MOVING_BATTLECRUISER
    elif armed:
        found.append(STOP)
    if armed and (unit != orders.ORACLE or state["buffs"][slot] & 1 << BEAM):
        found.append(ATTACK if unit != kind("Battlecruiser") else ATTACK_BATTLECRUISER)
    elif moves and not rules["structure"][unit]:
        found.append(SCAN_MOVE)
    if rules["worker"][unit]:
        found.append(int(labels().gather[unit]))
        if state["carry_minerals"][slot] or state["carry_vespene"][slot]:
            found.append(int(labels().bring[unit]))
    if unit in _cargo():
        load, unload = _cargo()[unit]
        found.append(load)
        if state["loaded"][slot] or unit in (orders.NYDUS_NETWORK, orders.NYDUS_WORM):
            found.append(unload)
    return found + list(OTHERS.get(unit, ()))


@cache
def _rally() -> dict[int, tuple[int, ...]]:
    return {kind(name): abilities for names, abilities in RALLY for name in names}


@cache
def _cargo() -> dict[int, tuple[int, int]]:
    return {kind(name): abilities for name, abilities in CARGO.items()}


def _ready_spells(game: Simulation, player: int, slot: int) -> list[int]:
    state = game.state
    if state["spell_at"][slot] > state["loop"]:
        return []
    return [
        ability
        for ability, energy, upgrade in SPELLS.get(int(state["kind"][slot]), ())
        if state["energy"][slot] >= energy and (not upgrade or state["upgrade"][player, upgrade])
    ]


def _possible(  # noqa: PLR0911 - one reason a line
    game: Simulation, player: int, slot: int, order: int, argument: int, bank: tuple[float, float]
) -> bool:
    state, rules = game.state, game.tables
    unit = state["kind"][slot]
    if order == orders.LAND:
        return True
    if order == orders.CAST:
        n = argument - FIRST_SPELL
        ready = not rules["spell_cooldown"][n] or state["spell_at"][slot] <= state["loop"]
        known = not rules["spell_upgrade"][n] or state["upgrade"][player, rules["spell_upgrade"][n]]
        known = known and (not rules["spell_needs"][n] or _has(game, player, int(rules["spell_needs"][n])))
        if rules["spell_effect"][n] in (SWITCH_ON, SWITCH_OFF):
            on = bool(state["buffs"][slot] & 1 << rules["spell_buff"][n])
            known = known and on == (rules["spell_effect"][n] == SWITCH_OFF)
        return bool(ready and known and state["energy"][slot] >= rules["spell_energy"][n])
    if order == orders.RESEARCH:
        before, building = rules["upgrade_before"][argument], rules["upgrade_building"][argument]
        known = state["upgrade"][player, argument] or state["pending"][player, argument]
        if (
            known
            or (before and not state["upgrade"][player, before])
            or (building and not _has(game, player, int(building)))
        ):
            return False
        return bool(bank[0] >= rules["upgrade_minerals"][argument] and bank[1] >= rules["upgrade_vespene"][argument])
    if rules["techlab"][unit, argument] and not _has_techlab(game, slot):
        return False
    if unit == orders.WARP_GATE and order == orders.MAKE and state["spell_at"][slot] > state["loop"]:
        return False
    if argument == orders.WARP_GATE and order == orders.MORPH_INTO and not state["upgrade"][player, WARP_GATE_TECH]:
        return False
    if unit == orders.TUMOR_BURROWED and (state["spent"][slot] or state["spell_at"][slot] > state["loop"]):
        return False
    if order == orders.MORPH_INTO and _burrows(unit, argument) and not state["upgrade"][player, BURROW]:
        return False
    if argument == orders.TUMOR_QUEEN and state["energy"][slot] < TUMOR_ENERGY:
        return False
    price = rules["minerals"][unit, argument] + rules["vespene"][unit, argument]
    if order == orders.MORPH_INTO and not price and argument != orders.HELLBAT:
        return True  # a change of shape needs no building
    affordable = bank[0] >= rules["minerals"][unit, argument] and bank[1] >= rules["vespene"][unit, argument]
    return bool(affordable) and game.tech_met(player, argument)


def _occupied(game: Simulation, slot: int) -> bool:
    """Whether a unit is changing, or a building waits for its addon; as `kernels.orders.occupied`."""
    state = game.state
    if state["orders"][slot] == 0:
        return False
    first = state["order"][slot, 0]
    addon = first == orders.MAKE and state["order_target"][slot, 0] >= 0
    return bool(addon or (first == orders.MORPH_INTO and state["order_progress"][slot, 0] > 0))


def _burrows(unit: int, product: int) -> bool:
    name = unit_types()[product].name
    return name == f"{unit_types()[unit].name}Burrowed" and name not in ("WidowMineBurrowed", "LurkerMPBurrowed")


def _has(game: Simulation, player: int, building: int) -> bool:
    state, rules = game.state, game.tables
    mine = (state["alive"] == 1) & (state["owner"] == player) & (state["progress"] >= 1)
    return bool(rules["counts_as"][state["kind"][mine], building].any())


def _has_techlab(game: Simulation, slot: int) -> bool:
    addon = int(game.state["host"][slot])
    return (
        addon >= 0 and bool(game.tables["is_techlab"][game.state["kind"][addon]]) and game.state["progress"][addon] >= 1
    )
