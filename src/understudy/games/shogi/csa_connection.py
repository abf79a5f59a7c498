"""A connection to a CSA server: lines in and out, with limits, and an empty line now and then to keep it open."""

from __future__ import annotations

import socket
import time

from understudy.errors import UnderstudyError

KEEP_ALIVE = 40.0
"""Seconds of silence after which an empty line is sent; servers ask for at least 30."""
_CONNECT = 20.0
_SEND = 20.0
_LONGEST = 4096  # bytes of a line; a server sends far shorter ones


class ConnectionLost(UnderstudyError):
    """The server cannot be reached, or closed the connection."""


class CsaConnection:
    """Lines of text over TCP; a context manager."""

    def __init__(self, host: str, port: int, keep_alive: float = KEEP_ALIVE) -> None:
        try:
            self._socket = socket.create_connection((host, port), timeout=_CONNECT)
        except OSError as error:
            raise ConnectionLost(f"{host}:{port} cannot be reached: {error}") from error
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._keep_alive = keep_alive
        self._quiet_since = time.monotonic()
        self._bytes = b""

    def send(self, line: str) -> None:
        """Send a line."""
        try:
            self._socket.settimeout(_SEND)
            self._socket.sendall(line.encode() + b"\n")
        except OSError as error:
            raise ConnectionLost(f"The connection broke: {error}") from error
        self._quiet_since = time.monotonic()

    def read(self, patience: float) -> str | None:
        """The next line, without its end; None after `patience` seconds without one. Empty lines are skipped."""
        deadline = time.monotonic() + patience
        while True:
            while b"\n" in self._bytes:
                line, self._bytes = self._bytes.split(b"\n", 1)
                if text := line.decode("utf-8", errors="replace").strip():
                    return text[:_LONGEST]
            if len(self._bytes) > _LONGEST:
                self._bytes = b""  # the rest of an endless line is read as a separate line and ignored
            now = time.monotonic()
            if now >= deadline:
                return None
            if now - self._quiet_since >= self._keep_alive:
                self.send("")
            self._receive(min(deadline - now, max(self._quiet_since + self._keep_alive - now, 0.01)))

    def _receive(self, seconds: float) -> None:
        try:
            self._socket.settimeout(seconds)
            data = self._socket.recv(65536)
        except TimeoutError:
            return
        except OSError as error:
            raise ConnectionLost(f"The connection broke: {error}") from error
        if not data:
            raise ConnectionLost("The server closed the connection.")
        self._bytes += data
        self._quiet_since = time.monotonic()

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()

    def __enter__(self) -> CsaConnection:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
