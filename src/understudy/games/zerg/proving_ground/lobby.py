"""Setting up a game: seats, races, and waiting for the second participant."""

from __future__ import annotations

import asyncio
import copy
import random

from understudy.errors import UnderstudyError
from understudy.games.zerg.proving_ground.map_parts import Map
from understudy.games.zerg.proving_ground.match import LADDER_LIMIT, Match, Recorder, Seat
from understudy.games.zerg.proving_ground.opponents import make_opponent
from understudy.games.zerg.starcraft import RACES, RANDOM, RANDOM_BUILD

VERY_EASY = 1
MISSING_GAME, GAME_FULL = 6, 5  # the game's LaunchError and GameFull


class LobbyError(UnderstudyError):
    """No seat is available; `code` is the game's error number."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class Lobby:
    """Where a game is set up and participants meet. One lobby serves one game after another."""

    def __init__(self, max_loops: int = LADDER_LIMIT, recorder: Recorder | None = None) -> None:
        self._map: Map | None = None
        self._seats: list[Seat] = []
        self._seed, self._max_loops, self._recorder = 0, max_loops, recorder
        self._realtime = False
        self._match: Match | None = None
        self._full = asyncio.Event()
        self._holder: object = None
        self.games_created = 0

    @property
    def created(self) -> bool:
        """Whether a game can be joined."""
        return self._map is not None

    @property
    def single(self) -> bool:
        """Whether one participant plays alone against a computer."""
        return any(seat.computer for seat in self._seats)

    @property
    def match(self) -> Match | None:
        """The game that was started last."""
        return self._match

    def create(
        self, game_map: Map, seats: list[Seat], seed: int, realtime: bool = False, holder: object = None
    ) -> None:
        """Set up a game; without an opponent, the second player is a VeryEasy computer.

        Before it is over, only its holder, a client or None for the server itself, may set up another one, and only
        while nobody has joined.
        """
        if self.created and not self._is_over and (holder is not self._holder or self._joined):
            raise LobbyError(GAME_FULL, "Another client has set up a game here; it can be joined.")
        self._holder = holder
        self.games_created += 1
        if len(seats) == 1:
            seats = [*seats, Seat(RANDOM, RANDOM, "", True, VERY_EASY, RANDOM_BUILD)]
        self._map, self._seats, self._seed, self._realtime = game_map, seats, seed, realtime
        self._match, self._full = None, asyncio.Event()

    @property
    def _is_over(self) -> bool:
        return self._match is not None and self._match.simulation.over

    @property
    def _joined(self) -> bool:
        return any(seat.taken for seat in self._seats)

    def close(self) -> None:
        """Close the game for new participants."""
        self._map = None

    def leave(self, holder: object) -> None:
        """A client has disconnected: the game that it set up is removed, unless somebody plays it or waits for it."""
        if holder is self._holder and self._match is None and not self._joined:
            self.close()

    def sit_down(self, race: int, name: str) -> int:
        """Take the first free participant's seat and return its number."""
        if self._map is None:
            raise LobbyError(MISSING_GAME, "There is no game to join: create one first.")
        for number, seat in enumerate(self._seats):
            if not seat.computer and not seat.taken:
                seat.taken, seat.race, seat.requested_race, seat.name = True, race, race, name or seat.name
                return number
        raise LobbyError(GAME_FULL, "Both seats of this game are taken.")

    def stand_up(self, player: int) -> None:
        """Give a seat back before the game starts."""
        if self._match is None and player < len(self._seats):
            self._seats[player].taken = False

    async def start(self, player: int) -> Match:
        """Wait for all participants, then start their game."""
        if all(seat.taken or seat.computer for seat in self._seats):
            self._match = self._new_match()
            self._full.set()
        await self._full.wait()
        assert self._match is not None, "the event is set after the match is made"
        return self._match

    def restart(self) -> Match:
        """Restart the same game."""
        self._match = self._new_match()
        return self._match

    def _new_match(self) -> Match:
        assert self._map is not None, "a seat was taken, so there is a game"
        seats = copy.deepcopy(self._seats)
        dice = random.Random(self._seed * 2 + 1)
        for seat in seats:
            if seat.race not in RACES:
                seat.race = dice.choice(tuple(RACES))
        match = Match(self._map, seats, self._seed, self._max_loops, self._realtime, recorder=self._recorder)
        for number, seat in enumerate(seats):
            if seat.computer:
                match.opponents.append(
                    make_opponent(match.simulation, number, seat.difficulty, seat.ai_build, self._seed)
                )
        return match
