"""A stand-in for AI Arena: the parts of its REST API that a bot's author uses, with faults on demand."""

from __future__ import annotations

import email.parser
import email.policy
import hashlib
import io
import json
import threading
import time
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from understudy.agent import RLAgent

TOKEN = "a-token-of-the-tests"
BOT = 7


class Arena(ThreadingHTTPServer):
    """One bot, its data, its matches. `faults` are what the next requests meet: a status, or "cut"."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.data = b""
        self.zip = b""
        self.uploads = 0
        self.matches: list[tuple[str, str | None]] = []  # opponent, result of our bot
        self.faults: list[int | str | None] = []
        self.requests: list[str] = []
        self.frozen = False
        self.page = 2
        self.delay = 0.0  # seconds before each answer

    def parts(self) -> list[dict[str, Any]]:
        return [
            {
                "id": 100 + n,
                "match": 1000 + n,
                "bot": BOT,
                "participant_number": 1,
                "result": result,
                "result_cause": "x",
            }
            for n, (_, result) in enumerate(self.matches)
        ]


class _Handler(BaseHTTPRequestHandler):
    server: Arena
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        self._answer(b"")

    def do_PATCH(self) -> None:
        self._answer(self.rfile.read(int(self.headers["Content-Length"])))

    def _answer(self, body: bytes) -> None:  # noqa: PLR0911
        arena, address = self.server, urlsplit(self.path)
        time.sleep(arena.delay)
        arena.requests.append(f"{self.command} {self.path}")
        fault = arena.faults.pop(0) if arena.faults else None
        if isinstance(fault, int):
            return self._send(fault, {"detail": "a fault"})
        if self.headers.get("Authorization") != f"Token {TOKEN}":
            return self._send(401, {"detail": "Invalid token."})
        query = {name: values[0] for name, values in parse_qs(address.query).items()}
        if address.path == f"/api/bots/{BOT}/" and self.command == "PATCH":
            return self._update(body)
        if address.path == "/api/bots/":
            return self._page([{"id": BOT, "name": "mine"}], query)
        if address.path == f"/api/bots/{BOT}/":
            md5 = hashlib.md5(arena.data).hexdigest() if arena.data else None
            data = f"{arena.url}/api/bots/{BOT}/data/" if arena.data else None
            return self._send(200, {"id": BOT, "name": "mine", "bot_data": data, "bot_data_md5hash": md5})
        if address.path == f"/api/bots/{BOT}/data/":
            return self._send_bytes(200, arena.data, cut=fault == "cut")
        if address.path == "/api/match-participations/":
            rows = sorted(arena.parts(), key=lambda part: -part["id"])
            return self._page(rows, query)
        if address.path == "/api/results/":
            return self._page(self._results(int(query["match"])), query)
        if address.path.startswith("/replays/"):
            return self._send_bytes(200, b"replay " + address.path.encode(), cut=fault == "cut")
        return self._send(404, {"detail": "Not found."})

    def _results(self, match: int) -> list[dict[str, Any]]:
        opponent, result = self.server.matches[match - 1000]
        replay = f"{self.server.url}/replays/{match}"
        about = {"id": match, "match": match, "bot1_name": "mine", "bot2_name": opponent, "replay_file": replay}
        return [] if result is None else [about]

    def _page(self, rows: list[dict[str, Any]], query: Mapping[str, str]) -> None:
        offset = int(query.get("offset", 0))
        shown = rows[offset : offset + self.server.page]
        after = offset + self.server.page
        rest = "&".join(f"{name}={value}" for name, value in query.items() if name != "offset")
        path = urlsplit(self.path).path
        following = f"{self.server.url}{path}?{rest}&offset={after}" if after < len(rows) else None
        self._send(200, {"count": len(rows), "next": following, "previous": None, "results": shown})

    def _update(self, body: bytes) -> None:
        if self.server.frozen:
            return self._send(400, {"bot_data": ["Cannot edit bot_data when it's frozen (probably in a match)"]})
        head = f"Content-Type: {self.headers['Content-Type']}\r\n\r\n".encode()
        message = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(head + body)
        for part in message.iter_parts():
            name = part.get_param("name", header="content-disposition")
            content = part.get_payload(decode=True)
            assert isinstance(content, bytes)
            zipfile.ZipFile(io.BytesIO(content)).testzip()
            setattr(self.server, {"bot_zip": "zip", "bot_data": "data"}[str(name)], content)
        self.server.uploads += 1
        return self._send(200, {"id": BOT})

    def _send(self, status: int, content: object) -> None:
        self._send_bytes(status, json.dumps(content).encode())

    def _send_bytes(self, status: int, content: bytes, *, cut: bool = False) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content[: len(content) // 2] if cut else content)
        if cut:
            self.close_connection = True


@contextmanager
def serving() -> Iterator[Arena]:
    arena = Arena()
    thread = threading.Thread(target=arena.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield arena
    finally:
        arena.shutdown()
        arena.server_close()
        thread.join()


STRATEGIES = ("ATTACK", "DEFEND")


def agent(run: Path, **options: Any) -> RLAgent:
    return RLAgent(2, STRATEGIES, run_dir=run, features=("gold", "army"), **options)


def ladder_data(folder: Path, games: int, *, seed: int = 0) -> bytes:
    """The data folder of a bot that has played on the ladder, as a zip; the folder may hold earlier games."""
    with agent(folder, online_training=True, try_out=False, seed=seed) as bot:
        for number in range(games):
            bot.begin_episode(opponent_id=f"rival {number % 3}", opponent_race="Zerg", opening="wall")
            for step in range(5):
                bot.select_action([step, number])
            bot.observe_reward(1.0 if number % 2 else -1.0)
            bot.end_episode("Victory" if number % 2 else "Defeat")
    return zipped(folder)


def zipped(folder: Path) -> bytes:
    """A data folder as the ladder hands it out."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                archive.write(path, path.relative_to(folder).as_posix())
    return made.getvalue()
