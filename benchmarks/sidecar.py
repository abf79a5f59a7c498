"""A decision through the sidecar (`understudy serve`), over standard input and over HTTP, beside one in process."""

from __future__ import annotations

import http.client
import json
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from games import ACTIONS, STATE_DIM, STEPS
from measure import Row, run_alone, take_turns, timed, typical
from understudy import RLAgent

TITLE = "A decision through the sidecar (50 features, 8 actions)"
ROUNDS = 15
BATCH = 64

Ask = Callable[[str, dict[str, Any]], dict[str, Any]]
Turn = Callable[[], Sequence[float]]


def rows() -> list[Row]:
    rng = np.random.default_rng(0)
    states = [state.tolist() for state in rng.standard_normal((STEPS, STATE_DIM), np.float32)]
    with (
        tempfile.TemporaryDirectory() as folder,
        RLAgent(STATE_DIM, ACTIONS, run_dir=folder, seed=0) as agent,
        lines(folder) as (by_lines, by_bytes),
        web(folder) as (by_web, by_web_bytes),
    ):
        results = take_turns(
            {
                "in process": _in_process(agent, states),
                "stdio": _game(by_lines, states),
                "stdio, binary": _binary_game(by_lines, by_bytes, states),
                "HTTP": _game(by_web, states),
                "HTTP, binary": _binary_game(by_web, by_web_bytes, states),
                "stdio, 64 games at once": _batch(by_lines, states),
            },
            ROUNDS,
        )

    def row(what: str, share: float = 0.5, limit: float | None = None) -> Row:
        ours, theirs = (1e6 * typical(results[name], share) for name in (what, "in process"))
        return Row(f"{what} p{100 * share:.0f}", ours, "µs", f"in process p{100 * share:.0f}", theirs, limit)

    return [
        row("stdio", limit=150),
        row("stdio", 0.99),
        row("stdio, binary"),
        row("HTTP", limit=500),
        row("HTTP", 0.99),
        row("HTTP, binary"),
        row("stdio, 64 games at once"),
    ]


def _in_process(agent: RLAgent, states: Sequence[list[float]]) -> Turn:
    def turn() -> Sequence[float]:
        agent.begin_episode()
        seconds = timed(agent.select_action, states)
        agent.close()
        return seconds

    return turn


def _game(ask: Ask, states: Sequence[list[float]]) -> Turn:
    """The decisions of a game; its beginning and its end are not counted."""

    def turn() -> Sequence[float]:
        game = ask("begin", {})["game"]
        seconds = timed(lambda state: ask("act", {"game": game, "state": state}), states)
        ask("end", {"game": game})
        return seconds

    return turn


def _binary_game(ask: Ask, act: Callable[[str, bytes], object], states: Sequence[list[float]]) -> Turn:
    packed = [struct.pack(f"<{1 + STATE_DIM}f", 0.0, *state) for state in states]

    def turn() -> Sequence[float]:
        game = ask("begin", {})["game"]
        seconds = timed(lambda content: act(game, content), packed)
        ask("end", {"game": game})
        return seconds

    return turn


def _batch(ask: Ask, states: Sequence[list[float]]) -> Turn:
    """Seconds per decision of messages with a decision in each of many games."""

    def turn() -> Sequence[float]:
        games = [ask("begin", {})["game"] for _ in range(BATCH)]
        chunks = [states[at : at + BATCH] for at in range(0, len(states) - BATCH + 1, BATCH)]

        def act(chunk: Sequence[list[float]]) -> object:
            return ask("acts", {"acts": [{"game": g, "state": s} for g, s in zip(games, chunk, strict=True)]})

        seconds = [second / BATCH for second in timed(act, chunks)]
        for game in games:
            ask("end", {"game": game})
        return seconds

    return turn


@contextmanager
def lines(folder: str) -> Iterator[tuple[Ask, Callable[[str, bytes], object]]]:
    """A sidecar on standard input."""
    command = [sys.executable, "-m", "understudy", "serve", folder, "--stdio", "--no-learner"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        to, back = process.stdin, process.stdout

        def send(content: bytes) -> dict[str, Any]:
            to.write(content)
            to.flush()
            answer: dict[str, Any] = json.loads(back.readline())
            assert answer["ok"], answer
            return answer

        def ask(name: str, message: dict[str, Any]) -> dict[str, Any]:
            return send(json.dumps({"do": name, **message}).encode() + b"\n")

        def act(game: str, content: bytes) -> object:
            return send(f'{{"do":"act","game":"{game}","bytes":{len(content)}}}\n'.encode() + content)

        yield ask, act
        to.close()


@contextmanager
def web(folder: str) -> Iterator[tuple[Ask, Callable[[str, bytes], object]]]:
    """A sidecar behind HTTP."""
    command = [sys.executable, "-m", "understudy", "serve", folder, "--port", "0", "--no-learner"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        port = int(process.stdout.readline().split("127.0.0.1:")[1].split("/")[0])
        connection = http.client.HTTPConnection("127.0.0.1", port)

        def send(path: str, content: bytes, kind: str) -> bytes:
            connection.request("POST", path, content, {"Content-Type": kind})
            response = connection.getresponse()
            found = response.read()
            assert response.status == 200, found
            return found

        def ask(name: str, message: dict[str, Any]) -> dict[str, Any]:
            answer: dict[str, Any] = json.loads(send(f"/v1/{name}", json.dumps(message).encode(), "application/json"))
            return answer

        def act(game: str, content: bytes) -> object:
            return send(f"/v1/act?game={game}", content, "application/octet-stream")

        yield ask, act
        connection.close()
        process.terminate()


if __name__ == "__main__":
    run_alone(TITLE, rows)
