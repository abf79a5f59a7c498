"""The queue of orders of a unit."""

from __future__ import annotations

from typing import Any

from understudy.games.zerg.proving_ground.compiled import kernel
from understudy.games.zerg.proving_ground.state import (
    MORPH_INTO,
    NONE,
    QUEUE,
    QUEUE_IS_FULL,
    SPENT_MINERALS,
    SPENT_VESPENE,
    SUCCESS,
)

FAILURES = 256  # that the state holds until they are reported


@kernel
def give_back(s: Any, i: int, minerals: float, vespene: float) -> None:
    """Return the price of a build order that did not start."""
    p = s.owner[i]
    s.reserved_minerals[i] -= minerals
    s.reserved_vespene[i] -= vespene
    s.minerals[p] += minerals
    s.vespene[p] += vespene
    s.score[p, SPENT_MINERALS] -= minerals
    s.score[p, SPENT_VESPENE] -= vespene


@kernel
def clear_orders(s: Any, i: int) -> None:
    """Forget all orders of a unit; the price of build orders that have not started is returned."""
    if s.reserved_minerals[i] > 0.0 or s.reserved_vespene[i] > 0.0:
        give_back(s, i, s.reserved_minerals[i], s.reserved_vespene[i])
    s.orders[i] = 0
    for q in range(QUEUE):
        s.order[i, q] = NONE
    s.phase[i] = 0
    s.timer[i] = 0.0
    s.target[i] = -1
    s.way_goal[i] = -1
    s.moving[i] = 0
    s.busy_until[i] = 0


@kernel
def changing(s: Any, i: int) -> bool:
    """Whether a unit is changing its kind; other orders wait until it has finished."""
    return bool(s.orders[i] > 0 and s.order[i, 0] == MORPH_INTO and s.order_progress[i, 0] > 0.0)


@kernel
def drop_next_orders(s: Any, i: int) -> None:
    """Drop all orders behind the current one, which has no price to refund."""
    give_back(s, i, s.reserved_minerals[i], s.reserved_vespene[i])
    for q in range(1, s.orders[i]):
        s.order[i, q] = NONE
    s.orders[i] = 1


@kernel
def pop_order(s: Any, i: int) -> None:
    """The first order is done; the next one moves up."""
    n = s.orders[i]
    for q in range(1, n):
        s.order[i, q - 1], s.argument[i, q - 1] = s.order[i, q], s.argument[i, q]
        s.order_target[i, q - 1], s.order_generation[i, q - 1] = s.order_target[i, q], s.order_generation[i, q]
        s.order_x[i, q - 1], s.order_y[i, q - 1] = s.order_x[i, q], s.order_y[i, q]
        s.order_progress[i, q - 1] = s.order_progress[i, q]
    if n > 0:
        s.orders[i] = n - 1
        s.order[i, n - 1] = NONE
    s.phase[i], s.target[i], s.way_goal[i], s.moving[i] = 0, -1, -1, 0
    s.timer[i] = 0.0


@kernel
def push_order(s: Any, i: int, order: int, argument: int, target: int, x: float, y: float) -> bool:
    """Append an order; False when the queue is full."""
    n = s.orders[i]
    if n >= QUEUE:
        return False
    s.order[i, n], s.argument[i, n], s.order_target[i, n] = order, argument, target
    s.order_generation[i, n] = s.generation[target] if target >= 0 else 0
    s.order_x[i, n], s.order_y[i, n], s.order_progress[i, n] = x, y, 0.0
    s.orders[i] = n + 1
    return True


@kernel
def take(s: Any, i: int, order: int, argument: int, j: int, x: float, y: float, queued: bool) -> int:
    """Put an accepted order into the queue: behind the others, or in their place. Repeating the current order changes
    nothing.
    """
    if not queued:
        again = (
            s.orders[i] == 1 and s.order[i, 0] == order and s.argument[i, 0] == argument and s.order_target[i, 0] == j
        )
        if again and (j >= 0 or (s.order_x[i, 0] == x and s.order_y[i, 0] == y)):
            return SUCCESS
        if changing(s, i):
            drop_next_orders(s, i)
        else:
            clear_orders(s, i)
    return SUCCESS if push_order(s, i, order, argument, j, x, y) else QUEUE_IS_FULL


@kernel
def fail(s: Any, i: int, order: int, argument: int, result: int) -> None:
    """Report a failed order in the player's next observation."""
    at = s.failures % FAILURES
    s.failed_slot[at], s.failed_generation[at], s.failed_order[at] = i, s.generation[i], order
    s.failed_argument[at], s.failed_result[at] = argument, result
    s.failures += 1
