"""Cancelling a construction, an order of a queue, or a morph."""

from __future__ import annotations

from typing import Any

from understudy.games.zerg.proving_ground.compiled import kernel
from understudy.games.zerg.proving_ground.kernels.order_queue import clear_orders
from understudy.games.zerg.proving_ground.kernels.prices import refund
from understudy.games.zerg.proving_ground.kernels.production import change_kind, drop_order
from understudy.games.zerg.proving_ground.kernels.units import TUMOR_CREEP, remove, spawn
from understudy.games.zerg.proving_ground.state import DRONE, EGG, ERROR, LARVA, MAKE, MORPH_INTO, RESEARCH, SUCCESS
from understudy.games.zerg.starcraft import ZERG

DRONE_PRICE, REFUND = 50.0, 0.75  # a cancelled structure gives back this share of its price, and the drone


@kernel
def cancel(s: Any, r: Any, i: int) -> int:
    """Cancel the construction, the last order of the queue, or the morph, and refund the price (three quarters for
    structures).
    """
    k, p, n = s.kind[i], s.owner[i], s.orders[i]
    if r.structure[k] and s.progress[i] < 1.0:
        drone = r.race[k] == ZERG and r.creep_radius[k] != TUMOR_CREEP
        part = r.value_minerals[k] - (DRONE_PRICE if drone else 0.0)
        refund(s, p, part * REFUND, r.value_vespene[k] * REFUND)
        x, y = s.x[i], s.y[i]
        remove(s, r, i)
        if drone:
            spawn(s, r, DRONE, p, x, y, 1.0)
        return SUCCESS
    if n == 0:
        return ERROR
    what = s.argument[i, n - 1]
    if s.order[i, n - 1] == MAKE and s.order_target[i, n - 1] >= 0:
        refund(s, p, r.minerals[k, what] * REFUND, r.vespene[k, what] * REFUND)
        remove(s, r, s.order_target[i, n - 1])
        drop_order(s, i, n - 1)
    elif s.order[i, n - 1] == MAKE:
        refund(s, p, r.minerals[k, what], r.vespene[k, what])
        drop_order(s, i, n - 1)
    elif s.order[i, n - 1] == RESEARCH:
        refund(s, p, r.upgrade_minerals[what], r.upgrade_vespene[what])
        s.pending[p, what] = 0
        drop_order(s, i, n - 1)
    elif s.order[i, n - 1] == MORPH_INTO:
        source = LARVA if k == EGG else s.was[i]
        refund(s, p, r.minerals[source, what], r.vespene[source, what])
        clear_orders(s, i)
        if k == EGG:
            s.kind[i], s.becomes[i], s.health[i] = LARVA, 0, r.health[LARVA]
        elif s.becomes[i]:
            change_kind(s, r, i, source)
    else:
        clear_orders(s, i)
    return SUCCESS
