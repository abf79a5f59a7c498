"""The websocket server: stands in for the game's executable, for run_game and for ladder bots.

A server has one lobby. A client that sends or reads nothing for too long is disconnected, as on a ladder, unless the
server is patient, as the game's executable is. A lost connection loses the game. Input of one client does not disturb
another one; `input_checks.py` says what is checked.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging

import aiohttp
from aiohttp import WSMsgType, web
from google.protobuf.message import DecodeError
from s2clientprotocol import sc2api_pb2

from understudy.games.zerg.proving_ground.input_checks import LAST_PORT, is_port, may_connect
from understudy.games.zerg.proving_ground.lobby import Lobby
from understudy.games.zerg.proving_ground.session import Session

SILENCE = 60.0  # seconds
LARGEST_REQUEST = 16 * 1024 * 1024  # a bot that draws whole grids for debugging sends 2 MB and more
MOST_CLIENTS = 64
CONNECT_TRIES = 100
WAITING_REQUESTS = 4
_CLOSE_SECONDS = 1.0  # time for a client to confirm the end
log = logging.getLogger(__name__)


class Server:
    """Serves one lobby on a port. In a game of two bots, the two servers connect on a port that both bots name."""

    def __init__(
        self, lobby: Lobby, silence: float | None = SILENCE, *, stays: bool = False, alone: float | None = None
    ) -> None:
        """`silence` is how long a client may be silent; None waits forever, as for a bot in a debugger.

        The server ends after its game, unless it `stays`, and after `alone` seconds without any client.
        """
        self._lobby, self._silence, self._stays = lobby, silence, stays
        self._alone = alone
        self._meeting: tuple[int, web.TCPSite | None] = 0, None  # the number of the game it is for
        self._done = asyncio.Event()
        self._runner: web.AppRunner | None = None
        self._clients: set[Session] = set()

    async def start(self, host: str, port: int) -> int:
        """Listen and return the port; 0 lets the system choose one."""
        app = web.Application()
        app.router.add_get("/sc2api", self._serve_client)
        self._runner = web.AppRunner(app, access_log=None)
        await self._runner.setup()
        await web.TCPSite(self._runner, host, port).start()
        bound: int = self._runner.addresses[0][1]
        return bound

    async def _meet_on(self, port: int) -> None:
        """Listen for the other server of a game of two bots. Each game has one port; the previous one is closed."""
        assert self._runner is not None, "start() comes first"
        game, site = self._meeting
        if game == self._lobby.games_created:
            return
        if site is not None:
            await site.stop()
        site = web.TCPSite(self._runner, "127.0.0.1", port)
        self._meeting = self._lobby.games_created, site
        try:
            await site.start()
        except OSError:  # in use: the other server was first
            self._meeting = self._lobby.games_created, None

    async def wait(self) -> None:
        """Wait until a player quits or the last one disconnects. Clients that never join a game do not count."""
        while not self._done.is_set():
            alone = not self._clients
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._done.wait(), self._alone)
            if alone and not self._clients:
                return

    async def stop(self) -> None:
        """Close all connections."""
        if self._runner is not None:
            await self._runner.cleanup()

    async def _serve_client(self, request: web.Request) -> web.StreamResponse:
        if not may_connect(request.headers.get("Origin"), request.host):
            log.warning("a page of %r tried to connect and was refused", request.headers["Origin"][:80])
            return web.Response(status=403, text="Web pages of other sites may not use the proving ground.\n")
        if len(self._clients) >= MOST_CLIENTS:
            return web.Response(status=503, text=f"{MOST_CLIENTS} clients are connected already.\n")
        socket = web.WebSocketResponse(max_msg_size=LARGEST_REQUEST, compress=False, timeout=_CLOSE_SECONDS)
        session = Session(self._lobby)
        self._clients.add(session)
        try:
            await socket.prepare(request)
            await self._converse(socket, session)
        except (ConnectionError, asyncio.CancelledError):
            log.info("a client's connection was lost")
        finally:
            self._clients.discard(session)
            await session.lost()
            with contextlib.suppress(ConnectionError):
                await socket.close()
            others_play = any(client.took_part for client in self._clients)
            if session.took_part and (session.quit or not (others_play or self._stays)):
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
                if port and not is_port(port):
                    await self._send(socket, _no_game(f"{port} is not a port; ports are 1 to {LAST_PORT}"))
                    continue
                if port and not self._lobby.created and port in self._ports():
                    await self._send(socket, _no_game(f"No game to join was found on port {port}"))
                    continue
                if port and not self._lobby.created:
                    await self._relay(socket, session, data, port, inbox, reader)
                    return
                if port:
                    await self._meet_on(port)
                work = asyncio.create_task(_answer(session, data))
                await asyncio.wait({work, reader}, return_when=asyncio.FIRST_COMPLETED)
                if not work.done():  # the client disconnected while it waited for the other player
                    work.cancel()
                    return
                await self._send(socket, work.result())
        except TimeoutError:
            log.warning("a client read nothing for %.0f s and is disconnected", self._silence)
        finally:
            reader.cancel()

    async def _send(self, socket: web.WebSocketResponse, data: bytes) -> None:
        await asyncio.wait_for(socket.send_bytes(data), self._silence)

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

    def _ports(self) -> set[int]:
        """The ports that this server listens on; a request forwarded to one of them would come back here."""
        assert self._runner is not None, "start() comes first"
        return {address[1] for address in self._runner.addresses}

    async def _relay(
        self,
        socket: web.WebSocketResponse,
        session: Session,
        first: bytes,
        port: int,
        inbox: asyncio.Queue[bytes],
        reader: asyncio.Task[None],
    ) -> None:
        """Forward everything to the server that hosts the game of two bots."""
        async with aiohttp.ClientSession() as client:
            host = await _connect(client, port)
            if host is None:
                await self._send(socket, _no_game(f"No game to join was found on port {port}"))
                return
            session.took_part = True
            data: bytes | None = first
            while data is not None:
                await host.send_bytes(data)
                answer = asyncio.create_task(host.receive())
                await asyncio.wait({answer, reader}, return_when=asyncio.FIRST_COMPLETED)
                if not answer.done():  # the client disconnected while it waited for the other player
                    answer.cancel()
                    return
                if answer.result().type != WSMsgType.BINARY:
                    return
                await self._send(socket, answer.result().data)
                data = await self._next(inbox, reader)


async def _answer(session: Session, data: bytes) -> bytes:
    """The session's answer. A bug here becomes an error in one answer, and the game continues."""
    try:
        return await session.handle(data)
    except Exception as error:
        log.exception("a request could not be answered")
        response = sc2api_pb2.Response(error=[f"The proving ground failed: {type(error).__name__}"])
        response.status = session.status  # type: ignore[assignment]
        return bytes(response.SerializeToString())


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


def _no_game(why: str) -> bytes:
    response = sc2api_pb2.Response(error=[why], status=sc2api_pb2.launched)
    response.join_game.error = sc2api_pb2.ResponseJoinGame.NetworkError
    return bytes(response.SerializeToString())


async def _connect(client: aiohttp.ClientSession, port: int) -> aiohttp.ClientWebSocketResponse | None:
    for _ in range(CONNECT_TRIES):
        try:
            return await asyncio.wait_for(client.ws_connect(f"ws://127.0.0.1:{port}/sc2api", max_msg_size=0), SILENCE)
        except (aiohttp.ClientError, TimeoutError):
            await asyncio.sleep(0.1)
    return None
