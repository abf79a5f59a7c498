"""Snapshots from the simulation's state, and commands as the simulation's orders."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from understudy.games.zerg.proving_ground import state as names
from understudy.games.zerg.proving_ground.rules import KINDS, MORPH
from understudy.games.zerg.proving_ground.simulation import Simulation
from understudy.games.zerg.proving_ground.unit_data import kinds_by_id
from understudy.games.zerg.snapshot import (
    ATTACK,
    GATHER,
    IDLE,
    INJECT,
    MAKE,
    MOVE,
    OTHER,
    RESEARCH,
    Column,
    Command,
    Field,
    Resources,
    Snapshot,
    Units,
    nearest_first,
)

FIRST_TAG, TAG_SHIFT = 1 << 32, 18  # as the protocol tags units, so that both adapters name them alike

_VERBS: NDArray[np.int64] = np.full(32, OTHER)
for _order, _verb in (
    (names.NONE, IDLE),
    (names.GATHER, GATHER),
    (names.RETURN, GATHER),
    (names.BUILD_AT, MAKE),
    (names.MAKE, MAKE),
    (names.MORPH_INTO, MAKE),
    (names.RESEARCH, RESEARCH),
    (names.ATTACK, ATTACK),
    (names.MOVE, MOVE),
    (names.INJECT, INJECT),
):
    _VERBS[_order] = _verb
_PLAIN = {GATHER: names.GATHER, ATTACK: names.ATTACK, MOVE: names.MOVE, INJECT: names.INJECT, RESEARCH: names.RESEARCH}
_LOST = slice(names.LOST_MINERALS_ARMY, names.LOST_VESPENE_TECHNOLOGY + 1)


def field_of(game: Simulation, player: int) -> Field:
    """The ground as a player knows it when the game starts."""
    start, enemy = game.map.starts[player], game.map.starts[1 - player]
    bases = np.array([base.center for base in game.map.bases])
    return Field(start, enemy, nearest_first(bases, start), game.terrain["placeable"][0], 0)


class DirectGame:
    """One player's hands and eyes in a simulation."""

    def __init__(self, game: Simulation, player: int) -> None:
        self._game, self._player = game, player
        self._unit_id = game.rules["unit_id"][0].astype(np.int64)
        self._full_health = game.rules["health"][0] + game.rules["shields"][0]
        self._deaths = 0

    def snapshot(self) -> Snapshot:
        """What the player sees now."""
        game, state, p = self._game, self._game.state, self._player
        top = int(state["top"])
        alive, owner = state["alive"][:top] == 1, state["owner"][:top]
        mine = np.flatnonzero(alive & (owner == p))
        theirs = np.flatnonzero(alive & (owner == 1 - p) & ((state["seen"][p, :top] | state["known"][p, :top]) == 1))
        used, cap = game.supply(p)
        score = state["score"]
        return Snapshot(
            loop=game.loop,
            minerals=float(int(state["minerals"][p])),
            vespene=float(int(state["vespene"][p])),
            supply_used=float(int(used)),
            supply_cap=float(int(cap)),
            rate_minerals=float(score[p, names.RATE_MINERALS]),
            rate_vespene=float(score[p, names.RATE_VESPENE]),
            killed_value=float(score[1 - p, _LOST].sum()),
            lost_value=float(score[p, _LOST].sum()),
            upgrades=frozenset(np.flatnonzero(state["upgrade"][p]).tolist()),
            own=self._units(mine, True),
            enemy=self._units(theirs, False),
            dead=self._dead(),
            creep=state["creep_grid"],
            resources=self._resources,
        )

    def carry_out(self, commands: Iterable[Command]) -> None:
        """Give the orders; what the game refuses is refused silently, as in the game."""
        for command in commands:
            for tag in command.tags:
                slot = self._slot(tag)
                if slot >= 0:
                    self._order(slot, command)

    def _order(self, slot: int, command: Command) -> None:
        game, p = self._game, self._player
        target = self._slot(command.target) if command.target else -1
        x, y = (-1.0, -1.0) if command.at is None else command.at
        if command.verb == MAKE:
            product = kinds_by_id()[command.product]
            how = int(game.rules["how"][0][game.state["kind"][slot], product])
            if command.at is not None:
                game.order(p, slot, names.BUILD_AT, product, x=x, y=y)
            else:
                game.order(p, slot, names.MORPH_INTO if how == MORPH else names.MAKE, product)
        else:
            if target >= 0:
                x, y = float(game.state["x"][target]), float(game.state["y"][target])
            argument = command.product if command.verb == RESEARCH else 0
            game.order(p, slot, _PLAIN[command.verb], argument, target, x, y)

    def _units(self, slots: Column, own: bool) -> Units:
        state = self._game.state
        kinds = state["kind"][slots]
        x, y = state["x"][slots], state["y"][slots]
        tags = FIRST_TAG + (slots << TAG_SHIFT) + state["generation"][slots]
        if not own:
            none = np.zeros(len(slots), np.int64)
            return Units(tags, self._unit_id[kinds], x, y, none, none, none, none, none, x, y)
        busy = state["orders"][slots] > 0
        order = np.where(busy, state["order"][slots, 0], names.NONE)
        verb = _VERBS[order]
        argument = state["argument"][slots, 0]
        product = np.where(
            verb == MAKE, self._unit_id[np.minimum(argument, KINDS - 1)], np.where(verb == RESEARCH, argument, 0)
        )
        going = (order == names.ATTACK) | (order == names.MOVE)
        return Units(
            tags,
            self._unit_id[kinds],
            x,
            y,
            (state["health"][slots] + state["shield"][slots]) / self._full_health[kinds],
            state["energy"][slots],
            state["progress"][slots],
            verb,
            product,
            np.where(going, state["order_x"][slots, 0], x),
            np.where(going, state["order_y"][slots, 0], y),
        )

    def _resources(self) -> Resources:
        state, rules = self._game.state, self._game.rules[0]
        top = int(state["top"])
        kinds = state["kind"][:top]
        is_field, is_gas = rules["minerals_here"][kinds] == 1, rules["geyser"][kinds] == 1
        slots = np.flatnonzero((state["alive"][:top] == 1) & (is_field | is_gas))
        tags = FIRST_TAG + (slots << TAG_SHIFT) + state["generation"][slots]
        return Resources(tags, state["x"][slots], state["y"][slots], is_gas[slots])

    def _dead(self) -> tuple[int, ...]:
        state, ring = self._game.state, names.DEAD_RING
        deaths = int(state["deaths"])
        places = [n % ring for n in range(max(self._deaths, deaths - ring), deaths)]
        self._deaths = deaths
        rows = zip(state["dead_slot"][places].tolist(), state["dead_generation"][places].tolist(), strict=True)
        return tuple(FIRST_TAG + (slot << TAG_SHIFT) + generation for slot, generation in rows)

    def _slot(self, tag: int) -> int:
        slot = (tag - FIRST_TAG) >> TAG_SHIFT
        state = self._game.state
        same = state["alive"][slot] and FIRST_TAG + (slot << TAG_SHIFT) + int(state["generation"][slot]) == tag
        return slot if same else -1
