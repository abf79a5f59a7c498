from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import aiohttp
import pytest
from s2clientprotocol import sc2api_pb2

from games.zerg.proving_ground.clients import create_request, join_request
from understudy.games.zerg.proving_ground.lobby import Lobby
from understudy.games.zerg.proving_ground.maps import make_map
from understudy.games.zerg.proving_ground.match import Seat
from understudy.games.zerg.proving_ground.server import Server

ENDED, IN_GAME = 5, 3
RANDOM = 4
LIMIT = 30.0


def with_server(
    talk: Callable[[Server, str, aiohttp.ClientSession], Awaitable[None]], bots: int = 0, silence: float = 20.0
) -> None:
    """Run a conversation with a server on a free port; it fails when it takes too long."""

    async def run() -> None:
        lobby = Lobby()
        if bots:
            lobby.create(make_map(1), [Seat(RANDOM, RANDOM) for _ in range(bots)], 1)
        server = Server(lobby, silence)
        port = await server.start("127.0.0.1", 0)
        async with aiohttp.ClientSession() as session:
            await asyncio.wait_for(talk(server, f"ws://127.0.0.1:{port}/sc2api", session), LIMIT)
        await asyncio.wait_for(server.stop(), LIMIT)

    asyncio.run(run())


async def ask(socket: aiohttp.ClientWebSocketResponse, **request: Any) -> sc2api_pb2.Response:
    await socket.send_bytes(sc2api_pb2.Request(**request).SerializeToString())
    answer: sc2api_pb2.Response = sc2api_pb2.Response.FromString(await socket.receive_bytes())
    return answer


def test_a_game_over_a_socket() -> None:
    async def talk(server: Server, url: str, session: aiohttp.ClientSession) -> None:
        async with session.ws_connect(url, max_msg_size=0) as socket:
            await ask(socket, create_game=create_request())
            assert (await ask(socket, join_game=join_request())).status == IN_GAME
            await ask(socket, step=sc2api_pb2.RequestStep(count=22))
            seen = await ask(socket, observation=sc2api_pb2.RequestObservation())
            assert seen.observation.observation.game_loop == 22
            await ask(socket, quit=sc2api_pb2.RequestQuit())
        await server.wait()

    with_server(talk)


def test_garbage_does_not_end_the_conversation() -> None:
    async def talk(server: Server, url: str, session: aiohttp.ClientSession) -> None:
        async with session.ws_connect(url) as socket:
            await socket.send_bytes(b"\xff" * 40)
            assert sc2api_pb2.Response.FromString(await socket.receive_bytes()).error
            await socket.send_str("hello?")
            assert (await ask(socket, ping=sc2api_pb2.RequestPing())).ping.base_build

    with_server(talk)


def test_a_client_that_disconnects_in_the_middle_loses_and_the_other_goes_on() -> None:
    async def talk(server: Server, url: str, session: aiohttp.ClientSession) -> None:
        one, two = await session.ws_connect(url, max_msg_size=0), await session.ws_connect(url, max_msg_size=0)
        await asyncio.gather(ask(one, join_game=join_request()), ask(two, join_game=join_request(1)))
        waiting = asyncio.create_task(ask(one, step=sc2api_pb2.RequestStep(count=4)))
        await asyncio.sleep(0.05)
        await two.close()
        assert (await waiting).status == ENDED
        results = (await ask(one, observation=sc2api_pb2.RequestObservation())).observation.player_result
        assert [r.result for r in results] == [1, 2]
        await one.close()
        await server.wait()

    with_server(talk, bots=2)


@pytest.mark.slow
def test_a_silent_client_is_disconnected_and_loses() -> None:
    async def talk(server: Server, url: str, session: aiohttp.ClientSession) -> None:
        one, two = await session.ws_connect(url, max_msg_size=0), await session.ws_connect(url, max_msg_size=0)
        await asyncio.gather(ask(one, join_game=join_request()), ask(two, join_game=join_request(1)))
        answer = await ask(one, step=sc2api_pb2.RequestStep(count=4))  # two says nothing
        assert answer.status == ENDED
        closed = await two.receive()
        assert closed.type in (aiohttp.WSMsgType.CLOSE, aiohttp.WSMsgType.CLOSED, aiohttp.WSMsgType.CLOSING)
        await one.close()

    with_server(talk, bots=2, silence=0.6)


def test_a_client_that_leaves_before_the_game_gives_its_seat_back() -> None:
    async def talk(server: Server, url: str, session: aiohttp.ClientSession) -> None:
        shy = await session.ws_connect(url)
        await shy.send_bytes(sc2api_pb2.Request(join_game=join_request()).SerializeToString())
        await asyncio.sleep(0.1)
        await shy.close()
        one, two = await session.ws_connect(url, max_msg_size=0), await session.ws_connect(url, max_msg_size=0)
        joined = await asyncio.gather(ask(one, join_game=join_request()), ask(two, join_game=join_request(1)))
        assert sorted(answer.join_game.player_id for answer in joined) == [1, 2]
        await one.close()
        await two.close()

    with_server(talk, bots=2)
