"""The in-process door: a burnysc2 bot plays without a socket and without a second process."""

from __future__ import annotations

import asyncio
import gc
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from s2clientprotocol import sc2api_pb2
from sc2.client import Client
from sc2.data import AIBuild, Difficulty, Race, Result, Status
from sc2.main import _play_game
from sc2.player import Bot, Computer
from sc2.protocol import ProtocolError

from understudy.games.zerg.proving_ground.lobby import Lobby
from understudy.games.zerg.proving_ground.maps import make_map
from understudy.games.zerg.proving_ground.match import LADDER_LIMIT, Recorder, Seat
from understudy.games.zerg.proving_ground.session import Session
from understudy.games.zerg.starcraft import LOOPS_PER_SECOND

YOUNG_OBJECTS = 50_000  # new objects between two garbage collections during a game; Python's default is 700


@dataclass(frozen=True)
class GameReport:
    """The outcome of a game. `result` is what the first player's bot was told."""

    result: Result
    loops: int
    digest: str
    refused: Counter[tuple[int, int]] = field(default_factory=Counter)  # of the first player: ability, ActionResult


class LocalClient(Client):
    """burnysc2's client on a session in this process: messages are passed as objects, not bytes."""

    def __init__(self, session: Session) -> None:
        no_socket: Any = session  # burnysc2 requires a socket; only `_execute` would use it
        super().__init__(no_socket)
        self._session = session

    async def _execute(self, **request: Any) -> sc2api_pb2.Response:  # type: ignore[override]
        """Answer one request; errors are raised, as burnysc2's client does."""
        response = await self._session.answer(sc2api_pb2.Request(**request))
        self._status = Status(response.status)
        if response.error:
            raise ProtocolError(f"{response.error}")
        return response


def play(
    bot: Bot,
    opponent: Bot | Computer | None = None,
    *,
    map_seed: int = 0,
    seed: int = 0,
    game_time_limit: float | None = None,
    recorder: Recorder | None = None,
    realtime: bool = False,
) -> GameReport:
    """Play one game to its end; the default opponent is a Medium computer of random race."""
    options: dict[str, Any] = {"map_seed": map_seed, "seed": seed, "game_time_limit": game_time_limit}
    return asyncio.run(play_async(bot, opponent, recorder=recorder, realtime=realtime, **options))


async def play_async(
    bot: Bot,
    opponent: Bot | Computer | None = None,
    *,
    map_seed: int = 0,
    seed: int = 0,
    game_time_limit: float | None = None,
    recorder: Recorder | None = None,
    realtime: bool = False,
) -> GameReport:
    """As `play`, inside a running event loop. The time limit is in game seconds; a game that reaches it is a tie.

    In real time the game runs at 22.4 loops a second, and a slow bot misses some.
    """
    rival = opponent or Computer(Race.Random, Difficulty.Medium, AIBuild.RandomBuild)
    lobby = Lobby(LADDER_LIMIT if game_time_limit is None else round(game_time_limit * LOOPS_PER_SECOND), recorder)
    lobby.create(make_map(map_seed), [seat_of(bot), seat_of(rival)], seed, realtime)
    players = [player for player in (bot, rival) if isinstance(player, Bot)]
    games = [asyncio.create_task(_sit_and_play(lobby, player, realtime)) for player in players]
    with _seldom_collected():
        try:
            results = await asyncio.gather(*games)
        finally:
            for game in games:
                game.cancel()
    match = lobby.match
    assert match is not None, "a participant has played, so there was a game"
    refused = Counter({(what, why): count for (player, what, why), count in match.refused.items() if player == 0})
    return GameReport(results[0], match.simulation.loop, match.simulation.digest(), refused)


def seat_of(player: Bot | Computer) -> Seat:
    """The seat of a burnysc2 player."""
    if isinstance(player, Bot):
        return Seat(player.race.value, player.race.value, player.name or "")
    build = player.ai_build.value if player.ai_build is not None else AIBuild.RandomBuild.value
    return Seat(player.race.value, player.race.value, "", True, player.difficulty.value, build)


async def _sit_and_play(lobby: Lobby, bot: Bot, realtime: bool) -> Result:
    session = Session(lobby)
    try:
        result: Result = await _play_game(bot, LocalClient(session), realtime)
    finally:
        await session.lost()
    return result


@contextmanager
def _seldom_collected() -> Iterator[None]:
    """Collect garbage less often, and only objects that the game itself has created.

    burnysc2 creates thousands of objects in a step; scanning a hundred thousand library objects each time is useless.
    Garbage of earlier games is collected first, because frozen objects are never collected.
    """
    before, freeze = gc.get_threshold(), gc.get_freeze_count() == 0
    if freeze:
        gc.collect()
        gc.freeze()
    if before[0]:  # 0 means that collection is off
        gc.set_threshold(max(before[0], YOUNG_OBJECTS), *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
        if freeze:
            gc.unfreeze()
