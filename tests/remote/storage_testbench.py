"""Google Cloud Storage on this machine, where Google's emulator runs: github.com/googleapis/storage-testbench.

STORAGE_TESTBENCH is its HOST:PORT. It decides about generations and preconditions. It answers the JSON API;
obstore uses the XML API for most requests. A gateway translates the four requests that are needed.
"""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlsplit
from xml.sax.saxutils import escape

TESTBENCH = os.environ.get("STORAGE_TESTBENCH", "")
BUCKET = "understudy"
_ENTRY = "<Contents><Key>{}</Key><LastModified>{}</LastModified><ETag>{}</ETag><Size>{}</Size></Contents>"


@contextmanager
def google(folder: Path) -> Iterator[dict[str, str]]:
    """The environment variables of an emulator that has a bucket; the file of an account without a key is written."""
    _ask("POST", "/storage/v1/b?project=p", json.dumps({"name": BUCKET}).encode(), "application/json")
    account = {"disable_oauth": True, "client_email": "", "private_key": "", "private_key_id": ""}
    (folder / "account.json").write_text(json.dumps(account))
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Gateway)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        address = f"http://127.0.0.1:{server.server_port}"
        yield {"GOOGLE_SERVICE_ACCOUNT": str(folder / "account.json"), "GOOGLE_BASE_URL": address}
    finally:
        server.shutdown()
        server.server_close()


def _ask(method: str, path: str, body: bytes | None = None, kind: str = "") -> tuple[int, bytes]:
    with contextlib.closing(http.client.HTTPConnection(TESTBENCH, timeout=30)) as connection:
        connection.request(method, path, body, {"Content-Type": kind} if kind else {})
        answer = connection.getresponse()
        return answer.status, answer.read()


def _tags(item: dict[str, Any]) -> dict[str, str]:
    """As in the XML API, the ETag depends on the content."""
    return {"ETag": f'"{base64.b64decode(item["md5Hash"]).hex()}"', "x-goog-generation": item["generation"]}


class _Gateway(BaseHTTPRequestHandler):
    def do_PUT(self) -> None:
        bucket, key, _ = self._parts()
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        generation = self.headers.get("x-goog-if-generation-match")
        condition = "" if generation is None else f"&ifGenerationMatch={generation}"
        path = f"/upload/storage/v1/b/{bucket}/o?uploadType=media&name={key}{condition}"
        status, data = _ask("POST", path, body, "application/octet-stream")
        self._answer(status, b"", **(_tags(json.loads(data)) if status == 200 else {}))

    def do_GET(self) -> None:
        bucket, key, query = self._parts()
        path = f"/storage/v1/b/{bucket}/o"
        if not key:
            self._answer(200, _listing(path, query.get("prefix", ""), query.get("start-after", "")))
            return
        status, data = _ask("GET", f"{path}/{key}")
        if status == 200:
            item = json.loads(data)
            status, data = _ask("GET", f"{path}/{key}?alt=media&generation={item['generation']}")
            if status == 200:
                changed = format_datetime(datetime.fromisoformat(item["updated"]), usegmt=True)
                self._answer(200, data, **_tags(item), **{"Last-Modified": changed})
                return
            status = 503  # it was replaced meanwhile
        self._answer(status)

    def do_DELETE(self) -> None:
        bucket, key, _ = self._parts()
        status, _data = _ask("DELETE", f"/storage/v1/b/{bucket}/o/{key}")
        self._answer(204 if status == 200 else status)

    def log_message(self, *_: object) -> None:
        pass

    def _parts(self) -> tuple[str, str, dict[str, str]]:
        url = urlsplit(self.path)
        bucket, _, key = unquote(url.path).lstrip("/").partition("/")
        return bucket, quote(key, safe=""), dict(parse_qsl(url.query))

    def _answer(self, status: int, data: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def _listing(path: str, prefix: str, after: str) -> bytes:
    _, data = _ask("GET", f"{path}?prefix={quote(prefix, safe='')}&startOffset={quote(after, safe='')}")
    items = sorted(json.loads(data)["items"], key=lambda item: str(item["name"]))
    lines = [
        _ENTRY.format(escape(item["name"]), item["updated"], escape(_tags(item)["ETag"]), item["size"])
        for item in items
        if item["name"] > after
    ]
    return f"<ListBucketResult><Name>{BUCKET}</Name>{''.join(lines)}</ListBucketResult>".encode()
