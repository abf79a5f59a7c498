"""Updates that are not needed every loop, and the decision of the game."""

from __future__ import annotations

from typing import Any

from understudy.games.zerg.proving_ground.compiled import kernel
from understudy.games.zerg.proving_ground.kernels.casting import wound
from understudy.games.zerg.proving_ground.kernels.economy import count_workers, hatch_larva, recover
from understudy.games.zerg.proving_ground.kernels.units import TUMOR_CREEP
from understudy.games.zerg.proving_ground.kernels.vision import grow_creep, look, power
from understudy.games.zerg.proving_ground.spells import BEAM, BUFFS, CLOAK, CONTAMINATED, LOCKED
from understudy.games.zerg.proving_ground.state import (
    COLLECTED_MINERALS,
    COLLECTED_VESPENE,
    IDLE_PRODUCTION,
    IDLE_WORKERS,
    MAKE,
    MORPH_INTO,
    NEUTRAL,
    RATE_MINERALS,
    RATE_VESPENE,
    RESEARCH,
)
from understudy.games.zerg.starcraft import DEFEAT, LOOPS_PER_SECOND, TIE, VICTORY

SLOW = 16  # loops between two updates
CLOAK_ENERGY, BEAM_ENERGY, LOCK_DAMAGE = 0.055, 0.0875, 1.25  # a loop
LAST_MINERALS, LAST_VESPENE = 21, 22  # spare rows of the score: the sums when the rates were last computed
LOOPS_PER_MINUTE, SMOOTHING = 1344.0, 0.02
STALEMATE = 4032  # loops, three minutes


@kernel
def keep_up(s: Any, t: Any, r: Any, w: Any) -> None:
    """Regeneration, larvae, creep, power, rates, the result, sight."""
    count_workers(s, r)
    power(s, r)
    if s.loop % (2 * SLOW) == 0:
        grow_creep(s, t, r)
    for i in range(s.top):
        if s.alive[i] and s.owner[i] < NEUTRAL:
            recover(s, r, i, SLOW)
            making = s.orders[i] > 0 and s.order[i, 0] in (MAKE, RESEARCH, MORPH_INTO) and s.order_progress[i, 0] > 0.0
            if making or s.progress[i] < 1.0:
                s.active_at = s.loop
            if s.buffs[i]:
                end_buffs(s, r, i)
            if r.townhall[s.kind[i]]:
                if not s.buffs[i] & (1 << CONTAMINATED):
                    hatch_larva(s, t, r, i, SLOW)
                if s.progress[i] >= 1.0 and s.orders[i] == 0:
                    s.score[s.owner[i], IDLE_PRODUCTION] += SLOW / LOOPS_PER_SECOND
            if r.worker[s.kind[i]] and s.orders[i] == 0:
                s.score[s.owner[i], IDLE_WORKERS] += SLOW / LOOPS_PER_SECOND
    rates(s)
    while s.top > 0 and not s.alive[s.top - 1]:
        s.top -= 1
    judge(s, r)
    look(s, t, r, w)


@kernel
def end_buffs(s: Any, r: Any, i: int) -> None:
    """Drop buffs whose time is over; lock-on hurts, and a cloak uses energy."""
    for b in range(BUFFS):
        if s.buffs[i] & (1 << b) and s.buff_until[i, b] <= s.loop:
            s.buffs[i] &= ~(1 << b)
    for b, energy in ((CLOAK, CLOAK_ENERGY), (BEAM, BEAM_ENERGY)):
        if s.buffs[i] & (1 << b):
            s.energy[i] -= energy * SLOW
            if s.energy[i] <= 0.0:
                s.energy[i] = 0.0
                s.buffs[i] &= ~(1 << b)
    if s.buffs[i] & (1 << LOCKED):
        wound(s, r, i, LOCK_DAMAGE * SLOW, 1 - s.owner[i])


@kernel
def rates(s: Any) -> None:
    """Collection rates per minute, smoothed over about half a minute; two spare score rows hold the last sums."""
    for p in range(2):
        for row, rate, last in (
            (COLLECTED_MINERALS, RATE_MINERALS, LAST_MINERALS),
            (COLLECTED_VESPENE, RATE_VESPENE, LAST_VESPENE),
        ):
            now = (s.score[p, row] - s.score[p, last]) * LOOPS_PER_MINUTE / SLOW
            s.score[p, last] = s.score[p, row]
            if now > 0.0:
                s.active_at = s.loop
            s.score[p, rate] += (now - s.score[p, rate]) * SMOOTHING


@kernel
def judge(s: Any, r: Any) -> None:
    """A player without structures has lost. It is a tie once nothing is gathered, made or destroyed any more."""
    if s.over or s.endless:
        return
    left0, left1 = 0, 0
    for i in range(s.top):
        if s.alive[i] and r.structure[s.kind[i]] and r.creep_radius[s.kind[i]] != TUMOR_CREEP:
            if s.owner[i] == 0:
                left0 += 1
            elif s.owner[i] == 1:
                left1 += 1
    stalemate = s.loop - s.active_at >= STALEMATE
    if left0 and left1 and not stalemate:
        return
    s.over = 1
    if stalemate or left0 == left1:
        s.result[0], s.result[1] = TIE, TIE
    else:
        s.result[0], s.result[1] = (VICTORY, DEFEAT) if left0 else (DEFEAT, VICTORY)
