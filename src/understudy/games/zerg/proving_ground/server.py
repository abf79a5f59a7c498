"""The websocket server: stands in for the game's executable, for run_game and for ladder bots.

A server has one lobby. A client that sends nothing for too long is disconnected; a lost connection loses the game.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging

import aiohttp
from aiohttp import WSMsgType, web
from google.protobuf.message import DecodeError
from s2clientprotocol import sc2api_pb2

from understudy.games.zerg.proving_ground.lobby import Lobby
from understudy.games.zerg.proving_ground.session import Session

SILENCE = 60.0  # seconds
LARGEST_REQUEST = 16 * 1024 * 1024
CONNECT_TRIES = 100
WAITING_REQUESTS = 64
log = logging.getLogger(__name__)


class Server:
    """Serves one lobby on a port. In a game of two bots, the two servers connect on a port that both bots name."""

    def __init__(self, lobby: Lobby, silence: float = SILENCE, stays: bool = False) -> None:
        self._lobby, self._silence, self._stays = lobby, silence, stays
        self._done = asyncio.Event()
        self._runner: web.AppRunner | None = None
        self._open = 0

    async def start(self, host: str, port: int) -> int:
        """Listen and return the port; 0 lets the system choose one."""
        app = web.Application()
        app.router.add_get("/sc2api", self._serve_client)
        self._runner = web.AppRunner(app)
        await self._runner.setup()
        await self.listen(host, port)
        bound: int = self._runner.addresses[0][1]
        return bound

    async def listen(self, host: str, port: int) -> None:
        """Also listen on another port."""
        assert self._runner is not None, "start() comes first"
        await web.TCPSite(self._runner, host, port).start()

    async def wait(self) -> None:
        """Wait until a client quits or the last one disconnects."""
        await self._done.wait()

    async def stop(self) -> None:
        """Close all connections."""
        if self._runner is not None:
            await self._runner.cleanup()

    async def _serve_client(self, request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse(max_msg_size=LARGEST_REQUEST)
        await socket.prepare(request)
        session = Session(self._lobby)
        self._open += 1
        try:
            await self._converse(socket, session)
        except (ConnectionError, asyncio.CancelledError):
            log.info("a client's connection was lost")
        finally:
            self._open -= 1
            await session.lost()
            with contextlib.suppress(ConnectionError):
                await socket.close()
            if session.quit or (self._open == 0 and not self._stays):
                self._done.set()
        return socket

    async def _converse(self, socket: web.WebSocketResponse, session: Session) -> None:
        """Answer requests until the client disconnects, quits or times out."""
        inbox: asyncio.Queue[bytes] = asyncio.Queue(WAITING_REQUESTS)
        reader = asyncio.create_task(_read(socket, inbox))
        try:
            while not session.quit:
                data = await self._next(inbox, reader)
                if data is None:
                    return
                port = meeting_port(data)
                if port and not self._lobby.created:
                    await self._relay(socket, data, port, inbox, reader)
                    return
                if port:
                    with contextlib.suppress(OSError):  # in use: the other server was first
                        await self.listen("127.0.0.1", port)
                work = asyncio.create_task(session.handle(data))
                await asyncio.wait({work, reader}, return_when=asyncio.FIRST_COMPLETED)
                if not work.done():  # the client disconnected while it waited for the other player
                    work.cancel()
                    return
                await socket.send_bytes(work.result())
        finally:
            reader.cancel()

    async def _next(self, inbox: asyncio.Queue[bytes], reader: asyncio.Task[None]) -> bytes | None:
        """The next request; None if the client disconnected or timed out."""
        get = asyncio.create_task(inbox.get())
        await asyncio.wait({get, reader}, timeout=self._silence, return_when=asyncio.FIRST_COMPLETED)
        if get.done():
            return get.result()
        get.cancel()
        if not reader.done():
            log.warning("a client sent nothing for %.0f s and is disconnected", self._silence)
        return None

    async def _relay(
        self,
        socket: web.WebSocketResponse,
        first: bytes,
        port: int,
        inbox: asyncio.Queue[bytes],
        reader: asyncio.Task[None],
    ) -> None:
        """Forward everything to the server that hosts the game of two bots."""
        async with aiohttp.ClientSession() as client:
            host = await _connect(client, port)
            if host is None:
                response = sc2api_pb2.Response(
                    error=[f"No game to join was found on port {port}"], status=sc2api_pb2.launched
                )
                response.join_game.error = sc2api_pb2.ResponseJoinGame.NetworkError
                await socket.send_bytes(response.SerializeToString())
                return
            data: bytes | None = first
            while data is not None:
                await host.send_bytes(data)
                answer = await host.receive()
                if answer.type != WSMsgType.BINARY:
                    return
                await socket.send_bytes(answer.data)
                data = await self._next(inbox, reader)


async def _read(socket: web.WebSocketResponse, inbox: asyncio.Queue[bytes]) -> None:
    """Forward requests until the client closes; text messages are ignored, since the API is binary."""
    while True:
        message = await socket.receive()
        if message.type == WSMsgType.BINARY:
            await inbox.put(message.data)
        elif message.type in (WSMsgType.CLOSE, WSMsgType.CLOSING, WSMsgType.CLOSED, WSMsgType.ERROR):
            return


def meeting_port(data: bytes) -> int:
    """The port on which the two servers of a game of two bots connect; 0 for other requests."""
    if len(data) > 4096 or not data or data[0] != 18:  # field 2, join_game, comes first in a request without id
        return 0
    try:
        request = sc2api_pb2.Request.FromString(data)
    except DecodeError:
        return 0
    return request.join_game.server_ports.game_port if request.HasField("join_game") else 0


async def _connect(client: aiohttp.ClientSession, port: int) -> aiohttp.ClientWebSocketResponse | None:
    for _ in range(CONNECT_TRIES):
        try:
            return await client.ws_connect(f"ws://127.0.0.1:{port}/sc2api", max_msg_size=0)
        except aiohttp.ClientError:
            await asyncio.sleep(0.1)
    return None
