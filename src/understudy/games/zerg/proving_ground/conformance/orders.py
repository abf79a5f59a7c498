"""Placement, pending counts, upgrades and abilities, as burnysc2 reports them."""

from __future__ import annotations

from collections.abc import AsyncIterator

from sc2.dicts.upgrade_researched_from import UPGRADE_RESEARCHED_FROM
from sc2.ids.ability_id import AbilityId as A
from sc2.ids.unit_typeid import UnitTypeId as U
from sc2.position import Point2

from understudy.games.zerg.proving_ground.conformance.checking_bot import ENEMY, OWN, CheckingBot
from understudy.games.zerg.proving_ground.conformance.report import Check

# What is at the place of a command center: own unit, enemy unit, and whether the game allows it.
PLACEMENTS: tuple[tuple[U | None, U | None, bool], ...] = (
    (U.OVERSEER, None, True),
    (U.MARINE, None, True),
    (U.OVERLORD, U.LURKERMPBURROWED, True),
    (U.OVERLORD, U.DARKTEMPLAR, True),
    (None, U.BARRACKS, True),
    (None, U.ROACH, True),
    (U.BARRACKS, None, False),
    (U.SIEGETANKSIEGED, None, False),
    (U.OVERLORD, U.BARRACKS, False),
    (U.OVERLORD, U.SUPPLYDEPOTLOWERED, False),
    (U.OVERLORD, U.MARINE, False),
    (U.OVERSEER, U.LURKERMPBURROWED, False),
    (U.OVERSEER, U.DARKTEMPLAR, False),
    (U.OVERLORD, U.CREEPTUMORBURROWED, False),
)
CREEP_GROWS = 600  # loops
OFFERED: tuple[tuple[U, A, bool], ...] = (
    (U.MARINE, A.ATTACK_ATTACK, True),
    (U.MARINE, A.EFFECT_STIM_MARINE, False),
    (U.OVERLORD, A.ATTACK_ATTACK, False),
    (U.OVERLORD, A.MOVE_MOVE, True),
    (U.SIEGETANK, A.SIEGEMODE_SIEGEMODE, True),
    (U.SIEGETANKSIEGED, A.UNSIEGE_UNSIEGE, True),
    (U.REAPER, A.KD8CHARGE_KD8CHARGE, True),
    (U.RAVAGER, A.EFFECT_CORROSIVEBILE, True),
    (U.STALKER, A.EFFECT_BLINK_STALKER, False),
    (U.QUEEN, A.EFFECT_INJECTLARVA, True),
    (U.ROACH, A.BURROWDOWN_ROACH, False),
    (U.COMMANDCENTER, A.LIFT_COMMANDCENTER, True),
    (U.COMMANDCENTER, A.UPGRADETOORBITAL_ORBITALCOMMAND, False),
    (U.VOIDRAY, A.EFFECT_VOIDRAYPRISMATICALIGNMENT, True),
    (U.SUPPLYDEPOT, A.MORPH_SUPPLYDEPOT_LOWER, True),
)


async def placement_checks(stage: CheckingBot) -> AsyncIterator[Check]:
    """Where a command center may be placed, as far as the player can know."""
    await stage.clear()
    for own, enemy, allowed in PLACEMENTS:
        if own is not None:
            await stage.put(OWN, own)
        if enemy is not None:
            await stage.put(ENEMY, enemy)
        await stage.wait(CREEP_GROWS if enemy == U.CREEPTUMORBURROWED else 10)
        answer = await stage.can_place_single(U.COMMANDCENTER, stage.middle)
        here = " and ".join(unit.name for unit in (own, enemy) if unit is not None)
        seen = "own" if enemy is None else "seen" if own is not None else "unseen"
        yield Check(f"command center on {here} ({seen})", answer == allowed, f"allowed {answer}, expected {allowed}")
        await stage.clear()
        await stage.wait(CREEP_GROWS if enemy == U.CREEPTUMORBURROWED else 1)


async def pending_checks(stage: CheckingBot) -> AsyncIterator[Check]:
    """What burnysc2 counts as pending, and when a price is paid."""
    while stage.minerals < 1000:
        await stage.client.debug_all_resources()
        await stage.wait(2)
    before, worker = stage.minerals, stage.workers.closest_to(stage.middle)
    worker.build(U.SUPPLYDEPOT, stage.middle)
    worker.stop(queue=True)
    await stage.wait(2)
    yield Check("the price of a building is taken with the order", 0 < before - stage.minerals + 60 <= 160)
    yield Check("an ordered building is pending once", stage.already_pending(U.SUPPLYDEPOT) == 1)
    yield Check("its worker is on the way", stage.worker_en_route_to_build(U.SUPPLYDEPOT) == 1)
    for _ in range(60):
        await stage.wait(20)
        if stage.structures(U.SUPPLYDEPOT):
            break
    yield Check("a queued stop does not clear the queue", bool(stage.structures(U.SUPPLYDEPOT)))
    yield Check("a started building is pending once", stage.already_pending(U.SUPPLYDEPOT) == 1)
    yield Check("nobody is on the way to it", stage.worker_en_route_to_build(U.SUPPLYDEPOT) == 0)
    stage.townhalls.first.train(U.SCV)
    await stage.wait(2)
    yield Check("a unit in training is pending once", stage.already_pending(U.SCV) == 1)
    await stage.put(OWN, U.HIGHTEMPLAR, None, 2)
    await stage.wait(2)
    for templar in stage.units(U.HIGHTEMPLAR):
        templar(A.MORPH_ARCHON)
    for _ in range(40):
        await stage.wait(8)
        if stage.units(U.ARCHON).ready:
            break
    yield Check("two templars become one archon", stage.units(U.ARCHON).ready.amount == 1)
    await stage.clear()


async def upgrade_checks(stage: CheckingBot) -> AsyncIterator[Check]:
    """Every upgrade that burnysc2 and the game's data know can be researched where burnysc2 says."""
    for switch in (stage.client.debug_fast_build, stage.client.debug_tech_tree, stage.client.debug_free):
        await switch()
    await stage.clear()
    for upgrade, building in sorted(UPGRADE_RESEARCHED_FROM.items(), key=lambda pair: pair[0].value):
        known = stage.game_data.upgrades.get(upgrade.value)
        if known is None or known.research_ability is None or "TECHLAB" in building.name:
            continue
        await stage.put(OWN, U.PYLON)
        await stage.put(OWN, building, stage.middle.offset(Point2((4, 0))))
        await stage.wait(20)
        for _ in range(60):
            lab = stage.own(building)
            if lab is not None and lab.is_idle:
                lab.research(upgrade)
            await stage.wait(16)
            if upgrade in stage.state.upgrades:
                break
        yield Check(f"{upgrade.name} in {building.name}", upgrade in stage.state.upgrades)
        await stage.clear()


async def ability_checks(stage: CheckingBot) -> AsyncIterator[Check]:
    """Whether an ability is offered to a unit now."""
    await stage.clear()
    for kind, ability, offered in OFFERED:
        await stage.put(OWN, kind)
        await stage.wait(2)
        unit = stage.own(kind)
        answers = (await stage.get_available_abilities([unit]))[0] if unit is not None else []
        yield Check(
            f"{kind.name}: {ability.name} {'is' if offered else 'not'} offered", (ability in answers) == offered
        )
        await stage.clear()
    await stage.put(OWN, U.PYLON)
    await stage.put(OWN, U.WARPGATE, stage.middle.offset(Point2((4, 0))))
    while stage.minerals < 1000:
        await stage.client.debug_all_resources()
        await stage.wait(20)
    gate = stage.own(U.WARPGATE)
    yield Check("a warp gate offers a warp-in", gate is not None and A.WARPGATETRAIN_ZEALOT in await _offers(stage))
    if gate is not None:
        gate.warp_in(U.ZEALOT, stage.middle.offset(Point2((-3, 3))))
    await stage.wait(4)
    yield Check("during its cooldown it does not", A.WARPGATETRAIN_ZEALOT not in await _offers(stage))
    yield Check("the warp-in has begun", stage.units(U.ZEALOT).amount == 1)
    await stage.clear()


async def _offers(stage: CheckingBot) -> list[A]:
    offers: list[list[A]] = await stage.get_available_abilities(stage.structures(U.WARPGATE))
    return offers[0] if offers else []
