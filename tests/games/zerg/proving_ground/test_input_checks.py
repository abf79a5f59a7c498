from __future__ import annotations

import asyncio
import math
import os
import random
import subprocess
import sys
from collections.abc import Awaitable, Callable

import pytest
from s2clientprotocol import debug_pb2, sc2api_pb2

from games.zerg.proving_ground.clients import Client, client_in_game, create_request, join_request, own
from understudy.games.zerg.proving_ground.input_checks import (
    LARGEST_VALUE,
    LONGEST_TEXT,
    in_turns,
    is_port,
    may_connect,
    point_on_map,
    text_of,
    value_of_unit,
)
from understudy.games.zerg.proving_ground.lobby import Lobby
from understudy.games.zerg.proving_ground.maps import make_map, seed_of
from understudy.games.zerg.proving_ground.session import Session

WILD = (math.nan, math.inf, -math.inf, 1e30, -1e30, -1.0, 175.9999, 176.0)
NOT_UTF8 = b"\xff\xfe\xfd\xfc"
DRONE, HATCHERY = 104, 86


def in_game(talk: Callable[[Client], Awaitable[None]]) -> None:
    async def run() -> None:
        await talk(await client_in_game())

    asyncio.run(run())


def test_a_point_is_on_the_map_or_none() -> None:
    assert point_on_map(3.5, 4.5) == (3.5, 4.5)
    assert point_on_map(-5.0, 1e30) == (0.0, 175.999)
    assert all(point_on_map(x, 1.0) is None and point_on_map(1.0, x) is None for x in WILD[:3])


def test_values_of_units_are_finite_and_bounded() -> None:
    assert [value_of_unit(x) for x in (math.nan, math.inf)] == [None, None]
    assert [value_of_unit(x) for x in (-3.0, 7.0, 1e30)] == [0.0, 7.0, LARGEST_VALUE]


def test_text_is_utf8_and_short() -> None:
    assert text_of("GG") == "GG"
    assert text_of(NOT_UTF8 + b"ok").endswith("ok")
    assert text_of("\ud800!") == "?!"
    assert len(text_of("x" * 10**6)) == LONGEST_TEXT


@pytest.mark.parametrize(
    "name", ["ProvingGround-²", "ProvingGround-" + "9" * 5000, "ProvingGround-12345678901", "\ud800"]
)
def test_every_map_name_has_a_map(name: str) -> None:
    assert make_map(seed_of(name)).pathable.any()


def test_ports() -> None:
    assert [is_port(port) for port in (-1, 0, 1, 65_535, 65_536, 70_000)] == [False, False, True, True, False, False]


@pytest.mark.parametrize(
    ("origin", "host", "passes"),
    [
        (None, "sc2_controller:5678", True),
        ("http://127.0.0.1:5678", "127.0.0.1:5678", True),
        ("http://localhost:5678", "localhost:5678", True),
        ("ws://[::1]:5678", "[::1]:5678", True),
        ("https://evil.example", "127.0.0.1:5678", False),
        ("http://evil.example:5678", "evil.example:5678", False),
        ("http://localhost:3000", "localhost:5678", False),
        ("null", "127.0.0.1:5678", False),
        ("http://[", "[", False),
    ],
)
def test_only_pages_of_other_sites_are_refused(origin: str | None, host: str, passes: bool) -> None:
    assert may_connect(origin, host) is passes


def test_others_get_their_turn_during_a_long_request() -> None:
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async def run() -> list[int]:
        beside = asyncio.create_task(other())
        items = [item async for item in in_turns(range(200_000))]
        beside.cancel()
        return items

    assert asyncio.run(run()) == list(range(200_000))
    assert turns > 1


@pytest.mark.slow
def test_a_debug_position_that_is_no_number_is_refused_and_the_game_goes_on() -> None:
    async def talk(client: Client) -> None:
        for x in WILD:
            for wild in ((x, 40.0), (40.0, x), (x, x)):
                request = sc2api_pb2.RequestDebug()
                unit = request.debug.add().create_unit
                unit.unit_type, unit.owner, unit.quantity = DRONE, 1, 2
                unit.pos.x, unit.pos.y = wild
                answer = await client.ask(debug=request)
                assert bool(answer.error) is not math.isfinite(x)
                assert (await client.ask(step=sc2api_pb2.RequestStep(count=3))).step.simulation_loop

    in_game(talk)


def test_a_debug_value_that_is_no_number_is_refused() -> None:
    async def talk(client: Client) -> None:
        seen = await client.ask(observation=sc2api_pb2.RequestObservation())
        drone = own(seen, DRONE)[0].tag
        for value in WILD:
            request = sc2api_pb2.RequestDebug()
            change = request.debug.add().unit_value
            change.unit_value, change.unit_tag, change.value = debug_pb2.DebugSetUnitValue.Life, drone, value
            assert bool((await client.ask(debug=request)).error) is not math.isfinite(value)
            if value == -1.0:
                break  # it is dead then
        seen = await client.ask(observation=sc2api_pb2.RequestObservation())
        assert all(math.isfinite(unit.health) for unit in own(seen, DRONE))

    in_game(talk)


def test_queries_with_wild_numbers_are_answered_with_no_way_and_no_place() -> None:
    async def talk(client: Client) -> None:
        request = sc2api_pb2.Request()
        for x in WILD[:6]:
            for start, end in (((x, 30.0), (30.0, 30.0)), ((30.0, 30.0), (x, 30.0)), ((30.0, 30.0), (30.0, x))):
                way = request.query.pathing.add()
                way.start_pos.x, way.start_pos.y = start
                way.end_pos.x, way.end_pos.y = end
            place = request.query.placements.add(ability_id=1152)
            place.target_pos.x = place.target_pos.y = x
        answer = sc2api_pb2.Response.FromString(await client.raw(request.SerializeToString()))
        assert len(answer.query.pathing) == 18
        assert all(math.isfinite(way.distance) for way in answer.query.pathing)
        assert all(place.result != 1 for place in answer.query.placements)

    in_game(talk)


def test_bytes_that_are_no_text_reach_the_other_player_as_text() -> None:
    async def run() -> None:
        lobby = Lobby()
        one, two = Client(Session(lobby)), Client(Session(lobby))
        create = create_request(computer=False)
        create.player_setup[0].player_name = "AAAA"
        await one.raw(sc2api_pb2.Request(create_game=create).SerializeToString().replace(b"AAAA", NOT_UTF8))
        join = join_request()
        join.player_name = "AAAA"
        broken = sc2api_pb2.Request(join_game=join).SerializeToString().replace(b"AAAA", NOT_UTF8)
        await asyncio.gather(one.raw(broken), two.ask(join_game=join_request(1)))
        chat = sc2api_pb2.Request()
        said = chat.action.actions.add().action_chat
        said.channel, said.message = 1, "AAAA"
        await one.raw(chat.SerializeToString().replace(b"AAAA", NOT_UTF8))
        seen = await two.ask(observation=sc2api_pb2.RequestObservation())
        assert [line.message for line in seen.observation.chat] == ["\ufffd" * 4]
        named = await two.ask(game_info=sc2api_pb2.RequestGameInfo())
        assert named.game_info.player_info[0].player_name == "\ufffd" * 4

    asyncio.run(run())


def test_a_map_name_that_is_no_text_gets_a_game() -> None:
    async def run() -> None:
        client = Client(Session(Lobby()))
        create = sc2api_pb2.Request(create_game=create_request()).SerializeToString()
        answer = sc2api_pb2.Response.FromString(
            await client.raw(create.replace(b"Proving", b"\xff\xfe\xfd\xfc\xfb\xfa\xf9"))
        )
        assert not answer.error
        assert (await client.ask(join_game=join_request())).join_game.player_id == 1

    asyncio.run(run())


def test_a_stranger_takes_no_game_away_from_others() -> None:
    async def run() -> None:
        lobby = Lobby()
        holder, stranger = Client(Session(lobby)), Client(Session(lobby))
        await holder.ask(create_game=create_request())
        assert "Another client" in (await stranger.ask(create_game=create_request(seed=9))).error[0]
        assert not (await holder.ask(create_game=create_request(seed=2))).error  # its own game it may replace
        await stranger.session.lost()
        assert (await holder.ask(join_game=join_request())).join_game.player_id == 1

    asyncio.run(run())


def test_a_game_that_its_maker_left_before_anybody_joined_makes_room_for_another() -> None:
    async def run() -> None:
        lobby = Lobby()
        gone, next_one = Client(Session(lobby)), Client(Session(lobby))
        await gone.ask(create_game=create_request())
        await gone.session.lost()
        assert not (await next_one.ask(create_game=create_request())).error

    asyncio.run(run())


def wild_games(seed: int, rounds: int) -> None:
    """Requests with random abilities, units, places and debug commands; an IndexError ends it."""
    dice = random.Random(seed)

    def point(target: object) -> None:
        target.x, target.y = (dice.choice((*WILD, dice.uniform(0, 176))) for _ in "xy")  # type: ignore[attr-defined]

    async def talk(client: Client) -> None:
        for _ in range(rounds):
            seen = await client.ask(observation=sc2api_pb2.RequestObservation())
            units = list(seen.observation.observation.raw_data.units)
            debug, action, query = sc2api_pb2.RequestDebug(), sc2api_pb2.RequestAction(), sc2api_pb2.Request().query
            made = debug.debug.add().create_unit
            made.unit_type = dice.choice([unit.unit_type for unit in units])
            made.owner, made.quantity = dice.randint(-1, 20), dice.randint(0, 5)
            point(made.pos)
            changed = debug.debug.add().unit_value
            changed.unit_tag, changed.unit_value = dice.choice(units).tag, dice.randint(1, 3)
            changed.value = dice.choice(WILD)
            for _ in range(10):
                order = action.actions.add().action_raw.unit_command
                order.ability_id = dice.choice((16, 23, 1, 3674, 1152, 1183, dice.randint(-5, 4200)))
                order.unit_tags.append(dice.choice(units).tag)
                order.queue_command = dice.random() < 0.5
                if dice.random() < 0.5:
                    point(order.target_world_space_pos)
                else:
                    order.target_unit_tag = dice.choice((dice.choice(units).tag, dice.getrandbits(64)))
            way = query.pathing.add()
            point(way.start_pos)
            point(way.end_pos)
            place = query.placements.add(ability_id=dice.randint(1100, 1200))
            point(place.target_pos)
            for request in ({"debug": debug}, {"action": action}, {"query": query}):
                await client.ask(**request)
            await client.ask(step=sc2api_pb2.RequestStep(count=dice.randint(1, 40)))

    in_game(talk)


@pytest.mark.slow
def test_no_request_makes_a_kernel_read_or_write_outside_of_its_arrays() -> None:
    """In a process whose machine code checks every index. Compiling that takes half a minute, the first time."""
    code = (
        "from games.zerg.proving_ground.test_input_checks import wild_games; from understudy.games.zerg.proving_ground."
        "compiled import OPTIONS; assert OPTIONS['boundscheck'];\n"
        "for seed in range(4): wild_games(seed, 60)"
    )
    subprocess.run([sys.executable, "-c", code], env=_checked(), check=True, timeout=300)


def _checked() -> dict[str, str]:
    return {**os.environ, "NUMBA_BOUNDSCHECK": "1", "PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path))}


@pytest.mark.slow
def test_machine_code_with_bounds_checks_really_has_them() -> None:
    code = (
        "import numpy as np; from understudy.games.zerg.proving_ground.compiled import OPTIONS\n"
        "import numba\n"
        "kind = np.dtype([('field', np.int64, (4,))])\n"
        "@numba.njit(**OPTIONS)\n"
        "def read(records, i): return records[0].field[i]\n"
        "try: read(np.zeros(1, kind), 4)\n"
        "except IndexError: print('checked')\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], env=_checked(), capture_output=True, text=True, check=True)
    assert ran.stdout == "checked\n"
