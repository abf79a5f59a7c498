"""The websocket doors: the game as a program that listens on a port, for run_game and for ladder bots.

One lobby to a server. A client that is silent for too long is disconnected, and a lost connection loses its game;
other clients go on.
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
    """Serves one lobby on a port. Two such programs, one for each bot of a game, meet on a port that both bots name."""

    def __init__(self, lobby: Lobby, silence: float = SILENCE, stays: bool = False) -> None:
        self._lobby, self._silence, self._stays = lobby, silence, stays
        self._done = asyncio.Event()
        self._runner: web.AppRunner | None = None
        self._open = 0

    async def start(self, host: str, port: int) -> int:
        """Listen; the port, which the system chooses when 0 was asked for."""
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
        """Return when a client has asked to quit, or the last one has gone."""
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
        """Answer one request after the other until the client goes, quits or falls silent."""
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
                    with contextlib.suppress(OSError):  # taken already: the other program has come first
                        await self.listen("127.0.0.1", port)
                work = asyncio.create_task(session.handle(data))
                await asyncio.wait({work, reader}, return_when=asyncio.FIRST_COMPLETED)
                if not work.done():  # the client has gone while it waited for the other player
                    work.cancel()
                    return
                await socket.send_bytes(work.result())
        finally:
            reader.cancel()

    async def _next(self, inbox: asyncio.Queue[bytes], reader: asyncio.Task[None]) -> bytes | None:
        """The next request; None when the client has gone or was silent for too long."""
        get = asyncio.create_task(inbox.get())
        await asyncio.wait({get, reader}, timeout=self._silence, return_when=asyncio.FIRST_COMPLETED)
        if get.done():
            return get.result()
        get.cancel()
        if not reader.done():
            log.warning("a client was silent for %.0f s and is disconnected", self._silence)
        return None

    async def _relay(
        self,
        socket: web.WebSocketResponse,
        first: bytes,
        port: int,
        inbox: asyncio.Queue[bytes],
        reader: asyncio.Task[None],
    ) -> None:
        """This program was started for the second bot of a game that another one hosts: pass everything on to it."""
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
    """Pass requests on until the client closes; the API is binary, text is not for us."""
    while True:
        message = await socket.receive()
        if message.type == WSMsgType.BINARY:
            await inbox.put(message.data)
        elif message.type in (WSMsgType.CLOSE, WSMsgType.CLOSING, WSMsgType.CLOSED, WSMsgType.ERROR):
            return


def meeting_port(data: bytes) -> int:
    """The port on which the two programs of a game between bots meet; 0 when this is no request to join such a game."""
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
