"""A client that speaks the API request by request, for tests of what bots do not do on purpose."""

from __future__ import annotations

from typing import Any

from s2clientprotocol import sc2api_pb2

from understudy.games.zerg.proving_ground.lobby import Lobby
from understudy.games.zerg.proving_ground.session import Session

ZERG, TERRAN = 2, 1


class Client:
    """Sends requests to a session and decodes the answers."""

    def __init__(self, session: Session) -> None:
        self.session = session

    async def ask(self, **request: Any) -> sc2api_pb2.Response:
        answer: sc2api_pb2.Response = sc2api_pb2.Response.FromString(
            await self.raw(sc2api_pb2.Request(**request).SerializeToString())
        )
        return answer

    async def raw(self, data: bytes) -> bytes:
        return await self.session.handle(data)


def create_request(computer: bool = True, seed: int = 1) -> sc2api_pb2.RequestCreateGame:
    request = sc2api_pb2.RequestCreateGame(random_seed=seed, realtime=False)
    request.local_map.map_path = "ProvingGround-4.SC2Map"
    request.player_setup.add(type=sc2api_pb2.Participant)
    if computer:
        request.player_setup.add(type=sc2api_pb2.Computer, race=TERRAN, difficulty=sc2api_pb2.Medium)
    else:
        request.player_setup.add(type=sc2api_pb2.Participant)
    return request


def join_request(race: int = ZERG) -> sc2api_pb2.RequestJoinGame:
    return sc2api_pb2.RequestJoinGame(race=race, options=sc2api_pb2.InterfaceOptions(raw=True, score=True))  # type: ignore[arg-type]


async def client_in_game(seed: int = 1, race: int = ZERG) -> Client:
    client = Client(Session(Lobby()))
    await client.ask(create_game=create_request(seed=seed))
    await client.ask(join_game=join_request(race))
    return client


def command(ability: int, tags: list[int], **target: Any) -> sc2api_pb2.RequestAction:
    request = sc2api_pb2.RequestAction()
    order = request.actions.add().action_raw.unit_command
    order.ability_id = ability
    order.unit_tags.extend(tags)
    if "tag" in target:
        order.target_unit_tag = target["tag"]
    if "point" in target:
        order.target_world_space_pos.x, order.target_world_space_pos.y = target["point"]
    return request


def own(response: sc2api_pb2.Response, unit_id: int) -> list[Any]:
    return [u for u in response.observation.observation.raw_data.units if u.alliance == 1 and u.unit_type == unit_id]
