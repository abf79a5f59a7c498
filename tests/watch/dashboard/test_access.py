from __future__ import annotations

import asyncio
from typing import Any

import pytest

from understudy.errors import SettingsError
from understudy.settings import DashboardSettings
from understudy.watch.dashboard import access
from understudy.watch.dashboard.access import AccessControl, Message, Receive, Send, check, is_loopback

TOKEN = "sixteen characters and more"


async def inside(scope: Message, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"inside"})


def ask(
    settings: DashboardSettings, method: str = "GET", path: str = "/", body: bytes = b"", **headers: str
) -> tuple[int, dict[str, str], str]:
    """What one request gets: status, headers, text."""
    return ask_again(AccessControl(inside, settings, 8642), method, path, body, **headers)


def ask_again(
    door: AccessControl, method: str = "GET", path: str = "/", body: bytes = b"", **headers: str
) -> tuple[int, dict[str, str], str]:
    sent: list[Message] = []
    given = {"host": "127.0.0.1:8642"} | headers
    scope: Message = {"type": "http", "method": method, "path": path, "client": ("10.0.0.9", 5)}
    scope["headers"] = [(name.encode(), value.encode()) for name, value in given.items()]

    async def receive() -> Message:
        return {"type": "http.request", "body": body}

    async def send(message: Message) -> None:
        sent.append(message)

    asyncio.run(door(scope, receive, send))
    start = sent[0]
    names = {name.decode(): value.decode() for name, value in start["headers"]}
    return start["status"], names, b"".join(part.get("body", b"") for part in sent[1:]).decode()


@pytest.mark.parametrize("host", ["127.0.0.1:8642", "localhost:8642", "LOCALHOST", "[::1]:8642", "127.0.0.1"])
def test_the_names_of_this_machine_pass(host: str) -> None:
    assert ask(DashboardSettings(), host=host)[::2] == (200, "inside")


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8642",
        "",
        "127.0.0.1.evil.example",
        "localhost@evil.example",
        "[::1",
        "192.168.0.7",
    ],
)
def test_a_foreign_host_is_refused(host: str) -> None:
    status, _, text = ask(DashboardSettings(), host=host)
    assert status == 403
    assert "is not known by the name" in text


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:9", "http://[", "file://"])
def test_a_foreign_origin_is_refused(origin: str) -> None:
    assert ask(DashboardSettings(), origin=origin)[0] == 403


def test_its_own_origin_passes_also_behind_a_proxy_that_encrypts() -> None:
    assert ask(DashboardSettings(), origin="http://127.0.0.1:8642")[0] == 200
    assert ask(DashboardSettings(names="bots.example"), host="bots.example", origin="https://bots.example")[0] == 200


def test_listening_on_every_address_answers_to_addresses_but_not_to_names() -> None:
    settings = DashboardSettings(host="0.0.0.0", token=TOKEN)
    bearer = f"Bearer {TOKEN}"
    assert ask(settings, host="192.168.0.7:8642", authorization=bearer)[0] == 200
    assert ask(settings, host="rebound.example:8642", authorization=bearer)[0] == 403


def test_without_the_token_a_person_is_asked_for_it_and_a_program_refused() -> None:
    settings = DashboardSettings(token=TOKEN)
    status, _, text = ask(settings, accept="text/html")
    assert status == 401
    assert 'name="token"' in text
    assert ask(settings, path="/metrics")[0] == 401
    assert ask(settings, path="/metrics", authorization=f"Bearer {TOKEN}")[0] == 200


def test_the_token_opens_a_session_that_a_forged_cookie_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access, "WRONG_TOKEN_SECONDS", 0.0)
    door = AccessControl(inside, DashboardSettings(token=TOKEN), 8642)
    assert ask_again(door, "POST", "/login", b"token=wrong")[0] == 403
    status, headers, _ = ask_again(door, "POST", "/login", b"token=" + TOKEN.replace(" ", "+").encode())
    assert status == 303
    cookie = headers["set-cookie"]
    assert TOKEN not in cookie
    assert {"HttpOnly", "SameSite=Strict"} <= set(cookie.split("; "))
    session = cookie.split(";")[0]
    assert ask_again(door, cookie=f"other=1; {session}")[0] == 200
    assert ask_again(door, cookie=session + "x")[0] == 401
    assert ask_again(door, cookie="understudy_8642=")[0] == 401


def test_a_websocket_without_the_token_is_closed_before_it_opens() -> None:
    sent: list[Message] = []
    scope: dict[str, Any] = {"type": "websocket", "path": "/", "headers": [(b"host", b"127.0.0.1:8642")]}

    async def receive() -> Message:
        return {"type": "websocket.connect"}

    async def send(message: Message) -> None:
        sent.append(message)

    asyncio.run(AccessControl(inside, DashboardSettings(token=TOKEN), 8642)(scope, receive, send))
    assert sent == [{"type": "websocket.close", "code": 1008}]


def test_the_browser_is_told_to_load_nothing_from_elsewhere() -> None:
    for settings in (DashboardSettings(), DashboardSettings(token=TOKEN)):
        _, headers, _ = ask(settings, accept="text/html")
        assert headers["content-security-policy"].startswith("default-src 'self';")
        policy = headers["content-security-policy"]
        assert {"frame-ancestors 'none'", "base-uri 'self'", "object-src 'none'"} <= set(policy.split("; "))


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.0.7", "::", "bots.example"])
def test_listening_where_others_can_reach_it_needs_a_token(host: str) -> None:
    with pytest.raises(SettingsError, match="UNDERSTUDY_DASHBOARD_TOKEN"):
        check(DashboardSettings(host=host))
    check(DashboardSettings(host=host, token=TOKEN))


def test_a_token_that_can_be_guessed_is_refused() -> None:
    with pytest.raises(SettingsError, match="at least 16"):
        check(DashboardSettings(token="short"))


def test_loopback_is_known_by_address_and_by_name() -> None:
    assert all(map(is_loopback, ("127.0.0.1", "127.8.9.10", "::1", "localhost")))
    assert not any(map(is_loopback, ("0.0.0.0", "10.0.0.1", "localhost.example")))


def test_wrong_tokens_of_programs_are_logged_and_answered_slowly_one_after_the_other(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    waited: list[float] = []
    together = most = 0

    async def sleep(seconds: float) -> None:
        nonlocal together, most
        together += 1
        most = max(most, together)
        waited.append(seconds)
        await real_sleep(0)
        together -= 1

    real_sleep = asyncio.sleep
    monkeypatch.setattr(asyncio, "sleep", sleep)
    door = AccessControl(inside, DashboardSettings(token=TOKEN), 8642)
    statuses: list[int] = []

    async def guess() -> None:
        headers = [(b"host", b"127.0.0.1:8642"), (b"authorization", b"Bearer guess")]
        scope: Message = {"type": "http", "method": "GET", "path": "/metrics", "client": ("10.0.0.9", 5)}

        async def receive() -> Message:
            return {"type": "http.request", "body": b""}

        async def send(message: Message) -> None:
            if "status" in message:
                statuses.append(message["status"])

        await door({**scope, "headers": headers}, receive, send)

    async def many() -> None:
        await asyncio.gather(*(guess() for _ in range(5)))

    asyncio.run(many())
    assert statuses == [401] * 5
    assert waited == [access.WRONG_TOKEN_SECONDS] * 5
    assert most == 1
    assert "10.0.0.9 gave a wrong token" in caplog.text
    assert TOKEN not in caplog.text
