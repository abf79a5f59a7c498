"""The workers of a scripted player: mining and fighting."""

from __future__ import annotations

from typing import Any

import numpy as np

from understudy.games.zerg.proving_ground import state as names
from understudy.games.zerg.proving_ground.simulation import Simulation

WORKER_PRICE, GAS_SHARE = 50.0, 0.4


class OpponentWorkers:
    """Gives one player's workers their orders; `mine` are the slots of all its units, `kinds` their kinds."""

    def __init__(self, game: Simulation, player: int, worker: int) -> None:
        self._game, self._player, self._worker = game, player, worker

    def employ(self, mine: Any, kinds: Any) -> None:
        """Idle workers mine; every gas building gets three, as long as most workers mine minerals."""
        game, state = self._game, self._game.state
        workers = mine[kinds == self._worker]
        for slot in workers[(state["alive"][workers] == 1) & (state["orders"][workers] == 0)].tolist():
            field = self._field_near(slot, mine, kinds)
            if field >= 0:
                game.order(self._player, slot, names.GATHER, target=field)
        jobs = state["order_target"][workers, 0]
        in_gas = workers[(state["order"][workers, 0] == names.GATHER) & (game.tables["gas"][state["kind"][jobs]] == 1)]
        room = int(len(workers) * GAS_SHARE) - len(in_gas)
        for slot in in_gas[: max(0, -room)]:
            game.order(self._player, int(slot), names.GATHER, target=self._field_near(int(slot), mine, kinds))
        for gas in mine[game.tables["gas"][kinds] == 1]:
            wants = state["progress"][gas] >= 1 and state["assigned"][gas] < 3 and state["contents"][gas] > 0
            worker = (
                self.nearest(mine, kinds, float(state["x"][gas]), float(state["y"][gas])) if wants and room > 0 else -1
            )
            if worker >= 0:
                room -= 1
                game.order(self._player, worker, names.GATHER, target=int(gas))

    def resist(self, mine: Any, kinds: Any, intruders: Any) -> None:
        """Workers fight intruders that the army cannot handle, and return to work afterwards."""
        game, state = self._game, self._game.state
        workers = mine[kinds == self._worker]
        enemy = float(game.tables["value_minerals"][state["kind"][intruders]].sum())
        own = float(game.tables["value_minerals"][kinds[game.tables["army"][kinds] == 1]].sum())
        if len(intruders) and enemy > own:
            wanted = int((enemy - own) / WORKER_PRICE * 1.3) + 1
            fighting = int((state["order"][workers, 0] == names.ATTACK).sum())
            x, y = float(state["x"][intruders[0]]), float(state["y"][intruders[0]])
            nearest = workers[np.argsort(np.hypot(state["x"][workers] - x, state["y"][workers] - y))]
            for worker in nearest[: max(0, min(wanted, len(workers) - 2) - fighting)]:
                if state["order"][worker, 0] == names.GATHER:
                    game.order(self._player, int(worker), names.ATTACK, x=x, y=y)
        else:
            for worker in workers[state["order"][workers, 0] == names.ATTACK]:
                game.order(self._player, int(worker), names.STOP)

    def _field_near(self, slot: int, mine: Any, kinds: Any) -> int:
        """The mineral field with the most room at one of the player's bases."""
        state, rules = self._game.state, self._game.tables
        top = int(state["top"])
        fields = np.flatnonzero((state["alive"][:top] == 1) & (rules["minerals_here"][state["kind"][:top]] == 1))
        halls = [i for i in mine[rules["townhall"][kinds] == 1] if state["progress"][i] >= 1]
        if not len(fields) or not halls:
            return -1
        dx = state["x"][fields][:, None] - state["x"][halls][None]
        dy = state["y"][fields][:, None] - state["y"][halls][None]
        cost = (
            np.hypot(dx, dy).min(axis=1) * 10
            + 25 * state["assigned"][fields]
            + np.hypot(state["x"][fields] - state["x"][slot], state["y"][fields] - state["y"][slot])
        )
        best = int(fields[int(np.argmin(cost))])
        state["assigned"][best] += 1
        return best

    def nearest(self, mine: Any, kinds: Any, x: float, y: float) -> int:
        """A worker that mines minerals and is not on its way home, closest to a point; -1 for none."""
        state = self._game.state
        workers = mine[kinds == self._worker]
        order, target = state["order"][workers, 0], state["order_target"][workers, 0]
        mines = (state["orders"][workers] == 0) | (
            (order == names.GATHER) & (self._game.tables["minerals_here"][state["kind"][target]] == 1)
        )
        free = workers[mines & (state["alive"][workers] == 1)]
        if not len(free):
            return -1
        way = np.hypot(state["x"][free] - x, state["y"][free] - y) + 6 * (state["carry_minerals"][free] > 0)
        return int(free[int(np.argmin(way))])
