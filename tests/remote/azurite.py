"""Azurite, Microsoft's emulator of Azure Blob Storage, where it is on the PATH: npm install azurite."""

from __future__ import annotations

import base64
import hashlib
import hmac
import http.client
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from email.utils import formatdate

from remote.s3_server import free_port

CONTAINER = "understudy"
COMMAND = shutil.which("azurite-blob")
_ACCOUNT = "devstoreaccount1"
# The account and key that the documentation of Azurite gives for every emulator.
_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="


@contextmanager
def azurite() -> Iterator[dict[str, str]]:
    """The environment variables of an emulator that has one empty container."""
    assert COMMAND is not None
    port = free_port()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        where = ["--blobHost", "127.0.0.1", "--blobPort", str(port), "--location", folder]
        command = [COMMAND, "--silent", "--disableTelemetry", *where]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
            try:
                _make_container(port)
                endpoint = f"http://127.0.0.1:{port}/{_ACCOUNT}"
                yield {
                    "AZURE_STORAGE_ACCOUNT_NAME": _ACCOUNT,
                    "AZURE_STORAGE_ACCOUNT_KEY": _KEY,
                    "AZURE_STORAGE_ENDPOINT": endpoint,
                }
            finally:
                server.kill()


def _make_container(port: int, seconds: float = 30.0) -> None:
    headers = {"x-ms-date": formatdate(usegmt=True), "x-ms-version": "2021-12-02"}
    lines = "".join(f"{name}:{value}\n" for name, value in headers.items())
    signed = "PUT" + 12 * "\n" + lines + f"/{_ACCOUNT}/{_ACCOUNT}/{CONTAINER}\nrestype:container"
    signature = hmac.new(base64.b64decode(_KEY), signed.encode(), hashlib.sha256).digest()
    headers["Authorization"] = f"SharedKey {_ACCOUNT}:{base64.b64encode(signature).decode()}"
    deadline = time.monotonic() + seconds
    while True:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        try:
            connection.request("PUT", f"/{_ACCOUNT}/{CONTAINER}?restype=container", headers=headers)
            answer = connection.getresponse()
            assert answer.status == 201, answer.read()
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)
        else:
            return
        finally:
            connection.close()
