"""Access control of the dashboard: which requests are answered, for pages and websockets.

Any web page can make a visitor's browser send requests to this machine. There are three protections: the Host header
must name this dashboard (a foreign name that resolves to this machine does not), the Origin header, if present, must be
the dashboard's own, and if a token is set, the visitor must have entered it.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import logging
import secrets
import urllib.parse
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from understudy.errors import SettingsError
from understudy.settings import DashboardSettings

logger = logging.getLogger(__name__)

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]

LEAST_TOKEN = 16
WRONG_TOKEN_SECONDS = 1.0
_MOST_FORM_BYTES = 4096
_SESSIONS = 1000
_LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")
# The browser itself blocks content from other sites. Vue needs unsafe-eval to compile its templates in the browser.
_POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; font-src 'self' data:; connect-src 'self'; frame-ancestors 'none'; form-action 'self'; "
    "base-uri 'self'; object-src 'none'"
)
_HEADERS = [
    (b"content-security-policy", _POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),  # with a stricter policy, the browser sends "null" as the login form's origin
]
_PAGE = """<!doctype html><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Understudy</title><style>:root{{color-scheme:light dark}}
body{{font:16px system-ui,sans-serif;max-width:24rem;margin:18vh auto;padding:0 1rem}}
input,button{{font:inherit;padding:.5rem .75rem;width:100%;box-sizing:border-box;margin-top:.75rem}}</style>
<h1>Understudy</h1><p>{message}</p>
<form method="post" action="/login"><input name="token" type="password" autofocus autocomplete="current-password"
 aria-label="token"><button>Open the dashboard</button></form>"""


def is_loopback(host: str) -> bool:
    """Whether this address can be reached only from this machine."""
    address = _address(host)
    return host == "localhost" if address is None else address.is_loopback


def check(settings: DashboardSettings) -> None:
    """Raise SettingsError if the dashboard may not listen on this address."""
    if settings.token and len(settings.token) < LEAST_TOKEN:
        raise SettingsError(f"dashboard.token has {len(settings.token)} characters; it needs at least {LEAST_TOKEN}.")
    if not settings.token and not is_loopback(settings.host):
        raise SettingsError(
            f"Other machines can reach {settings.host}, so the dashboard needs a token there: set the variable "
            f"UNDERSTUDY_DASHBOARD_TOKEN to a secret of at least {LEAST_TOKEN} characters, or listen on 127.0.0.1."
        )


class AccessControl:
    """An ASGI application that protects another one."""

    def __init__(self, app: App, settings: DashboardSettings, port: int) -> None:
        self._app = app
        self._token = settings.token
        self._cookie = f"understudy_{port}"  # browsers share cookies between the ports of a machine
        self._sessions: dict[str, None] = {}
        self._wrong = asyncio.Lock()  # wrong tokens are answered one at a time
        self._any_address = (address := _address(settings.host)) is not None and address.is_unspecified
        named = [name.strip().lower() for name in settings.names.split(",") if name.strip()]
        self._names = {settings.host.lower(), *named, *_LOOPBACK_NAMES}

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Refuse requests that are not allowed; pass on the others."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        if trouble := self._foreign(headers):
            await _refuse(scope, receive, send, 403, trouble)
        elif not self._token or self._shown(headers):
            await self._pass(scope, receive, _with_headers(send))
        elif scope["type"] == "http" and (scope["method"], scope["path"]) == ("POST", "/login"):
            await self._log_in(scope, receive, send)
        elif "authorization" in headers:
            await self._slow_down(scope)
            await _refuse(scope, receive, send, 401, "That is not the token.")
        elif scope["type"] == "http" and "text/html" in headers.get("accept", ""):
            await _answer(send, 401, _PAGE.format(message="This dashboard asks for its token."), "text/html")
        else:
            await _refuse(scope, receive, send, 401, "This dashboard asks for its token (Authorization: Bearer …).")

    async def _pass(self, scope: Message, receive: Receive, send: Send) -> None:
        try:
            await self._app(scope, receive, send)
        except RuntimeError as error:
            if str(error) != "No response returned.":  # Starlette's message for a browser that disconnected
                raise
            logger.debug("%s: the browser disconnected before it got an answer.", scope["path"])

    def _foreign(self, headers: dict[str, str]) -> str | None:
        """What is wrong with Host or Origin, in words; None if both are valid."""
        host = headers.get("host", "")
        name = _host_name(f"//{host}")
        by_address = self._any_address and name is not None and _address(name) is not None
        if name is None or not (name in self._names or by_address):
            return f"The dashboard is not known by the name {host[:80]!r}; add the name to dashboard.names."
        origin = headers.get("origin")
        if origin is not None and origin.lower() not in (f"http://{host.lower()}", f"https://{host.lower()}"):
            return f"A page from {origin[:80]!r} may not use the dashboard."
        return None

    def _shown(self, headers: dict[str, str]) -> bool:
        """Whether a request carries the token or a valid session."""
        scheme, _, given = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and self._is_token(given.strip()):
            return True
        cookies = (cookie.strip().partition("=") for cookie in headers.get("cookie", "").split(";"))
        return any(name == self._cookie and value in self._sessions for name, _, value in cookies)

    def _is_token(self, given: str) -> bool:
        return hmac.compare_digest(given.encode(), self._token.encode())

    async def _log_in(self, scope: Message, receive: Receive, send: Send) -> None:
        form = urllib.parse.parse_qs((await _body(receive)).decode("latin-1"))
        if not self._is_token(form.get("token", [""])[0]):
            await self._slow_down(scope)
            await _answer(send, 403, _PAGE.format(message="That is not the token."), "text/html")
            return
        session = secrets.token_urlsafe(32)
        self._sessions[session] = None
        while len(self._sessions) > _SESSIONS:
            del self._sessions[next(iter(self._sessions))]
        cookie = f"{self._cookie}={session}; Path=/; HttpOnly; SameSite=Strict"
        await _answer(send, 303, "", "text/plain", (b"location", b"/"), (b"set-cookie", cookie.encode()))

    async def _slow_down(self, scope: Message) -> None:
        """Delay answers to wrong tokens, one at a time, so that many connections guess no faster than one."""
        client = (scope.get("client") or ("somebody",))[0]
        logger.warning("%s gave a wrong token to the dashboard.", client)
        async with self._wrong:
            await asyncio.sleep(WRONG_TOKEN_SECONDS)


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def _host_name(url: str) -> str | None:
    """The host name in a URL's authority, without its port; None if it is not valid."""
    try:
        parts = urllib.parse.urlsplit(url)
        _ = parts.port  # raises ValueError if it is not a number
    except ValueError:
        return None
    return None if "@" in parts.netloc else parts.hostname


async def _body(receive: Receive) -> bytes:
    body: bytes = b""
    while len(body) <= _MOST_FORM_BYTES:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body"):
            return body
    return b""


async def _refuse(scope: Message, receive: Receive, send: Send, status: int, text: str) -> None:
    logger.warning("Refused %s %s: %s", scope.get("method", scope["type"]), scope["path"][:200], text)
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": 1008})
    else:
        await _answer(send, status, text + "\n", "text/plain")


async def _answer(send: Send, status: int, text: str, kind: str, *headers: tuple[bytes, bytes]) -> None:
    content = [(b"content-type", f"{kind}; charset=utf-8".encode()), (b"cache-control", b"no-store")]
    await send({"type": "http.response.start", "status": status, "headers": [*content, *_HEADERS, *headers]})
    await send({"type": "http.response.body", "body": text.encode()})


def _with_headers(send: Send) -> Send:
    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message.get("headers", []), *_HEADERS]
        await send(message)

    return send_with_headers
