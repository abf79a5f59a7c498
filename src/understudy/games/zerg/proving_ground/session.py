"""One connection: answers requests as the game does.

A session never raises for client input. Refusals use the game's texts and numbers.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from google.protobuf.message import DecodeError
from s2clientprotocol import sc2api_pb2

from understudy.games.zerg.proving_ground import actions, queries
from understudy.games.zerg.proving_ground.debug import DebugError, carry_out
from understudy.games.zerg.proving_ground.input_checks import in_turns, text_of
from understudy.games.zerg.proving_ground.lobby import Lobby, LobbyError
from understudy.games.zerg.proving_ground.maps import common_maps, make_map, seed_of
from understudy.games.zerg.proving_ground.match import Match, Seat
from understudy.games.zerg.proving_ground.observation import View
from understudy.games.zerg.proving_ground.static_responses import BASE_BUILD, DATA_VERSION, GAME_VERSION, data_response

LAUNCHED, INIT_GAME, IN_GAME, ENDED, QUIT = 1, 2, 3, 5, 6
MOST_LOOPS = 100_000  # a larger step is a client's mistake

# States in which a request is valid; otherwise the answer is an error, as in the game.
_NEEDS_GAME = {"step", "action", "query", "debug", "obs_action", "map_command", "quick_save", "quick_load"}
_NEEDS_GAME_OR_END = {"observation", "game_info", "data", "save_replay", "leave_game", "restart_game"}


class Session:
    """The session of one client."""

    def __init__(self, lobby: Lobby) -> None:
        self._lobby = lobby
        self._match: Match | None = None
        self._view: View | None = None
        self._player = -1
        self._left = False
        self.quit = False
        self.took_part = False
        """Whether this client has set up or joined a game."""

    @property
    def status(self) -> int:
        """The status: launched, created, in game, ended, quit."""
        if self.quit:
            return QUIT
        if self._match is not None and not self._left:
            return ENDED if self._match.simulation.over else IN_GAME
        return INIT_GAME if self._lobby.created and not self._left else LAUNCHED

    async def handle(self, data: bytes) -> bytes:
        """Answer one serialized request."""
        response = sc2api_pb2.Response()
        tail = b""
        try:
            request = sc2api_pb2.Request.FromString(data)
        except DecodeError:
            response.error.append("Could not parse the request")
        else:
            tail = await self._fill(request, response)
        response.status = self.status  # type: ignore[assignment]
        return bytes(response.SerializePartialToString()) + tail

    async def answer(self, request: sc2api_pb2.Request) -> sc2api_pb2.Response:
        """Answer one request of a client in this process."""
        response = sc2api_pb2.Response()
        tail = await self._fill(request, response)
        if tail:
            response.MergeFromString(tail)
        response.status = self.status  # type: ignore[assignment]
        return response

    async def _fill(self, request: sc2api_pb2.Request, response: sc2api_pb2.Response) -> bytes:
        """Fill the response; returns further serialized bytes of it."""
        if request.HasField("id"):
            response.id = request.id
        return await self._dispatch(request, response)

    async def _dispatch(self, request: sc2api_pb2.Request, response: sc2api_pb2.Response) -> bytes:
        kind = request.WhichOneof("request")
        status = self.status
        if kind is None:
            response.error.append("The request is empty")
        elif kind in _NEEDS_GAME and status == ENDED:
            response.error.append("Game has already ended")
        elif (kind in _NEEDS_GAME and status != IN_GAME) or (
            kind in _NEEDS_GAME_OR_END and status not in (IN_GAME, ENDED)
        ):
            response.error.append("Not in a game")
        else:
            answer: Callable[[sc2api_pb2.Request, sc2api_pb2.Response], Awaitable[bytes]] | None = getattr(
                self, f"_{kind}", None
            )
            if answer is None:
                response.error.append(f"{kind} is not supported by the proving ground")
            else:
                return await answer(request, response)
        return b""

    async def lost(self) -> None:
        """The connection was lost, and with it an unfinished game."""
        await self._give_up()
        self._lobby.leave(self)

    async def _give_up(self) -> None:
        if self._match is not None and not self._left:
            await self._match.leave(self._player)
        elif self._match is None and self._player >= 0:
            self._lobby.stand_up(self._player)
            self._player = -1

    # Before the game.

    async def _ping(self, request: sc2api_pb2.Request, response: sc2api_pb2.Response) -> bytes:
        ping = response.ping
        ping.game_version, ping.data_version, ping.data_build, ping.base_build = (
            GAME_VERSION,
            DATA_VERSION,
            BASE_BUILD,
            BASE_BUILD,
        )
        return b""

    async def _available_maps(self, request: sc2api_pb2.Request, response: sc2api_pb2.Response) -> bytes:
        response.available_maps.local_map_paths.extend(f"{name}.SC2Map" for name in common_maps())
        return b""

    async def _create_game(self, request: sc2api_pb2.Request, response: sc2api_pb2.Response) -> bytes:
        asked = request.create_game
        response.create_game.SetInParent()
        name = text_of(asked.local_map.map_path or asked.battlenet_map_name)
        players = [p for p in asked.player_setup if p.type in (sc2api_pb2.Participant, sc2api_pb2.Computer)]
        if not name:
            response.create_game.error = sc2api_pb2.ResponseCreateGame.MissingMap
        elif not players:
            response.create_game.error = sc2api_pb2.ResponseCreateGame.MissingPlayerSetup
        elif len(players) > 2 or all(p.type == sc2api_pb2.Computer for p in players):
            response.create_game.error = sc2api_pb2.ResponseCreateGame.InvalidPlayerSetup
            response.create_game.error_details = (
                "The proving ground has two seats, and at least one of them is a participant's."
            )
        elif self.status == IN_GAME:
            response.error.append("A game is already running")
        else:
            seats = [
                Seat(
                    p.race,
                    p.race,
                    text_of(p.player_name),
                    p.type == sc2api_pb2.Computer,
                    max(1, p.difficulty),
                    max(1, p.ai_build),
                )
                for p in players
            ]
            try:
                self._lobby.create(make_map(seed_of(name)), seats, asked.random_seed, asked.realtime, holder=self)
            except LobbyError as refused:
                response.error.append(str(refused))
                return b""
            self._match, self._view, self._left, self._player = None, None, False, -1
            self.took_part = True
        return b""

    async def _join_game(self, request: sc2api_pb2.Request, response: sc2api_pb2.Response) -> bytes:
        asked = request.join_game
        response.join_game.SetInParent()
        if self._match is not None and self.status == IN_GAME:
            response.error.append("Already in a game")
        elif asked.WhichOneof("participation") != "race":
            response.join_game.error = sc2api_pb2.ResponseJoinGame.MissingParticipation
        else:
            try:
                self._player = self._lobby.sit_down(asked.race, text_of(asked.player_name))
            except LobbyError as refused:
                response.join_game.error = refused.code  # type: ignore[assignment]
                response.join_game.error_details = str(refused)
                response.error.append(str(refused))
                return b""
            self._match = await self._lobby.start(self._player)
            self.took_part = True
            self._view, self._left = View(self._match, self._player), False
            response.join_game.player_id = self._player + 1
        return b""

    # The game.

    def _in_game(self) -> tuple[Match, View]:
        assert self._match is not None, "the state was checked before"
        assert self._view is not None, "a match comes with its view"
        return self._match, self._view

    async def _data(self, request: sc2api_pb2.Request, response: sc2api_pb2.Response) -> bytes:
        return data_response()

    async def _game_info(self, request: sc2api_pb2.Request, response: sc2api_pb2.Response) -> bytes:
        return self._in_game()[1].game_info()

    async def _observation(self, request: sc2api_pb2.Request, response: sc2api_pb2.Response) -> bytes:
        match, view = self._in_game()
        if match.realtime:  # otherwise the game ignores the loop that is wanted
            await match.keep_pace(request.observation.game_loop)
        return view.observe(response)

    async def _step(self, request: sc2api_pb2.Request, response: sc2api_pb2.Response) -> bytes:
        match, _ = self._in_game()
        count = min(max(1, request.step.count), MOST_LOOPS)
        if match.realtime:
            await match.keep_pace(match.simulation.loop + count)
        else:
            await match.step(self._player, count)
        response.step.simulation_loop = match.simulation.loop
        return b""

    async def _action(self, request: sc2api_pb2.Request, response: sc2api_pb2.Response) -> bytes:
        match, _ = self._in_game()
        if match.realtime:
            await match.keep_pace()
        async for action in in_turns(request.action.actions):
            response.action.result.append(actions.carry_out(match, self._player, action))
        return b""

    async def _query(self, request: sc2api_pb2.Request, response: sc2api_pb2.Response) -> bytes:
        await queries.answer(self._in_game()[0].simulation, self._player, request.query, response.query)
        return b""

    async def _debug(self, request: sc2api_pb2.Request, response: sc2api_pb2.Response) -> bytes:
        response.debug.SetInParent()
        async for command in in_turns(request.debug.debug):
            try:
                carry_out(self._in_game()[0].simulation, self._player, command)
            except DebugError as refused:
                response.error.append(str(refused))
        return b""

    async def _obs_action(self, request: sc2api_pb2.Request, response: sc2api_pb2.Response) -> bytes:
        response.obs_action.SetInParent()
        return b""

    async def _quick_save(self, request: sc2api_pb2.Request, response: sc2api_pb2.Response) -> bytes:
        response.quick_save.SetInParent()
        if self._lobby.single:
            self._in_game()[0].save()
        else:
            response.error.append("A game between two participants cannot be saved")
        return b""

    async def _quick_load(self, request: sc2api_pb2.Request, response: sc2api_pb2.Response) -> bytes:
        response.quick_load.SetInParent()
        match, _ = self._in_game()
        if match.load():
            self._view = View(match, self._player)
        else:
            response.error.append("There is no quick save of this game")
        return b""

    # The end.

    async def _save_replay(self, request: sc2api_pb2.Request, response: sc2api_pb2.Response) -> bytes:
        response.save_replay.data = b"Understudy's proving ground keeps no replays in Blizzard's format.\n"
        return b""

    async def _leave_game(self, request: sc2api_pb2.Request, response: sc2api_pb2.Response) -> bytes:
        response.leave_game.SetInParent()
        match, _ = self._in_game()
        await match.leave(self._player)
        self._left = True
        self._lobby.close()
        return b""

    async def _restart_game(self, request: sc2api_pb2.Request, response: sc2api_pb2.Response) -> bytes:
        another = not self._lobby.created or self._lobby.match is not self._match  # since this one, by another client
        if not self._lobby.single or another:
            response.restart_game.error = sc2api_pb2.ResponseRestartGame.LaunchError
            return b""
        response.restart_game.SetInParent()
        self._match = self._lobby.restart()
        self._view = View(self._match, self._player)
        return b""

    async def _quit(self, request: sc2api_pb2.Request, response: sc2api_pb2.Response) -> bytes:
        response.quit.SetInParent()
        await self._give_up()
        self.quit = True
        return b""
