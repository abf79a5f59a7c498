"""Transports, bunkers, and Terran buildings that fly."""

# ruff: noqa: PLR0911 - kernels pass plain numbers and leave early

from __future__ import annotations

from typing import Any

import numpy as np

from understudy.games.zerg.proving_ground.compiled import kernel
from understudy.games.zerg.proving_ground.kernels.combat import gap
from understudy.games.zerg.proving_ground.kernels.construction import ADDON_X, ADDON_Y
from understudy.games.zerg.proving_ground.kernels.movement import go
from understudy.games.zerg.proving_ground.kernels.order_queue import clear_orders, fail, pop_order, take
from understudy.games.zerg.proving_ground.kernels.paths import nearest_walkable
from understudy.games.zerg.proving_ground.kernels.placement import can_place, snap
from understudy.games.zerg.proving_ground.kernels.production import change_kind
from understudy.games.zerg.proving_ground.kernels.units import length, same
from understudy.games.zerg.proving_ground.map_parts import SIZE
from understudy.games.zerg.proving_ground.rules import MORPH
from understudy.games.zerg.proving_ground.state import (
    BUNKER,
    CANT_LAND,
    CANT_LOAD,
    CANT_LOAD_OTHERS,
    ENTER,
    LAND,
    LOAD,
    MUST_TARGET_UNIT,
    NO_CARGO,
    NO_ROOM,
    NOT_SUPPORTED,
    NYDUS_NETWORK,
    NYDUS_WORM,
    SUCCESS,
    UNLOAD,
)
from understudy.games.zerg.starcraft import TERRAN

BIOLOGICAL, INFANTRY = 8, 2
TOUCH, THERE, OUT = 0.6, 0.4, 5.0
FAN = 0.8  # radians between two units that leave a transport


@kernel
def may_board(s: Any, r: Any, i: int, j: int) -> int:
    """Whether unit i may be taken in by transport j: SUCCESS, or why not."""
    k, ship = s.kind[i], s.kind[j]
    if r.room[ship] == 0 or r.cargo[k] == 0 or r.structure[k] or r.flying[k] or s.carrier[i] or s.progress[j] < 1.0:
        return CANT_LOAD
    if s.owner[i] != s.owner[j]:
        return CANT_LOAD_OTHERS
    if ship == BUNKER and (r.race[k] != TERRAN or not r.attributes[k] & BIOLOGICAL or r.cargo[k] > INFANTRY):
        return CANT_LOAD
    return NO_ROOM if s.loaded[j] + r.cargo[k] > r.room[ship] else SUCCESS


@kernel
def begin_transport(s: Any, r: Any, i: int, order: int, j: int, x: float, y: float, queued: bool) -> int:
    """Load a unit, enter a transport, or unload all passengers."""
    if order == UNLOAD:
        if r.room[s.kind[i]] == 0:
            return NOT_SUPPORTED
        if not anybody_aboard(s, i):
            return NO_CARGO
        if x < 0.0:
            x, y = s.x[i], s.y[i]
        return take(s, i, UNLOAD, 0, -1, x, y, queued)
    if j < 0:
        return MUST_TARGET_UNIT
    passenger, ship = (j, i) if order == LOAD else (i, j)
    allowed = may_board(s, r, passenger, ship)
    if allowed != SUCCESS:
        return allowed
    if order == LOAD and r.speed[s.kind[i]] > 0.0:
        return take(s, i, LOAD, 0, j, x, y, queued)
    return take(s, passenger, ENTER, 0, ship, s.x[ship], s.y[ship], queued and order == ENTER)


@kernel
def nydus(s: Any, i: int) -> bool:
    """Whether the unit is an entrance to its player's nydus network; all entrances share their passengers."""
    return bool(s.kind[i] == NYDUS_NETWORK or s.kind[i] == NYDUS_WORM)


@kernel
def aboard(s: Any, i: int, j: int) -> bool:
    """Whether unit j can leave at transport i."""
    ship = s.carrier[j] - 1
    if not s.alive[j] or ship < 0:
        return False
    return bool(ship == i or (nydus(s, i) and nydus(s, ship) and s.owner[ship] == s.owner[i]))


@kernel
def anybody_aboard(s: Any, i: int) -> bool:
    """Whether a passenger can leave at transport i."""
    if s.loaded[i] > 0:
        return True
    if nydus(s, i):
        for j in range(s.top):
            if aboard(s, i, j):
                return True
    return False


@kernel
def board(s: Any, r: Any, i: int, j: int) -> None:
    """Put unit i into transport j."""
    clear_orders(s, i)
    s.carrier[i] = j + 1
    s.loaded[j] += r.cargo[s.kind[i]]
    s.seen[1 - s.owner[i], i] = 0


@kernel
def meet(s: Any, t: Any, r: Any, w: Any, i: int) -> None:
    """One loop of an order to load or to enter: approach each other until one of them is inside."""
    j, loading = s.order_target[i, 0], s.order[i, 0] == LOAD
    known = same(s, j, s.order_generation[i, 0])
    if not known or may_board(s, r, j if loading else i, i if loading else j) != SUCCESS:
        pop_order(s, i)
        return
    if gap(s, r, i, j) > TOUCH:
        go(s, t, r, w, i, s.x[j], s.y[j], r.radius[s.kind[j]])
    elif loading:
        board(s, r, j, i)
        pop_order(s, i)
    else:
        board(s, r, i, j)


@kernel
def unload(s: Any, t: Any, r: Any, w: Any, i: int) -> None:
    """Go there, then unload all passengers onto walkable ground around the transport."""
    x, y = s.order_x[i, 0], s.order_y[i, 0]
    if r.speed[s.kind[i]] > 0.0 and length(x - s.x[i], y - s.y[i]) > THERE:
        go(s, t, r, w, i, x, y, 0.0)
        return
    out = 0
    for j in range(s.top):
        if not aboard(s, i, j):
            continue
        way = r.radius[s.kind[i]] + r.radius[s.kind[j]]
        cell = nearest_walkable(t, s.x[i] + way * np.cos(FAN * out), s.y[i] + way * np.sin(FAN * out))
        px, py = cell % SIZE + 0.5, cell // SIZE + 0.5
        if length(px - s.x[i], py - s.y[i]) <= OUT:
            s.loaded[s.carrier[j] - 1] -= r.cargo[s.kind[j]]
            s.x[j], s.y[j], s.carrier[j] = px, py, 0
            out += 1
    pop_order(s, i)


@kernel
def begin_landing(s: Any, t: Any, r: Any, p: int, i: int, kind: int, x: float, y: float, queued: bool) -> int:
    """Order a mobile structure to settle at a point."""
    if r.how[kind, s.kind[i]] != MORPH or r.speed[s.kind[i]] == 0.0:
        return NOT_SUPPORTED
    if x < 0.0 or can_place(s, t, r, p, kind, x, y, False) != SUCCESS:
        return CANT_LAND
    return take(s, i, LAND, kind, -1, snap(r, kind, x), snap(r, kind, y), queued)


@kernel
def land(s: Any, t: Any, r: Any, w: Any, i: int) -> None:
    """One loop of landing; a free addon next to the place becomes the building's."""
    kind, x, y = s.argument[i, 0], s.order_x[i, 0], s.order_y[i, 0]
    if length(x - s.x[i], y - s.y[i]) > THERE:
        go(s, t, r, w, i, x, y, 0.0)
        return
    if can_place(s, t, r, s.owner[i], kind, x, y, True) != SUCCESS:
        fail(s, i, LAND, kind, CANT_LAND)
        pop_order(s, i)
        return
    s.x[i], s.y[i] = x, y
    energy = s.energy[i]
    change_kind(s, r, i, kind)
    s.energy[i] = energy
    pop_order(s, i)
    for j in range(s.top):
        there = s.alive[j] and s.owner[j] == s.owner[i] and s.x[j] == x + ADDON_X and s.y[j] == y + ADDON_Y
        if there and s.host[j] < 0 and r.techlab_of[kind] and r.structure[s.kind[j]]:
            s.kind[j] = r.techlab_of[kind] if r.is_techlab[s.kind[j]] else r.reactor_of[kind]
            s.host[i], s.host[j] = j, i
