"""Small situations for tests: a simulation with what the test asks for, and the bot's parts over it."""

from __future__ import annotations

from collections.abc import Mapping

from understudy.games.zerg.direct.adapter import DirectGame, field_of
from understudy.games.zerg.proving_ground.maps import make_map
from understudy.games.zerg.proving_ground.simulation import Simulation
from understudy.games.zerg.proving_ground.unit_data import kind
from understudy.games.zerg.snapshot import GameSnapshot, MapInfo

TERRAN, ZERG = 1, 2


class Scene:
    """Player 0 is ours, Zerg; player 1 is an idle Terran."""

    def __init__(self, minerals: float = 50.0, vespene: float = 0.0) -> None:
        self.game = Simulation(make_map(0), (ZERG, TERRAN), 0)
        self.hands = DirectGame(self.game, 0)
        self.bank(minerals, vespene)

    @property
    def field(self) -> MapInfo:
        return field_of(self.game, 0)

    def bank(self, minerals: float, vespene: float = 0.0) -> None:
        self.game.state["minerals"][0], self.game.state["vespene"][0] = minerals, vespene

    def add(self, names: Mapping[str, int], player: int = 0, near: tuple[float, float] | None = None) -> list[int]:
        """Put units into the game, beside the player's start or the point given."""
        x, y = near or self.game.map.starts[player]
        towards = 1 if x < 88 else -1
        slots: list[int] = []
        for name, count in names.items():
            for n in range(count):
                dx, dy = 5 + n % 4, 3 + n // 4 + len(slots) % 3
                slots.append(self.game.spawn(kind(name), player, x + towards * dx, y + towards * dy))
        self.game.step(1)
        return slots

    def snapshot(self) -> GameSnapshot:
        return self.hands.snapshot()
