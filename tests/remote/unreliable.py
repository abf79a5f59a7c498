"""A proxy in front of an S3 server that delays requests, fails some of them, and can be restarted.

Half of the failures lose the request, the other half lose the answer of a request that was carried out.
"""

from __future__ import annotations

import contextlib
import http.client
import random
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

from remote.s3_server import free_port


class UnreliableProxy:
    """Forwards to `address`. `restart` answers requests in progress, then refuses connections for a while."""

    def __init__(
        self, address: str, *, failing: float = 0.1, delay: float = 0.01, seed: int = 0, host: str = "127.0.0.1"
    ) -> None:
        self._host = host
        self._target = urlsplit(address).netloc
        self._failing, self._delay = failing, delay
        self._chance = random.Random(seed)
        self._port = free_port()
        self.requests = self.failures = self.restarts = 0
        self._start()

    @property
    def address(self) -> str:
        return f"http://{self._host}:{self._port}"

    def restart(self, seconds: float, meanwhile: Callable[[], None]) -> None:
        self.close()
        time.sleep(seconds)
        meanwhile()
        self.restarts += 1
        self._start()

    def close(self) -> None:
        """Stop, and wait for the requests in progress."""
        self._server.shutdown()
        self._server.server_close()

    def _start(self) -> None:
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            timeout = 5.0  # for a client that connects and asks nothing

            def forward(self) -> None:
                with contextlib.suppress(ConnectionError):  # a killed client
                    proxy._forward(self)

            do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = forward  # noqa: N815

            def log_message(self, *_: object) -> None:
                pass

        ThreadingHTTPServer.allow_reuse_address = True
        self._server = ThreadingHTTPServer((self._host, self._port), Handler)
        self._server.daemon_threads = False  # so that closing waits for them
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def _forward(self, handler: BaseHTTPRequestHandler) -> None:
        self.requests += 1
        body = handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
        time.sleep(self._chance.uniform(0, 2 * self._delay))
        fails = self._chance.random() < self._failing
        self.failures += fails
        if fails and self._chance.random() < 0.5:
            handler.send_error(503, "Slow Down")
            return
        connection = http.client.HTTPConnection(self._target, timeout=30)
        try:
            connection.request(handler.command, handler.path, body, dict(handler.headers.items()))
            answer = connection.getresponse()
            content = answer.read()
        except OSError:
            handler.close_connection = True
            return
        finally:
            connection.close()
        if fails:  # the answer is lost
            handler.close_connection = True
            return
        handler.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ("connection", "transfer-encoding", "content-length", "date", "server"):
                handler.send_header(name, value)
        length = answer.getheader("Content-Length") if handler.command == "HEAD" else str(len(content))
        handler.send_header("Content-Length", length or "0")
        handler.end_headers()
        if handler.command != "HEAD":
            handler.wfile.write(content)
