from __future__ import annotations

import asyncio
import random

from s2clientprotocol import common_pb2, debug_pb2, query_pb2, sc2api_pb2

from games.zerg.proving_ground.clients import Client, client_in_game, command, create_request, join_request, own
from understudy.games.zerg.proving_ground.lobby import Lobby
from understudy.games.zerg.proving_ground.session import ENDED, IN_GAME, INIT_GAME, LAUNCHED, QUIT, Session

DRONE, LARVA, HATCHERY, OVERLORD, SCV = 104, 151, 86, 106, 45
TRAIN_DRONE, TRAIN_ZERGLING, STOP, MOVE, BUILD_POOL, BUILD_HATCHERY = 1342, 1343, 3665, 16, 1155, 1152
SUCCESS, NOT_SUPPORTED, NOT_ENOUGH_MINERALS, TECH_NOT_MET = 1, 2, 9, 40
OBSERVE = sc2api_pb2.RequestObservation()


def test_states_follow_each_other_as_in_the_game() -> None:
    async def talk() -> None:
        client = Client(Session(Lobby()))
        assert (await client.ask(ping=sc2api_pb2.RequestPing())).status == LAUNCHED
        assert (await client.ask(create_game=create_request())).status == INIT_GAME
        joined = await client.ask(join_game=join_request())
        assert (joined.status, joined.join_game.player_id) == (IN_GAME, 1)
        left = await client.ask(leave_game=sc2api_pb2.RequestLeaveGame())
        assert left.status == LAUNCHED
        assert (await client.ask(quit=sc2api_pb2.RequestQuit())).status == QUIT

    asyncio.run(talk())


def test_a_wanted_loop_counts_only_in_real_time() -> None:
    async def talk() -> None:
        client = await client_in_game()
        seen = await client.ask(observation=sc2api_pb2.RequestObservation(game_loop=4000))
        assert seen.observation.observation.game_loop == 0

    asyncio.run(talk())


def test_only_the_game_that_is_there_is_restarted() -> None:
    async def talk() -> None:
        lobby = Lobby()
        one, two = Client(Session(lobby)), Client(Session(lobby))
        await one.ask(create_game=create_request())
        await one.ask(join_game=join_request())
        again = await one.ask(restart_game=sc2api_pb2.RequestRestartGame())
        assert not again.restart_game.HasField("error")
        lobby.match.simulation.state["over"] = 1  # type: ignore[union-attr]
        await two.ask(create_game=create_request(seed=2))
        await two.ask(join_game=join_request())
        refused = await one.ask(restart_game=sc2api_pb2.RequestRestartGame())
        assert refused.restart_game.error == sc2api_pb2.ResponseRestartGame.LaunchError
        lobby.close()
        refused = await two.ask(restart_game=sc2api_pb2.RequestRestartGame())
        assert refused.restart_game.error == sc2api_pb2.ResponseRestartGame.LaunchError

    asyncio.run(talk())


def test_requests_out_of_order_are_refused_and_do_no_harm() -> None:
    async def talk() -> None:
        client = Client(Session(Lobby()))
        for request in (
            {"step": sc2api_pb2.RequestStep(count=1)},
            {"observation": OBSERVE},
            {"action": sc2api_pb2.RequestAction()},
            {"query": query_pb2.RequestQuery()},
            {"game_info": sc2api_pb2.RequestGameInfo()},
            {"leave_game": sc2api_pb2.RequestLeaveGame()},
        ):
            assert list((await client.ask(**request)).error) == ["Not in a game"]
        refused = await client.ask(join_game=join_request())
        assert refused.error
        assert refused.status == LAUNCHED
        await client.ask(create_game=create_request())
        assert (await client.ask(join_game=join_request())).status == IN_GAME
        assert (await client.ask(join_game=join_request())).error
        assert (await client.ask(create_game=create_request())).error
        assert (await client.ask(step=sc2api_pb2.RequestStep(count=5))).step.simulation_loop == 5

    asyncio.run(talk())


def test_bytes_that_are_no_request_are_answered_with_an_error() -> None:
    async def talk() -> None:
        client = await client_in_game()
        dice = random.Random(7)
        for _ in range(200):
            answer = sc2api_pb2.Response.FromString(await client.raw(dice.randbytes(dice.randrange(1, 60))))
            assert answer.status in (LAUNCHED, IN_GAME, ENDED, QUIT)
            if answer.status == QUIT:  # one of them happened to say so
                client = await client_in_game()
        assert list(sc2api_pb2.Response.FromString(await client.raw(b"\xff\xff\xff")).error) == [
            "Could not parse the request"
        ]
        assert (await client.ask()).error

    asyncio.run(talk())


def test_what_is_not_supported_says_so() -> None:
    async def talk() -> None:
        client = await client_in_game()
        for request in (
            {"start_replay": sc2api_pb2.RequestStartReplay()},
            {"replay_info": sc2api_pb2.RequestReplayInfo()},
        ):
            answer = await client.ask(**request)
            assert "not supported" in answer.error[0]
            assert answer.status == IN_GAME

    asyncio.run(talk())


def test_a_bad_setup_gets_the_games_own_error() -> None:
    async def talk() -> None:
        client = Client(Session(Lobby()))
        empty = sc2api_pb2.RequestCreateGame()
        assert (await client.ask(create_game=empty)).create_game.error == sc2api_pb2.ResponseCreateGame.MissingMap
        crowded = create_request()
        crowded.player_setup.add(type=sc2api_pb2.Participant)
        assert (
            await client.ask(create_game=crowded)
        ).create_game.error == sc2api_pb2.ResponseCreateGame.InvalidPlayerSetup

    asyncio.run(talk())


def test_actions_are_answered_with_the_games_results() -> None:
    async def talk() -> None:
        client = await client_in_game()
        seen = await client.ask(observation=OBSERVE)
        larva, drone = own(seen, LARVA), own(seen, DRONE)

        async def result(*arguments: object, **target: object) -> int:
            return int((await client.ask(action=command(*arguments, **target))).action.result[0])  # type: ignore[arg-type]

        assert await result(TRAIN_ZERGLING, [larva[0].tag]) == TECH_NOT_MET
        assert await result(TRAIN_DRONE, [larva[0].tag]) == SUCCESS
        assert await result(TRAIN_DRONE, [larva[1].tag]) == NOT_ENOUGH_MINERALS
        assert await result(999_999, [drone[0].tag]) == NOT_SUPPORTED
        assert await result(TRAIN_DRONE, [drone[0].tag]) == NOT_SUPPORTED
        assert await result(MOVE, [drone[0].tag], point=(float("nan"), 3.0)) != SUCCESS
        assert await result(MOVE, [123]) != SUCCESS
        assert await result(MOVE, [drone[0].tag], point=(1e9, -1e9)) == SUCCESS
        assert (await client.ask(step=sc2api_pb2.RequestStep(count=100))).status == IN_GAME

    asyncio.run(talk())


def test_every_known_ability_can_be_sent_to_every_unit() -> None:
    from understudy.games.zerg.proving_ground.unit_data import abilities  # noqa: PLC0415

    async def talk() -> None:
        client = await client_in_game()
        seen = await client.ask(observation=OBSERVE)
        units = [own(seen, unit_id)[0].tag for unit_id in (DRONE, LARVA, HATCHERY, OVERLORD)]
        enemy = seen.observation.observation.raw_data.units[0].tag
        for ability in abilities():
            for target in ({}, {"point": (60.0, 60.0)}, {"tag": enemy}):
                answer = await client.ask(action=command(ability.ability_id, units, **target))
                assert len(answer.action.result) == 1
        assert (await client.ask(step=sc2api_pb2.RequestStep(count=300))).status == IN_GAME

    asyncio.run(talk())


def test_queries_about_ways_places_and_abilities() -> None:
    async def talk() -> None:
        client = await client_in_game()
        seen = await client.ask(observation=OBSERVE)
        hall, larva = own(seen, HATCHERY)[0], own(seen, LARVA)[0]
        query = query_pb2.RequestQuery()
        query.pathing.add(
            start_pos=common_pb2.Point2D(x=hall.pos.x, y=hall.pos.y), end_pos=common_pb2.Point2D(x=88, y=88)
        )
        query.pathing.add(
            start_pos=common_pb2.Point2D(x=hall.pos.x, y=hall.pos.y), end_pos=common_pb2.Point2D(x=2, y=2)
        )
        query.placements.add(ability_id=BUILD_POOL, target_pos=common_pb2.Point2D(x=hall.pos.x + 7, y=hall.pos.y + 2))
        query.placements.add(ability_id=BUILD_POOL, target_pos=common_pb2.Point2D(x=88, y=88))
        query.placements.add(ability_id=BUILD_HATCHERY, target_pos=common_pb2.Point2D(x=hall.pos.x, y=hall.pos.y))
        query.abilities.add(unit_tag=larva.tag)
        query.abilities.add(unit_tag=42)
        answer = (await client.ask(query=query)).query
        assert answer.pathing[0].distance > 50
        assert answer.pathing[1].distance == 0
        assert [place.result for place in answer.placements] == [1, 49, 44]
        # 50 minerals, no pool
        assert [ability.ability_id for ability in answer.abilities[0].abilities] == [TRAIN_DRONE]
        assert not answer.abilities[1].abilities

    asyncio.run(talk())


def test_debug_makes_and_kills_units_and_ends_the_game() -> None:
    async def talk() -> None:
        client = await client_in_game()
        debug = sc2api_pb2.RequestDebug()
        debug.debug.add().create_unit.CopyFrom(
            debug_pb2.DebugCreateUnit(unit_type=110, owner=1, pos=common_pb2.Point2D(x=60, y=60), quantity=3)
        )
        debug.debug.add().create_unit.CopyFrom(debug_pb2.DebugCreateUnit(unit_type=99_999, owner=1, quantity=1))
        debug.debug.add().game_state = debug_pb2.all_resources
        await client.ask(debug=debug)
        await client.ask(step=sc2api_pb2.RequestStep(count=1))
        seen = await client.ask(observation=OBSERVE)
        roaches = own(seen, 110)
        assert len(roaches) == 3
        assert seen.observation.observation.player_common.minerals >= 5000
        kill = sc2api_pb2.RequestDebug()
        kill.debug.add().kill_unit.tag.append(roaches[0].tag)
        await client.ask(debug=kill)
        await client.ask(step=sc2api_pb2.RequestStep(count=1))
        seen = await client.ask(observation=OBSERVE)
        assert len(own(seen, 110)) == 2
        assert roaches[0].tag in seen.observation.observation.raw_data.event.dead_units
        end = sc2api_pb2.RequestDebug()
        end.debug.add().end_game.end_result = debug_pb2.DebugEndGame.DeclareVictory
        assert (await client.ask(debug=end)).status == ENDED
        results = (await client.ask(observation=OBSERVE)).observation.player_result
        assert [(r.player_id, r.result) for r in results] == [(1, 1), (2, 2)]
        assert list((await client.ask(step=sc2api_pb2.RequestStep(count=1))).error) == ["Game has already ended"]

    asyncio.run(talk())


def test_two_runs_with_one_seed_give_the_same_observation_bytes() -> None:
    async def run() -> list[bytes]:
        client = await client_in_game(seed=3)
        observations = []
        for _ in range(40):
            raw = await client.raw(sc2api_pb2.Request(observation=OBSERVE).SerializeToString())
            observations.append(raw)
            larvae = own(sc2api_pb2.Response.FromString(raw), LARVA)
            await client.ask(action=command(TRAIN_DRONE, [unit.tag for unit in larvae]))
            await client.ask(step=sc2api_pb2.RequestStep(count=22))
        return observations

    first, second = asyncio.run(run()), asyncio.run(run())
    assert first == second
    assert len(set(first)) == len(first)


def test_chat_reaches_both_players() -> None:
    async def talk() -> None:
        lobby = Lobby()
        one, two = Client(Session(lobby)), Client(Session(lobby))
        await one.ask(create_game=create_request(computer=False))
        await asyncio.gather(one.ask(join_game=join_request()), two.ask(join_game=join_request(1)))
        say = sc2api_pb2.RequestAction()
        say.actions.add().action_chat.message = "glhf"
        await one.ask(action=say)
        step = sc2api_pb2.RequestStep(count=4)
        await asyncio.gather(one.ask(step=step), two.ask(step=step))
        heard = await two.ask(observation=OBSERVE)
        assert [(line.player_id, line.message) for line in heard.observation.chat] == [(1, "glhf")]

    asyncio.run(talk())


def test_players_with_different_steps_stay_together() -> None:
    async def talk() -> None:
        lobby = Lobby()
        one, two = Client(Session(lobby)), Client(Session(lobby))
        await one.ask(create_game=create_request(computer=False))
        await asyncio.gather(one.ask(join_game=join_request()), two.ask(join_game=join_request(1)))
        slow = asyncio.create_task(two.ask(step=sc2api_pb2.RequestStep(count=8)))
        for loop in (3, 6):
            assert (await one.ask(step=sc2api_pb2.RequestStep(count=3))).step.simulation_loop == loop
        last = asyncio.create_task(one.ask(step=sc2api_pb2.RequestStep(count=3)))
        assert (await asyncio.wait_for(slow, 5)).step.simulation_loop == 8
        assert not last.done()  # it waits for loop 9, and the other one has not asked for more yet
        await two.ask(leave_game=sc2api_pb2.RequestLeaveGame())
        assert (await asyncio.wait_for(last, 5)).status == ENDED

    asyncio.run(talk())


def test_the_one_who_leaves_loses() -> None:
    async def talk() -> None:
        lobby = Lobby()
        one, two = Client(Session(lobby)), Client(Session(lobby))
        await one.ask(create_game=create_request(computer=False))
        await asyncio.gather(one.ask(join_game=join_request()), two.ask(join_game=join_request(1)))
        waiting = asyncio.create_task(one.ask(step=sc2api_pb2.RequestStep(count=4)))
        await asyncio.sleep(0)
        await two.ask(leave_game=sc2api_pb2.RequestLeaveGame())
        assert (await asyncio.wait_for(waiting, 5)).status == ENDED
        results = (await one.ask(observation=OBSERVE)).observation.player_result
        assert [r.result for r in results] == [1, 2]

    asyncio.run(talk())


def test_a_third_player_finds_no_seat() -> None:
    async def talk() -> None:
        lobby = Lobby()
        one, two = Client(Session(lobby)), Client(Session(lobby))
        await one.ask(create_game=create_request())
        await one.ask(join_game=join_request())
        refused = await two.ask(join_game=join_request())
        assert refused.join_game.error == sc2api_pb2.ResponseJoinGame.GameFull

    asyncio.run(talk())
