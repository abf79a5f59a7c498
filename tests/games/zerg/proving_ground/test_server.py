from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import aiohttp
import pytest
from s2clientprotocol import sc2api_pb2

from games.zerg.proving_ground.clients import create_request, join_request
from understudy.games.zerg.proving_ground.doors import free_port
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


def test_a_bot_may_draw_whole_grids() -> None:
    async def talk(server: Server, url: str, session: aiohttp.ClientSession) -> None:
        async with session.ws_connect(url, max_msg_size=0) as socket:
            await ask(socket, create_game=create_request())
            await ask(socket, join_game=join_request())
            drawn = sc2api_pb2.RequestDebug()
            drawn.debug.add().draw.text.add(text="x" * 3_000_000)
            assert (await ask(socket, debug=drawn)).status == IN_GAME

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


def test_a_page_of_another_site_is_refused() -> None:
    async def talk(server: Server, url: str, session: aiohttp.ClientSession) -> None:
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await session.ws_connect(url, headers={"Origin": "https://evil.example"})
        assert refused.value.status == 403
        await (await session.ws_connect(url, headers={"Origin": url[:-7].replace("ws", "http")})).close()

    with_server(talk)


def test_strangers_who_come_and_leave_or_quit_end_nothing() -> None:
    async def talk(server: Server, url: str, session: aiohttp.ClientSession) -> None:
        ended = asyncio.create_task(server.wait())
        await (await session.ws_connect(url)).close()
        quitter = await session.ws_connect(url)
        await ask(quitter, quit=sc2api_pb2.RequestQuit())
        await quitter.close()
        async with session.ws_connect(url) as maker:
            assert "Another client" in (await ask(maker, create_game=create_request())).error[0]
        one, two = await session.ws_connect(url, max_msg_size=0), await session.ws_connect(url, max_msg_size=0)
        await asyncio.gather(ask(one, join_game=join_request()), ask(two, join_game=join_request(1)))
        await (await session.ws_connect(url)).close()
        assert not ended.done()
        await one.close()
        assert not ended.done()
        await two.close()
        await asyncio.wait_for(ended, 5)

    with_server(talk, bots=2)


def test_a_program_that_nobody_connects_to_ends() -> None:
    async def run() -> None:
        server = Server(Lobby(), silence=None, alone=0.05)
        await server.start("127.0.0.1", 0)
        await asyncio.wait_for(server.wait(), 5)
        await server.stop()

    asyncio.run(run())


@pytest.mark.parametrize("port", [70_000, -3])
def test_a_join_that_names_no_port_is_answered(port: int) -> None:
    async def talk(server: Server, url: str, session: aiohttp.ClientSession) -> None:
        async with session.ws_connect(url) as socket:
            join = join_request()
            join.server_ports.game_port = port
            for _ in range(2):
                assert f"{port} is not a port" in (await ask(socket, join_game=join)).error[0]

    with_server(talk)


def test_many_joins_open_one_port() -> None:
    async def talk(server: Server, url: str, session: aiohttp.ClientSession) -> None:
        async with session.ws_connect(url, max_msg_size=0) as socket:
            await ask(socket, create_game=create_request())
            first = free_port()
            for number in range(100):
                join = join_request()
                join.server_ports.game_port = first if number == 0 else free_port()
                await ask(socket, join_game=join)
            assert server._runner is not None
            assert len(server._runner.sites) == 2

    with_server(talk)


def test_a_server_does_not_forward_to_itself() -> None:
    """A join that named the server's own port led from one connection to the next until there was no room."""

    async def talk(server: Server, url: str, session: aiohttp.ClientSession) -> None:
        assert server._runner is not None
        join = join_request()
        join.server_ports.game_port = server._runner.addresses[0][1]
        async with session.ws_connect(url) as socket:
            answer = await asyncio.wait_for(ask(socket, join_game=join), 5)
            assert "No game to join" in answer.error[0]
            assert len(server._clients) == 1
            assert (await ask(socket, ping=sc2api_pb2.RequestPing())).ping.base_build

    with_server(talk)


def test_who_waits_for_a_forwarded_answer_may_leave() -> None:
    async def talk(server: Server, url: str, session: aiohttp.ClientSession) -> None:
        host = Server(Lobby())
        port = await host.start("127.0.0.1", 0)
        host_url = f"ws://127.0.0.1:{port}/sc2api"
        async with session.ws_connect(host_url) as maker, session.ws_connect(url) as guest:
            await ask(maker, create_game=create_request(computer=False))
            join = join_request()
            join.server_ports.game_port = port
            await guest.send_bytes(sc2api_pb2.Request(join_game=join).SerializeToString())
            await asyncio.sleep(0.2)
            assert len(host._clients) == 2
        for _ in range(100):
            if not host._clients:
                break
            await asyncio.sleep(0.05)
        assert not host._clients
        await host.stop()

    with_server(talk)


def test_more_clients_than_there_is_room_for_are_turned_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("understudy.games.zerg.proving_ground.server.MOST_CLIENTS", 2)

    async def talk(server: Server, url: str, session: aiohttp.ClientSession) -> None:
        one, two = await session.ws_connect(url), await session.ws_connect(url)
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await session.ws_connect(url)
        assert refused.value.status == 503
        assert (await ask(one, ping=sc2api_pb2.RequestPing())).ping.base_build
        await one.close()
        await two.close()

    with_server(talk)


@pytest.mark.slow
def test_thousands_of_queries_make_nobody_wait() -> None:
    async def talk(server: Server, url: str, session: aiohttp.ClientSession) -> None:
        greedy, other = await session.ws_connect(url, max_msg_size=0), await session.ws_connect(url)
        await ask(greedy, create_game=create_request())
        await ask(greedy, join_game=join_request())
        request = sc2api_pb2.Request()
        for number in range(3_000):
            way = request.query.pathing.add()
            way.start_pos.x, way.start_pos.y = 30.0, 30.0
            way.end_pos.x, way.end_pos.y = float(number % 170) + 0.5, float(number % 169) + 0.5
        await greedy.send_bytes(request.SerializeToString())
        answer = asyncio.create_task(greedy.receive_bytes())
        pings = 0
        while not answer.done():
            assert (await ask(other, ping=sc2api_pb2.RequestPing())).ping.base_build
            pings += 1
        assert len(sc2api_pb2.Response.FromString(await answer).query.pathing) == 3_000
        assert pings > 5
        await greedy.close()
        await other.close()

    with_server(talk)


@pytest.mark.slow
def test_a_client_that_reads_no_answers_is_disconnected() -> None:
    async def talk(server: Server, url: str, session: aiohttp.ClientSession) -> None:
        quick = aiohttp.ClientWSTimeout(ws_close=0.1)
        one, two = (
            await session.ws_connect(url, max_msg_size=0),
            await session.ws_connect(url, max_msg_size=0, timeout=quick),
        )
        await asyncio.gather(ask(one, join_game=join_request()), ask(two, join_game=join_request(1)))
        two._reader._protocol.pause_reading()
        data = sc2api_pb2.Request(data=sc2api_pb2.RequestData(unit_type_id=True)).SerializeToString()
        for _ in range(60):  # half a megabyte of answers each
            await two.send_bytes(data)
        assert (await ask(one, step=sc2api_pb2.RequestStep(count=4))).status == ENDED
        await one.close()
        await two.close()

    with_server(talk, bots=2, silence=0.6)


def test_a_defect_is_an_error_in_one_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(*_: object) -> bytes:
        raise ZeroDivisionError

    monkeypatch.setattr("understudy.games.zerg.proving_ground.session.Session._available_maps", broken)

    async def talk(server: Server, url: str, session: aiohttp.ClientSession) -> None:
        async with session.ws_connect(url) as socket:
            answer = await ask(socket, available_maps=sc2api_pb2.RequestAvailableMaps())
            assert answer.error == ["The proving ground failed: ZeroDivisionError"]
            assert (await ask(socket, ping=sc2api_pb2.RequestPing())).ping.base_build

    with_server(talk)
