"""The sidecar over HTTP: whose requests it answers, and which it refuses."""

from __future__ import annotations

import http.client
import json
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from understudy.errors import SettingsError
from understudy.rundir import RunDir
from understudy.serve.http import SidecarServer
from understudy.serve.sidecar import Sidecar

JSON = {"Content-Type": "application/json"}
TOKEN = "a secret of many letters"


@contextmanager
def serving(run: RunDir, token: str = "") -> Iterator[http.client.HTTPConnection]:
    sidecar = Sidecar(run.root)
    server = SidecarServer(sidecar, "127.0.0.1", 0, token)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    connection = http.client.HTTPConnection("127.0.0.1", server.server_address[1], timeout=30)
    try:
        yield connection
    finally:
        connection.close()
        server.shutdown()
        server.server_close()
        thread.join()
        sidecar.close()


def post(
    connection: http.client.HTTPConnection, name: str, message: Any, headers: dict[str, str] = JSON
) -> tuple[int, Any]:
    content = message if isinstance(message, bytes) else json.dumps(message).encode()
    connection.request("POST", f"/v1/{name}", content, headers)
    response = connection.getresponse()
    content = response.read()
    binary = response.headers["Content-Type"] == "application/octet-stream"
    return response.status, content if binary else json.loads(content)


def test_a_game_over_one_connection(run: RunDir) -> None:
    with serving(run) as web:
        assert post(web, "hello", {"features": 2, "actions": ["A", "B"]})[0] == 200
        game = post(web, "begin", {})[1]["game"]
        assert post(web, "act", {"game": game, "state": [1, 2]})[1]["label"] in ("A", "B")
        content = struct.pack("<3f2B", 0.5, 3, 4, 0, 1)
        headers = {"Content-Type": "application/octet-stream"}
        status, answer = post(web, f"act?game={game}", content, headers)
        assert status == 200
        assert struct.unpack("<iff", answer)[:2] == (1, 1.0)
        assert post(web, f"act?game={game}", content[:-1], headers)[0] == 400
        assert post(web, "end", {"game": game, "result": "Tie"})[1]["total_reward"] == 0.5
        web.request("GET", "/v1/status")
        assert json.loads(web.getresponse().read())["ended"] == 1
        web.request("GET", "/openapi.json")
        assert json.loads(web.getresponse().read())["info"]["version"] == "1"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({**JSON, "Origin": "https://example.org"}, 403),
        ({**JSON, "Host": "example.org"}, 403),
        ({"Content-Type": "text/plain"}, 415),
        ({**JSON, "Content-Length": "99999999"}, 413),
        (JSON, 200),
    ],
)
def test_requests_of_web_pages_and_of_another_kind_are_refused(
    run: RunDir, headers: dict[str, str], status: int
) -> None:
    with serving(run) as web:
        assert post(web, "hello", {"features": 2, "actions": 2}, headers)[0] == status


def test_with_a_token_only_who_knows_it_is_answered(run: RunDir) -> None:
    with serving(run, TOKEN) as web:
        hello = {"features": 2, "actions": 2}
        assert post(web, "hello", hello)[0] == 401
        assert post(web, "hello", hello, {**JSON, "Authorization": "Bearer wrong"})[0] == 401
        assert post(web, "hello", hello, {**JSON, "Authorization": f"Bearer {TOKEN}"})[0] == 200


def test_beyond_this_machine_a_token_is_needed(run: RunDir) -> None:
    for host, token in (("0.0.0.0", ""), ("::", ""), ("127.0.0.1", "short")):
        with pytest.raises(SettingsError):
            SidecarServer(Sidecar(run.root), host, 0, token)


def test_a_broken_request_costs_its_connection_only(run: RunDir) -> None:
    with serving(run) as web:
        port = web.port
        for content in (b"\x00\xff\r\n\r\n", b"POST /v1/act HTTP/1.1\r\nContent-Length: x\r\n\r\n", b"POST /v1/act"):
            with socket.create_connection(("127.0.0.1", port)) as raw:
                raw.sendall(content)
        assert post(web, "hello", {"features": 2, "actions": 2})[0] == 200
        assert post(web, "hello", b"{", JSON)[0] == 400
        assert post(web, "hello", b"[1]", JSON)[0] == 400
        assert post(web, "", {})[0] == 404
