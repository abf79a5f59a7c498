"""What clients may send: the one place that decides which of their numbers and texts reach the game.

The compiled simulation indexes arrays with positions, so a number that is not finite must never reach it.
"""

from __future__ import annotations

import asyncio
import ipaddress
import math
import time
import urllib.parse
from collections.abc import AsyncIterator, Iterable
from typing import TypeVar

from understudy.games.zerg.proving_ground.map_parts import SIZE

LONGEST_TEXT = 255  # characters of a name or a line of chat, as in the game
LARGEST_VALUE = 1e6  # of a unit's life, shields or energy
_SLICE_SECONDS = 0.01  # time for one client's request before other clients are served
LAST_PORT = 65_535

Item = TypeVar("Item")


def text_of(text: str | bytes) -> str:
    """A client's text. protobuf returns bytes if it is not valid UTF-8, and forwarding them would fail."""
    text = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
    return text[:LONGEST_TEXT].encode("utf-8", "replace").decode("utf-8")


def point_on_map(x: float, y: float) -> tuple[float, float] | None:
    """The nearest point on the map; None if a coordinate is not finite."""
    if not (math.isfinite(x) and math.isfinite(y)):
        return None
    return min(max(x, 0.0), SIZE - 1e-3), min(max(y, 0.0), SIZE - 1e-3)


def value_of_unit(value: float) -> float | None:
    """A unit's life, shields or energy; None if it is not finite."""
    return min(max(value, 0.0), LARGEST_VALUE) if math.isfinite(value) else None


def is_port(port: int) -> bool:
    """Whether a server can listen on this port."""
    return 0 < port <= LAST_PORT


def may_connect(origin: str | None, host: str) -> bool:
    """Whether a request with these headers comes from a program and not from a web page of another site.

    A browser always sends the page's origin. Some programs send one too, naming this server. A foreign host name that
    resolves to this machine appears in both headers, so only IP addresses and localhost are accepted.
    """
    if origin is None:
        return True
    if origin.lower() not in (f"http://{host.lower()}", f"https://{host.lower()}", f"ws://{host.lower()}"):
        return False
    try:
        name = urllib.parse.urlsplit(origin).hostname or ""
        return name == "localhost" or bool(ipaddress.ip_address(name))
    except ValueError:
        return False


async def in_turns(items: Iterable[Item]) -> AsyncIterator[Item]:
    """The items; after each time slice, other clients are served first."""
    until = time.monotonic() + _SLICE_SECONDS
    for item in items:
        yield item
        if time.monotonic() >= until:
            await asyncio.sleep(0)
            until = time.monotonic() + _SLICE_SECONDS
