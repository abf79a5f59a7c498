"""The in-process door: a burnysc2 bot plays without a socket and without a second process."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

from sc2.data import AIBuild, Difficulty, Race, Result
from sc2.main import play_from_websocket
from sc2.player import Bot, Computer

from understudy.games.zerg.proving_ground.lobby import Lobby
from understudy.games.zerg.proving_ground.maps import make_map
from understudy.games.zerg.proving_ground.match import LADDER_LIMIT, Recorder, Seat
from understudy.games.zerg.proving_ground.session import Session


@dataclass(frozen=True)
class GameReport:
    """How a game went. `result` is the first player's, as its bot was told; None when its connection broke."""

    result: Result | None
    loops: int
    digest: str


class MemorySocket:
    """What burnysc2 needs of a websocket, over a session in this process."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._answer: bytes | None = None
        self.closed = False

    async def send_bytes(self, data: bytes) -> None:
        """Send a request; it is answered at once, or when the other player is ready too."""
        if self.closed:
            raise TypeError("the connection is closed")  # what aiohttp's socket raises, and burnysc2 expects
        self._answer = await self._session.handle(data)

    async def receive_bytes(self) -> bytes:
        """The answer to the last request."""
        answer, self._answer = self._answer, None
        if answer is None:
            raise TypeError("there is nothing to receive")
        return answer

    async def close(self) -> None:
        """Leave; an unfinished game is lost."""
        if not self.closed:
            self.closed = True
            await self._session.lost()


def play(
    bot: Bot,
    opponent: Bot | Computer | None = None,
    *,
    map_seed: int = 0,
    seed: int = 0,
    game_time_limit: float | None = None,
    recorder: Recorder | None = None,
) -> GameReport:
    """Play one game to its end and report it; without an opponent, against a Medium computer of random race."""
    return asyncio.run(
        play_async(bot, opponent, map_seed=map_seed, seed=seed, game_time_limit=game_time_limit, recorder=recorder)
    )


async def play_async(
    bot: Bot,
    opponent: Bot | Computer | None = None,
    *,
    map_seed: int = 0,
    seed: int = 0,
    game_time_limit: float | None = None,
    recorder: Recorder | None = None,
) -> GameReport:
    """As `play`, inside a running event loop. The time limit is in game seconds; a game that reaches it is a tie."""
    rival = opponent or Computer(Race.Random, Difficulty.Medium, AIBuild.RandomBuild)
    lobby = Lobby(LADDER_LIMIT if game_time_limit is None else round(game_time_limit * 22.4), recorder)
    lobby.create(make_map(map_seed), [_seat(bot), _seat(rival)], seed)
    players = [player for player in (bot, rival) if isinstance(player, Bot)]
    games = [asyncio.create_task(_sit_and_play(lobby, player)) for player in players]
    try:
        results = await asyncio.gather(*games)
    finally:
        for game in games:
            game.cancel()
    match = lobby.match
    assert match is not None, "a participant has played, so there was a game"
    return GameReport(results[0], match.simulation.loop, match.simulation.digest())


def _seat(player: Bot | Computer) -> Seat:
    if isinstance(player, Bot):
        return Seat(player.race.value, player.race.value, player.name or "")
    build = player.ai_build.value if player.ai_build is not None else AIBuild.RandomBuild.value
    return Seat(player.race.value, player.race.value, "", True, player.difficulty.value, build)


async def _sit_and_play(lobby: Lobby, bot: Bot) -> Result | None:
    socket: Any = MemorySocket(Session(lobby))
    try:
        result: Result | None = await play_from_websocket(socket, bot, False, None)  # type: ignore[arg-type]
    finally:
        await socket.close()
    return result
