"""A client for the part of AI Arena's REST API that a bot's author needs; uses only the standard library.

Requests are repeated if the connection breaks or the server is busy; all of them may be sent twice without harm. The
token is sent only to the ladder's own address, not to targets of redirects.
"""

from __future__ import annotations

import http.client
import json
import secrets
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import urlencode, urljoin, urlsplit

from understudy.games.zerg.arena.errors import ArenaError
from understudy.games.zerg.arena.tokens import PAGE, VARIABLE

URL = "https://aiarena.net"
TRIES = 5
MOST_DOWNLOAD = 500_000_000
_PAGE = 100
_BUSY = (429, 500, 502, 503, 504)
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


class _SameHost(urllib.request.HTTPRedirectHandler):
    """Follows redirects, but sends the token to no other host."""

    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
        made = super().redirect_request(req, fp, code, msg, headers, newurl)
        if made is not None and urlsplit(newurl).netloc != urlsplit(req.full_url).netloc:
            made.remove_header("Authorization")
        return made


class ArenaClient:
    """A client with a token. The numbers of bots and matches are those on the ladder's pages."""

    def __init__(
        self, token: str, url: str = URL, *, timeout: float = 60.0, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        address = urlsplit(url)
        if address.scheme != "https" and address.hostname not in _LOOPBACK:
            raise ArenaError(f"{url} is not https; a token is not sent over an open connection.")
        self._url, self._token, self._timeout, self._sleep = url.rstrip("/"), token, timeout, sleep
        self._opener = urllib.request.build_opener(_SameHost())

    def check(self) -> None:
        """Raise ArenaError if the ladder refuses the token."""
        self._json("/api/bots/?limit=1")

    def bot(self, bot: int) -> dict[str, Any]:
        """A bot: `name`, `bot_data` (an address or None), `bot_data_md5hash` and others."""
        return self._json(f"/api/bots/{bot}/")

    def participations(self, bot: int, after: int = 0) -> Iterator[dict[str, Any]]:
        """The bot's entries in its matches, newest first, back to the participation `after` (exclusive)."""
        for found in self._listed("/api/match-participations/", {"bot": bot, "ordering": "-id"}):
            if found["id"] <= after:
                return
            yield found

    def result(self, match: int) -> dict[str, Any] | None:
        """The result of a match, with `bot1_name`, `bot2_name` and `replay_file`; None if there is none yet."""
        return next(self._listed("/api/results/", {"match": match}), None)

    def download(self, address: str, most: int = MOST_DOWNLOAD) -> bytes:
        """The content of a file at an address from an earlier answer."""
        return self._send(urllib.request.Request(urljoin(f"{self._url}/", address)), most)

    def upload(self, bot: int, files: Mapping[str, tuple[str, bytes]]) -> None:
        """Replace files of a bot: `bot_zip`, `bot_data`, each with a name and content."""
        boundary = secrets.token_hex(16)
        parts = [
            f'--{boundary}\r\nContent-Disposition: form-data; name="{field}"; filename="{name}"\r\n'
            f"Content-Type: application/zip\r\n\r\n".encode()
            + content
            + b"\r\n"
            for field, (name, content) in files.items()
        ]
        body = b"".join(parts) + f"--{boundary}--\r\n".encode()
        headers = {"Content-Type": f"multipart/form-data; boundary={boundary}"}
        address = f"{self._url}/api/bots/{bot}/"
        self._send(urllib.request.Request(address, body, headers, method="PATCH"), 1_000_000)

    def _listed(self, path: str, query: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        address: str | None = f"{path}?{urlencode({**query, 'limit': _PAGE})}"
        while address is not None:
            page = self._json(address)
            try:
                yield from page["results"]
                address = page["next"]
            except (KeyError, TypeError) as error:
                raise ArenaError(
                    f"The answer to {path} is not a list of results; the ladder's API has changed."
                ) from error

    def _json(self, address: str) -> dict[str, Any]:
        content = self._send(urllib.request.Request(urljoin(f"{self._url}/", address)), 20_000_000)
        try:
            found = json.loads(content)
        except ValueError as error:
            raise ArenaError(f"The answer to {address} is not JSON; is {self._url} the ladder?") from error
        if not isinstance(found, dict):
            raise ArenaError(f"The answer to {address} is not an object; the ladder's API has changed.")
        return found

    def _send(self, request: urllib.request.Request, most: int) -> bytes:
        if urlsplit(request.full_url).netloc == urlsplit(self._url).netloc:
            request.add_unredirected_header("Authorization", f"Token {self._token}")
        request.add_header("User-Agent", "understudy")
        problem = ""
        for attempt in range(TRIES):
            if attempt:
                self._sleep(min(2.0**attempt, 30.0))
            try:
                with self._opener.open(request, timeout=self._timeout) as answer:
                    content: bytes = answer.read(most + 1)
                    expected = answer.headers.get("Content-Length")
                if len(content) > most:
                    raise ArenaError(f"{request.full_url} has more than {most:,} bytes; it is not read.")
                if expected is not None and len(content) != int(expected):
                    raise http.client.IncompleteRead(content)
                return content
            except urllib.error.HTTPError as error:
                problem = _said(error)
                if error.code not in _BUSY:
                    raise ArenaError(_refusal(request, error.code, problem)) from None
            except (OSError, http.client.HTTPException) as error:
                problem = str(getattr(error, "reason", "") or error) or type(error).__name__
        raise ArenaError(f"{request.full_url} cannot be reached ({problem}); tried {TRIES} times. Try again later.")


def _said(error: urllib.error.HTTPError) -> str:
    """The reason that the server gives for its refusal."""
    try:
        text = error.read(2000).decode(errors="replace")
    except (OSError, http.client.HTTPException):
        text = ""
    return f"{error.code} {text.strip() or error.reason}"


def _refusal(request: urllib.request.Request, code: int, said: str) -> str:
    if code in (401, 403):
        where = f"AI Arena refuses the token for {request.full_url} ({said})."
        return f"{where} Copy it again from {PAGE}, then set {VARIABLE} or run `understudy ladder login`."
    if code == 404:
        return f"{request.full_url} does not exist, or may not be seen with this token. Check the number of the bot."
    return f"AI Arena refuses {request.get_method()} {request.full_url}: {said}"
