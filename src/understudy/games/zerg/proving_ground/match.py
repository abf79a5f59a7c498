"""One game with its players: seats, steps, and the end of the game.

Participants use sessions; computers act inside the step. The game advances when all participants wait for it, by the
smallest number of loops any of them asked for, as in StarCraft II. In real time the clock decides, and slow bots miss
loops.
"""

from __future__ import annotations

import asyncio
import copy
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

from understudy.games.zerg.proving_ground.input_checks import in_turns
from understudy.games.zerg.proving_ground.map_parts import Map
from understudy.games.zerg.proving_ground.simulation import Simulation
from understudy.games.zerg.proving_ground.state import Block
from understudy.games.zerg.starcraft import DEFEAT, LOOPS_PER_SECOND, TIE, VICTORY

THINK_EVERY = 16
LADDER_LIMIT = 80_640


class ComputerPlayer(Protocol):
    """A player inside the proving ground."""

    def act(self) -> None:
        """Observe the game and give orders."""


@dataclass
class Seat:
    """One of the two players: a participant's or a computer's."""

    race: int
    requested_race: int
    name: str = ""
    computer: bool = False
    difficulty: int = 0
    ai_build: int = 1
    taken: bool = False
    target: int = 0  # the loop a participant waits for
    waiting: bool = False
    left: bool = False


Recorder = Callable[[Simulation], None]


@dataclass
class Match:
    """A game in progress, with its players."""

    map: Map
    seats: list[Seat]
    seed: int = 0
    max_loops: int = LADDER_LIMIT
    realtime: bool = False
    simulation: Simulation = field(init=False)
    opponents: list[ComputerPlayer] = field(default_factory=list)
    chat: list[tuple[int, int, str]] = field(default_factory=list)  # player, channel, text
    recorder: Recorder | None = None
    refused: Counter[tuple[int, int, int]] = field(default_factory=Counter)  # player, ability, ActionResult

    def __post_init__(self) -> None:
        self.simulation = Simulation(self.map, (self.seats[0].race, self.seats[1].race), self.seed)
        self._changed = asyncio.Condition()
        self._began: float | None = None  # time of loop 0, in real time
        self._saved: tuple[Block, list[ComputerPlayer]] | None = None

    def advance_to(self, loop: int) -> None:
        """Run the game to this loop; computers act on the way."""
        for _ in self._advancing_to(loop):
            pass

    def _advancing_to(self, loop: int) -> Iterator[None]:
        """The same in parts of at most THINK_EVERY loops."""
        game = self.simulation
        now = game.loop
        while now < loop and not game.over:
            until = min(loop, self.max_loops, (now // THINK_EVERY + 1) * THINK_EVERY)
            game.step(until - now, see=until >= loop)
            now = game.loop
            if now % THINK_EVERY == 0:
                for opponent in self.opponents:
                    opponent.act()
            if now >= self.max_loops:
                game.finish((TIE, TIE))
            yield
        if self.recorder is not None:
            self.recorder(game)

    async def step(self, player: int, loops: int) -> None:
        """A participant asks to advance by this many loops."""
        seat = self.seats[player]
        seat.target, seat.waiting = self.simulation.loop + loops, True
        try:
            async with self._changed:
                await self._advance_if_all_wait()
                self._changed.notify_all()
                await self._changed.wait_for(lambda: self.simulation.over or self.simulation.loop >= seat.target)
        finally:
            seat.waiting = False

    async def keep_pace(self, loop: int = 0) -> None:
        """In real time: wait for this loop, and advance the game to the clock."""
        if self._began is None:
            self._began = time.monotonic()
        early = self._began + loop / LOOPS_PER_SECOND - time.monotonic()
        if early > 0 and not self.simulation.over:
            await asyncio.sleep(early)
        self.advance_to(max(loop, int((time.monotonic() - self._began) * LOOPS_PER_SECOND)))

    def save(self) -> None:
        """Save the game and the state of the computers."""
        self._saved = (self.simulation.block.copy(), self._copied(self.opponents))

    def load(self) -> bool:
        """Go back to the saved game; False if there is none."""
        if self._saved is None:
            return False
        self.simulation.block[:] = self._saved[0]
        self.opponents = self._copied(self._saved[1])
        if self._began is not None:
            self._began = time.monotonic() - self.simulation.loop / LOOPS_PER_SECOND
        return True

    def _copied(self, opponents: list[ComputerPlayer]) -> list[ComputerPlayer]:
        """Copies of the opponents that share the game."""
        return copy.deepcopy(opponents, {id(self.simulation): self.simulation})

    async def _advance_if_all_wait(self) -> None:
        present = [seat for seat in self.seats if not seat.computer and not seat.left]
        ready = [seat for seat in present if seat.waiting]
        if len(ready) < len(present):
            return
        async for _ in in_turns(self._advancing_to(min(seat.target for seat in ready))):
            pass

    async def leave(self, player: int) -> None:
        """A participant surrenders or loses its connection: the other one wins."""
        seat = self.seats[player]
        if seat.left:
            return
        seat.left = True
        self.simulation.finish((DEFEAT, VICTORY) if player == 0 else (VICTORY, DEFEAT))
        async with self._changed:
            self._changed.notify_all()
