"""Translates between the game's abilities and the simulation's orders."""

from __future__ import annotations

from collections.abc import Container
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from understudy.games.zerg.proving_ground import state as orders
from understudy.games.zerg.proving_ground import unit_data
from understudy.games.zerg.proving_ground.forms import MOVABLE, SHAPES
from understudy.games.zerg.proving_ground.rules import (
    BILE,
    BLINK,
    BUILD,
    FUNGAL,
    KINDS,
    MORPH,
    NOT_MADE,
    SCAN,
    STORM,
    UPGRADES,
    rules,
)
from understudy.games.zerg.proving_ground.spells import FIRST_SPELL, SPELLS
from understudy.games.zerg.proving_ground.unit_data import kind


class SimulationOrder(NamedTuple):
    """The simulation's order for an ability; the argument is a kind, an upgrade, or 0."""

    order: int
    argument: int = 0


_CANCEL, _CANCEL_LAST, _CANCEL_SLOT = 3659, 3671, 3672
_FOR_ALL: dict[int, tuple[int, ...]] = {
    orders.SMART: (1,),
    orders.MOVE: (16, 3794, 3776),
    orders.ATTACK: (23, 3674, 19, 3771, 2099),
    orders.PATROL: (17, 3795, 3777),
    orders.HOLD: (18, 3793, 3778),
    orders.STOP: (4, 3665, 2057, 1691, 3783, 3660, 348),
    orders.GATHER: (3666, 295, 298, 1183, 166),
    orders.RETURN: (3667, 296, 299, 1184, 167),
    orders.INJECT: (251,),
    orders.REPAIR: (316, 3685, 78, 386),
    orders.MULE: (171,),
    orders.CHRONO: (3755,),
    orders.TRANSFUSE: (1664,),
    orders.STIM: (380, 253, 3675, 1683, 1684),
    orders.RALLY: (195, 199, 203, 207, 211, 212, 3673, 3690),
    orders.LOAD: (3668, 394, 407, 911, 1406, 1437, 2370),
    orders.UNLOAD: (3669, 3664, 396, 408, 912, 913, 1408, 1438, 2371),
}
_MERGE = (1766, 1767)
_SPELLS = {399: SCAN, 1442: BLINK, 3687: BLINK, 1036: STORM, 74: FUNGAL, 2338: BILE}
_ADDONS = {"Barracks": (421, 422), "Factory": (454, 455), "Starport": (487, 488)}
_GENERIC_TECHLAB, _GENERIC_REACTOR, _GENERIC_TUMOR = 3682, 3683, 3691
_WORKER_ABILITIES = {"SCV": (295, 296), "Probe": (298, 299), "Drone": (1183, 1184), "MULE": (166, 167)}
_SHOWN_AS = {
    orders.MOVE: 16,
    orders.ATTACK: 23,
    orders.PATROL: 17,
    orders.HOLD: 18,
    orders.INJECT: 251,
    orders.REPAIR: 316,
    orders.TRANSFUSE: 1664,
    orders.LOAD: 3668,
    orders.ENTER: 1,
    orders.UNLOAD: 3669,
    orders.LAND: 3678,
    orders.MERGE: 1767,
}


@cache
def _commands_for_all() -> dict[int, SimulationOrder]:
    table = {ability: SimulationOrder(order) for order, ids in _FOR_ALL.items() for ability in ids}
    table |= {ability: SimulationOrder(orders.CAST, spell) for ability, spell in _SPELLS.items()}
    table |= dict.fromkeys(_MERGE, SimulationOrder(orders.MERGE))
    for ability in unit_data.abilities():
        if _CANCEL in (ability.ability_id, ability.remaps_to):
            table[ability.ability_id] = SimulationOrder(orders.CANCEL)
        elif ability.ability_id in (_CANCEL_LAST, _CANCEL_SLOT) or ability.remaps_to in (_CANCEL_LAST, _CANCEL_SLOT):
            table[ability.ability_id] = SimulationOrder(orders.CANCEL_LAST)
    return table


def _order_for(producer: int, product: int) -> int:
    how = rules()["how"][0][producer, product]
    return orders.BUILD_AT if how == BUILD else orders.MORPH_INTO if how == MORPH else orders.MAKE


@cache
def _commands_by_kind() -> dict[tuple[int, int], list[SimulationOrder]]:  # noqa: PLR0912 - one table
    """What each kind can be told to make, by exact and by generic ability."""
    generic = {ability.ability_id: ability.remaps_to for ability in unit_data.abilities() if ability.remaps_to}
    types, kinds, table = unit_data.unit_types(), unit_data.kinds_by_id(), {}  # type: ignore[var-annotated]

    def add(producer: int, ability: int, command: SimulationOrder) -> None:
        for name in dict.fromkeys((ability, generic.get(ability, ability))):  # the exact one first
            known = table.setdefault((producer, name), [])
            if command not in known:
                known.append(command)

    for a, b, there, back in SHAPES:
        add(kind(a), there, SimulationOrder(orders.MORPH_INTO, kind(b)))
        add(kind(b), back, SimulationOrder(orders.MORPH_INTO, kind(a)))
    for n, spell in enumerate(SPELLS):
        for caster in spell.casters:
            for ability in spell.abilities:
                add(kind(caster), ability, SimulationOrder(orders.CAST, FIRST_SPELL + n))
    for standing, moving, leave, settle in MOVABLE:
        add(kind(standing), leave, SimulationOrder(orders.MORPH_INTO, kind(moving)))
        add(kind(moving), settle, SimulationOrder(orders.LAND, kind(standing)))
    for host, (techlab, reactor) in _ADDONS.items():
        for ability, general, addon in ((techlab, _GENERIC_TECHLAB, "TechLab"), (reactor, _GENERIC_REACTOR, "Reactor")):
            for name in (ability, general):
                add(kind(host), name, SimulationOrder(orders.MAKE, kind(f"{host}{addon}")))
    tumor, queen_tumor = kind("CreepTumor"), kind("CreepTumorQueen")
    for name in (1733, _GENERIC_TUMOR):
        add(kind("CreepTumorBurrowed"), name, SimulationOrder(orders.BUILD_AT, tumor))
    for name in (1694, _GENERIC_TUMOR):
        add(kind("Queen"), name, SimulationOrder(orders.BUILD_AT, queen_tumor))
    for row in unit_data.production():
        if row.producer not in kinds:
            continue
        producer = kinds[row.producer]
        if row.is_upgrade:
            add(producer, row.ability_id, SimulationOrder(orders.RESEARCH, row.product))
        elif row.product in kinds and row.ability_id != _GENERIC_TUMOR:
            product = kinds[row.product]
            command = SimulationOrder(_order_for(producer, product), product)
            add(producer, row.ability_id, command)
            if rules()["how"][0][producer, product] != NOT_MADE and command.order != orders.MAKE:
                add(producer, types[product].ability_id, command)
    research = {upgrade.upgrade_id: upgrade.ability_id for upgrade in unit_data.upgrades()}
    for (producer, upgrade), able in np.ndenumerate(rules()["researches"][0]):
        if able and upgrade in research:
            add(producer, research[upgrade], SimulationOrder(orders.RESEARCH, upgrade))
    return table


def command_for(unit_kind: int, ability_id: int, done: Container[int] = ()) -> SimulationOrder | None:
    """The order that this ability means for this kind; of a family of upgrades, the first that is not `done`. None if
    it has no such ability.
    """
    everyone = _commands_for_all().get(ability_id)
    if everyone is not None:
        return everyone
    choices = _commands_by_kind().get((unit_kind, ability_id), [])
    for choice in choices:
        if choice.order != orders.RESEARCH or choice.argument not in done:
            return choice
    return choices[-1] if choices else None


@cache
def abilities_of(unit_kind: int) -> tuple[tuple[int, SimulationOrder], ...]:
    """A kind's exact abilities for making, researching and morphing, and its spells."""
    known = {ability.ability_id for ability in unit_data.abilities()}
    exact: dict[SimulationOrder, int] = {}
    for (producer, ability), commands in _commands_by_kind().items():
        one = len(commands) == 1 or commands[0].order == orders.CAST
        if producer == unit_kind and ability in known and one:
            exact.setdefault(commands[0], ability)
    return tuple(sorted((ability, command) for command, ability in exact.items()))


@cache
def product_by_ability() -> dict[int, int]:
    """The kind that a build ability creates, for placement queries, which do not name a builder."""
    table: dict[int, int] = {}
    for (_, ability), commands in _commands_by_kind().items():
        for command in commands:
            if command.order in (orders.BUILD_AT, orders.MAKE, orders.LAND):
                table.setdefault(ability, command.argument)
    return table


class Labels(NamedTuple):
    """The ability that observations show for each order, as arrays for the encoder."""

    plain: NDArray[np.int32]  # by order
    make: NDArray[np.int32]  # by kind made
    research: NDArray[np.int32]  # by upgrade
    gather: NDArray[np.int32]  # by kind of worker
    bring: NDArray[np.int32]


@cache
def labels() -> Labels:
    """The abilities that observations show; only those in the data response, where bots look them up."""
    known = {ability.ability_id for ability in unit_data.abilities()}
    plain, make, research = np.zeros(32, np.int32), np.zeros(KINDS, np.int32), np.zeros(UPGRADES, np.int32)
    gather, bring = np.full(KINDS, 1183, np.int32), np.full(KINDS, 1184, np.int32)
    for order, ability in _SHOWN_AS.items():
        plain[order] = ability
    for unit in unit_data.unit_types()[1:]:
        make[unit.kind] = unit.ability_id if unit.ability_id in known else 0
    for (_, ability), commands in _commands_by_kind().items():
        for command in commands:
            if (
                command.order in (orders.MORPH_INTO, orders.BUILD_AT)
                and ability in known
                and make[command.argument] == 0
            ):
                make[command.argument] = ability
    for upgrade in unit_data.upgrades():
        research[upgrade.upgrade_id] = upgrade.ability_id if upgrade.ability_id in known else 0
    for name, (collect, carry) in _WORKER_ABILITIES.items():
        gather[kind(name)], bring[kind(name)] = collect, carry
    return Labels(plain, make, research, gather, bring)
