"""A real S3 server on this machine, in a separate process: moto."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

BUCKET = "understudy"
CREDENTIALS = {
    "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": "not-a-secret",
    "AWS_REGION": "us-east-1",
}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class S3Server:
    """A server process that has one empty bucket."""

    def __init__(self) -> None:
        self._port = free_port()
        self.address = f"http://127.0.0.1:{self._port}"
        self.objects_kept = 0
        self._start()

    def restart(self) -> None:
        """Kill the process and start another one with the same objects. moto keeps them in memory, so they are read
        before and written after: nobody else may use the server meanwhile. Their ETags are those of before."""
        import obstore  # noqa: PLC0415 - the extra `remote` is not needed to start a server

        login = {name.lower(): value for name, value in CREDENTIALS.items()}
        config: Any = {**login, "endpoint": self.address}
        store = obstore.store.S3Store(BUCKET, config=config, client_options={"allow_http": True})
        kept = [(meta["path"], obstore.get(store, meta["path"]).bytes()) for page in store.list() for meta in page]
        self.close()
        self._start()
        for key, data in kept:
            obstore.put(store, key, bytes(data), use_multipart=False)
        self.objects_kept = len(kept)

    def close(self) -> None:
        self._process.kill()
        self._process.wait()

    def _start(self) -> None:
        command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(self._port)]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            make_bucket(self.address)
        except BaseException:
            self.close()
            raise


@contextmanager
def s3_server() -> Iterator[str]:
    """The address of a server that has one empty bucket."""
    server = S3Server()
    try:
        yield server.address
    finally:
        server.close()


def make_bucket(address: str, seconds: float = 30.0) -> None:
    deadline = time.monotonic() + seconds
    while True:
        try:
            request = urllib.request.Request(f"{address}/{BUCKET}", method="PUT")
            urllib.request.urlopen(request, timeout=5).close()
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)
        else:
            return


def environment(address: str) -> dict[str, str]:
    return {**os.environ, **CREDENTIALS, "AWS_ENDPOINT_URL": address}
