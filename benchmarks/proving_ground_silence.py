"""What a client that says nothing for a minute does to others: a real server, one silent client, one that plays.

    python benchmarks/proving_ground_silence.py [--silence 60]

First a client connects and falls silent while another one plays; then two bots share a game and one of them falls
silent. The exit code is 1 unless the silent one is disconnected in time and the other one goes on, or wins.
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
import time
from typing import Any

import aiohttp
from s2clientprotocol import sc2api_pb2

from understudy.games.zerg.proving_ground.doors import free_port, wait_for_port

PROGRAM = "understudy.games.zerg.proving_ground"
ENDED, VICTORY = 5, 1
ZERG: Any = 2
GRACE = 5.0  # seconds a busy machine may be late


async def ask(socket: aiohttp.ClientWebSocketResponse, **request: Any) -> sc2api_pb2.Response:
    """One request and its answer."""
    await socket.send_bytes(sc2api_pb2.Request(**request).SerializeToString())
    response: sc2api_pb2.Response = sc2api_pb2.Response.FromString(await socket.receive_bytes())
    return response


def joining() -> sc2api_pb2.RequestJoinGame:
    """A request to join as Zerg."""
    return sc2api_pb2.RequestJoinGame(race=ZERG, options=sc2api_pb2.InterfaceOptions(raw=True))


async def until_closed(socket: aiohttp.ClientWebSocketResponse) -> float:
    """Say nothing; the seconds until the server closes the connection."""
    began = time.monotonic()
    while (await socket.receive()).type not in (aiohttp.WSMsgType.CLOSE, aiohttp.WSMsgType.CLOSED):
        pass
    return time.monotonic() - began


async def beside_a_player(url: str, silence: float) -> bool:
    """One client is silent without a seat, the other one plays."""
    async with aiohttp.ClientSession() as session:
        silent, player = await session.ws_connect(url), await session.ws_connect(url, max_msg_size=0)
        await ask(silent, ping=sc2api_pb2.RequestPing())
        closed = asyncio.create_task(until_closed(silent))
        await ask(player, join_game=joining())
        steps = 0
        while not closed.done():
            await ask(player, step=sc2api_pb2.RequestStep(count=4))
            steps += 1
            await asyncio.sleep(0.05)
        loop = (await ask(player, step=sc2api_pb2.RequestStep(count=4))).step.simulation_loop
        seconds = closed.result()
        print(f"silent for {seconds:.1f} s, then disconnected; the other one has played {steps} steps, to loop {loop}")
        await player.close()
        return silence <= seconds <= silence + GRACE and loop == 4 * (steps + 1)


async def in_one_game(url: str, silence: float) -> bool:
    """Two bots share a game; one of them never steps."""
    async with aiohttp.ClientSession() as session:
        player, silent = await session.ws_connect(url, max_msg_size=0), await session.ws_connect(url, max_msg_size=0)
        await asyncio.gather(ask(player, join_game=joining()), ask(silent, join_game=joining()))
        began = time.monotonic()
        answer = await ask(player, step=sc2api_pb2.RequestStep(count=4))
        seconds = time.monotonic() - began
        seen = (await ask(player, observation=sc2api_pb2.RequestObservation())).observation
        results = {result.player_id: result.result for result in seen.player_result}
        won = answer.status == ENDED and VICTORY in results.values()
        print(f"the other bot was silent for {seconds:.1f} s; results: {results}")
        await player.close()
        return won and silence <= seconds <= silence + GRACE


def main() -> int:
    """Run both cases, each against its own server."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--silence", type=float, default=60.0)
    silence = parser.parse_args().silence
    passed = True
    for bots, case in ((1, beside_a_player), (2, in_one_game)):
        port = free_port()
        command = [sys.executable, "-m", PROGRAM, "serve", "--port", str(port), "--bots", str(bots)]
        server = subprocess.Popen([*command, "--silence", str(silence)])
        try:
            wait_for_port(port)
            passed = asyncio.run(case(f"ws://127.0.0.1:{port}/sc2api", silence)) and passed
            passed = server.wait(timeout=30) == 0 and passed
        finally:
            server.kill()
    print("as it should be" if passed else "NOT as it should be")
    return int(not passed)


if __name__ == "__main__":
    sys.exit(main())
