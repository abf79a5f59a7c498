"""Snapshots from the simulation's state, and commands as the simulation's orders."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from understudy.games.zerg.proving_ground import state as names
from understudy.games.zerg.proving_ground.kernels import sight
from understudy.games.zerg.proving_ground.rules import MORPH
from understudy.games.zerg.proving_ground.simulation import Simulation
from understudy.games.zerg.proving_ground.state import FIRST_TAG, TAG_SHIFT
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
    GameSnapshot,
    MapInfo,
    Resources,
    UnitCommand,
    Units,
    nearest_first,
)

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


def field_of(game: Simulation, player: int) -> MapInfo:
    """The map as a player knows it when the game starts."""
    start, enemy = game.map.starts[player], game.map.starts[1 - player]
    bases = np.array([base.center for base in game.map.bases])
    return MapInfo(start, enemy, nearest_first(bases, start), game.terrain["placeable"][0], 0)


class DirectGame:
    """Snapshots and commands of one player of a simulation."""

    def __init__(self, game: Simulation, player: int) -> None:
        self._game, self._player = game, player
        self._deaths = 0
        self._upgrade_flags, self._known_upgrades = b"", frozenset[int]()

    def snapshot(self) -> GameSnapshot:
        """What the player sees now."""
        game, state, p = self._game, self._game.state, self._player
        used, cap, killed, lost = sight.account(game.block, game.rules, p)
        score = state["score"][p]
        return GameSnapshot(
            loop=game.loop,
            minerals=float(int(state["minerals"][p])),
            vespene=float(int(state["vespene"][p])),
            supply_used=float(int(used)),
            supply_cap=float(int(cap)),
            rate_minerals=float(score[names.RATE_MINERALS]),
            rate_vespene=float(score[names.RATE_VESPENE]),
            killed_value=killed,
            lost_value=lost,
            upgrades=self._upgrades(),
            own=self._own(),
            enemy=self._enemy(),
            dead=self._dead(),
            creep=state["creep_grid"],
            resources=self._resources,
        )

    def carry_out(self, commands: Iterable[UnitCommand]) -> None:
        """Give the orders. Refused orders are dropped silently, as in the game."""
        for command in commands:
            for tag in command.tags:
                slot = self._slot(tag)
                if slot >= 0:
                    self._order(slot, command)

    def _order(self, slot: int, command: UnitCommand) -> None:
        game, p = self._game, self._player
        target = self._slot(command.target) if command.target else -1
        x, y = (-1.0, -1.0) if command.at is None else command.at
        if command.verb == MAKE:
            product = kinds_by_id()[command.product]
            how = int(game.tables["how"][game.state["kind"][slot], product])
            if command.at is not None:
                game.order(p, slot, names.BUILD_AT, product, x=x, y=y)
            else:
                game.order(p, slot, names.MORPH_INTO if how == MORPH else names.MAKE, product)
        else:
            if target >= 0:
                x, y = float(game.state["x"][target]), float(game.state["y"][target])
            argument = command.product if command.verb == RESEARCH else 0
            game.order(p, slot, _PLAIN[command.verb], argument, target, x, y)

    def _own(self) -> Units:
        whole, real = sight.own_units(self._game.block, self._game.rules, self._player, _VERBS)
        tag, kind, verb, product = whole
        x, y, health, energy, progress, order_x, order_y = real
        return Units(tag, kind, x, y, health, energy, progress, verb, product, order_x, order_y)

    def _enemy(self) -> Units:
        (tag, kind), (x, y) = sight.enemy_units(self._game.block, self._game.rules, self._player)
        none = np.zeros(len(tag), np.int64)
        return Units(tag, kind, x, y, none, none, none, none, none, x, y)

    def _upgrades(self) -> frozenset[int]:
        flags = self._game.state["upgrade"][self._player]
        raw = flags.tobytes()
        if raw != self._upgrade_flags:
            self._upgrade_flags, self._known_upgrades = raw, frozenset(flags.nonzero()[0].tolist())
        return self._known_upgrades

    def _resources(self) -> Resources:
        (tag, is_gas), (x, y) = sight.resources(self._game.block, self._game.rules)
        return Resources(tag, x, y, is_gas == 1)

    def _dead(self) -> tuple[int, ...]:
        state, ring = self._game.state, names.DEAD_RING
        deaths = int(state["deaths"])
        if deaths == self._deaths:
            return ()
        known = state["dead_known"][self._player]
        places = [n % ring for n in range(max(self._deaths, deaths - ring), deaths) if known[n % ring]]
        self._deaths = deaths
        rows = zip(state["dead_slot"][places].tolist(), state["dead_generation"][places].tolist(), strict=True)
        return tuple(FIRST_TAG + (slot << TAG_SHIFT) + generation for slot, generation in rows)

    def _slot(self, tag: int) -> int:
        slot = (tag - FIRST_TAG) >> TAG_SHIFT
        state = self._game.state
        same = state["alive"][slot] and FIRST_TAG + (slot << TAG_SHIFT) + int(state["generation"][slot]) == tag
        return slot if same else -1
