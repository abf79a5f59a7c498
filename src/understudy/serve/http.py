"""The sidecar over HTTP: `POST /v1/MESSAGE` with a JSON body; `GET /v1/status` and `GET /openapi.json`.

Web pages in a browser on this machine can send requests too. They are refused: such requests carry an Origin header or
the name of another host.
"""

from __future__ import annotations

import hmac
import ipaddress
import json
import logging
import socket
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from understudy.errors import SettingsError, UnderstudyError
from understudy.serve.openapi import description
from understudy.serve.protocol import MOST_BYTES, RequestError, pack_decision, parse, unpack_act
from understudy.serve.sidecar import Sidecar

logger = logging.getLogger(__name__)

LEAST_TOKEN = 16
BINARY = "application/octet-stream"


def is_loopback(host: str) -> bool:
    """Whether this address can be reached only from this machine."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


class SidecarServer(ThreadingHTTPServer):
    """A thread for each connection. A token is required except on loopback addresses."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, sidecar: Sidecar, host: str, port: int, token: str = "") -> None:
        if not token and not is_loopback(host):
            raise SettingsError(
                f"On {host} other machines can reach the sidecar: set UNDERSTUDY_SERVE_TOKEN to a secret text."
            )
        if token and len(token) < LEAST_TOKEN:
            raise SettingsError(f"The token has {len(token)} characters; at least {LEAST_TOKEN} are needed.")
        self.sidecar, self.token = sidecar, token
        if ":" in host:
            self.address_family = socket.AF_INET6
        super().__init__((host, port), _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A killed client is not an error; any other error is logged with its traceback."""
        if isinstance(sys.exception(), OSError):
            logger.debug("The connection of %s broke.", client_address)
        else:
            logger.exception("A request of %s failed.", client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: SidecarServer
    timeout = 3600

    def setup(self) -> None:
        self.request.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        super().setup()

    def do_POST(self) -> None:
        """Answer a message."""
        self._answer(self._posted)

    def do_GET(self) -> None:
        """Answer with the status, or the description of this interface."""
        self._answer(self._got)

    def _answer(self, work: Any) -> None:
        try:
            content = self._content()  # read it even if it is refused, because the connection continues after it
            self._require_permission()
            self._send(200, *work(content))
        except UnderstudyError as error:
            status = getattr(error, "status", 500)
            self._send(status, json.dumps({"error": str(error)}).encode())

    def _got(self, _content: bytes) -> tuple[bytes, str]:
        path = urlsplit(self.path).path
        if path == "/openapi.json":
            return json.dumps(description()).encode(), "application/json"
        if path != "/v1/status":
            raise RequestError(404, f"There is nothing at {path[:80]}.")
        return json.dumps(self.server.sidecar.answer("status", {})).encode(), "application/json"

    def _posted(self, content: bytes) -> tuple[bytes, str]:
        url, sidecar = urlsplit(self.path), self.server.sidecar
        version, _, name = url.path.removeprefix("/").partition("/")
        if version != "v1" or not name:
            raise RequestError(404, "Messages go to /v1/NAME.")
        kind = self.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        if kind == BINARY and name == "act":
            asked = parse_qs(url.query)
            seq = asked.get("seq", [""])[0]
            request = unpack_act(
                content, asked.get("game", [""])[0], *sidecar.sizes(), int(seq) if seq.isdecimal() else None
            )
            return pack_decision(sidecar.answer(name, request)), BINARY
        if kind != "application/json":
            raise RequestError(415, "A message has the Content-Type application/json.")
        return json.dumps(sidecar.answer(name, parse(content or b"{}"))).encode(), "application/json"

    def _content(self) -> bytes:
        length = self.headers.get("Content-Length", "0")
        if not length.isdecimal() or int(length) > MOST_BYTES or "Transfer-Encoding" in self.headers:
            self.close_connection = True
            raise RequestError(413, f"A message has a Content-Length of at most {MOST_BYTES:,} bytes.")
        content = self.rfile.read(int(length))
        if len(content) < int(length):
            self.close_connection = True
            raise RequestError(400, "The message ends too early.")
        return content

    def _require_permission(self) -> None:
        token = self.server.token
        if token:
            given = self.headers.get("Authorization", "")
            if not hmac.compare_digest(given.encode("utf-8", "replace"), f"Bearer {token}".encode()):
                raise RequestError(401, "The token is missing or wrong: Authorization: Bearer TOKEN.")
            return
        host = self.headers.get("Host", "").rpartition(":")[0] or self.headers.get("Host", "")
        if "Origin" in self.headers or not is_loopback(host):
            raise RequestError(403, "Requests from web pages are refused.")

    def _send(self, status: int, content: bytes, kind: str = "application/json") -> None:
        reason = self.responses[status][0] if status in self.responses else ""
        head = f"HTTP/1.1 {status} {reason}\r\nContent-Type: {kind}\r\nContent-Length: {len(content)}\r\n"
        if self.close_connection:
            head += "Connection: close\r\n"
        self.wfile.write(head.encode() + b"\r\n" + content)  # one packet

    def log_message(self, format: str, *arguments: Any) -> None:
        """Write to the log, not to standard error."""
        logger.debug(format, *arguments)
