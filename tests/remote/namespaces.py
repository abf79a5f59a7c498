"""Network namespaces: each machine of a test has a separate network and can reach only one address."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

BRIDGE, HOST, NETWORK = "understudy-br", "10.213.77.1", "10.213.77"


def available() -> bool:
    """Whether this process may make network namespaces."""
    return sys.platform == "linux" and os.geteuid() == 0 and shutil.which("ip") is not None and _ip("link", "show")


@contextmanager
def namespaces(names: Sequence[str]) -> Iterator[dict[str, list[str]]]:
    """For each name, the beginning of a command that runs in its own namespace; the server's address is HOST."""
    made = {name: f"understudy-{number}" for number, name in enumerate(names)}
    try:
        _must("link", "add", BRIDGE, "type", "bridge")
        _must("addr", "add", f"{HOST}/24", "dev", BRIDGE)
        _must("link", "set", BRIDGE, "up")
        for number, space in enumerate(made.values()):
            outer, inner = f"us-out{number}", f"us-in{number}"
            _must("netns", "add", space)
            _must("link", "add", outer, "type", "veth", "peer", "name", inner)
            _must("link", "set", outer, "master", BRIDGE, "up")
            _must("link", "set", inner, "netns", space)
            _must("-n", space, "addr", "add", f"{NETWORK}.{number + 10}/24", "dev", inner)
            _must("-n", space, "link", "set", inner, "up")
        yield {name: ["ip", "netns", "exec", space] for name, space in made.items()}
    finally:
        for space in made.values():
            _ip("netns", "del", space)
        _ip("link", "del", BRIDGE)


def _ip(*arguments: str) -> bool:
    return subprocess.run(["ip", *arguments], capture_output=True, check=False).returncode == 0


def _must(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], capture_output=True, check=True)
