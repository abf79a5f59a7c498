"""A relay between a bot and the game server, which records when the bot first connects and when it disconnects."""

from __future__ import annotations

import contextlib
import socket
import threading
import time


class Relay:
    """Listens on a free port and passes every connection on to another port of this machine."""

    def __init__(self, to_port: int) -> None:
        self._to_port = to_port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.connected_at: float | None = None
        self.left_at: float | None = None
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Accept no more connections."""
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):  # closed
            while True:
                bot, _ = self._listener.accept()
                self.connected_at = self.connected_at or time.monotonic()
                server = socket.create_connection(("127.0.0.1", self._to_port))
                for sides in ((bot, server), (server, bot)):
                    for side in sides:
                        side.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    threading.Thread(target=self._pass_on, args=sides, daemon=True).start()

    def _pass_on(self, source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                target.sendall(data)
        self.left_at = time.monotonic()
        for side in (source, target):
            with contextlib.suppress(OSError):
                side.shutdown(socket.SHUT_RDWR)
        source.close()  # the thread of the other direction closes the target
