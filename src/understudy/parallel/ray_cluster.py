"""Joining a Ray cluster, calling its actors, and interpreting its errors."""

from __future__ import annotations

import contextlib
import re
import socket
from collections.abc import Iterator
from typing import Any

import ray

from understudy.errors import WorkersFailed

CONTROL = "control"
"""The concurrency group of actor methods that answer during play."""
_COLOURS = re.compile(r"\x1b\[\d*m")
_ANSWER_SECONDS = 5.0
_TOKEN = "If its nodes authenticate by a token, set RAY_AUTH_MODE=token and RAY_AUTH_TOKEN here too."


def join_cluster(address: str) -> bool:
    """Join the cluster or, without an address, start Ray here; False if this process has done that before."""
    if ray.is_initialized():
        return False
    if address:
        _require_answer(address)
    try:
        if address:
            ray.init(address=address, log_to_driver=False)
        else:
            ray.init(address="local", include_dashboard=False, log_to_driver=False)  # never one that happens to run
    except (RuntimeError, OSError, ValueError, ImportError, ray.exceptions.RayError) as error:
        if address:
            raise WorkersFailed(f"The Ray cluster at {address} cannot be joined: {error}. {_TOKEN}") from error
        raise WorkersFailed(f"Ray cannot be started: {error}.") from error
    return True


def _require_answer(address: str) -> None:
    """Fail early; Ray itself would retry for more than a minute. Other addresses than HOST:PORT are left to Ray."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not (host and port.isdecimal()):
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), _ANSWER_SECONDS).close()
    except (OSError, OverflowError) as error:
        why = getattr(error, "strerror", None) or error
        raise WorkersFailed(
            f"No Ray cluster answers at {address}: {why}. Is `ray start --head` running there?"
        ) from error


def kill(actor: Any) -> None:
    """End an actor, if it still exists."""
    with contextlib.suppress(ray.exceptions.RayError, ValueError):
        ray.kill(actor)


def reason(error: Exception) -> str:
    """The line that explains an error: the last one, after a traceback; for a lack of memory, the first one."""
    lines = [line.strip() for line in _COLOURS.sub("", str(error)).splitlines() if line.strip()]
    line = 0 if isinstance(error, ray.exceptions.OutOfMemoryError) else -1
    return lines[line][:200] if lines else "no reason given"


def cause(error: Exception) -> str:
    """A short cause for the statistics. An exception in the game is a RayTaskError; so is a lost argument."""
    if isinstance(error, ray.exceptions.RayTaskError):
        if not isinstance(error.cause, ray.exceptions.RayError):
            return "exception in the game"
        error = error.cause
    return type(error).__name__.removesuffix("Error")


@contextlib.contextmanager
def ray_errors() -> Iterator[None]:
    """Errors of Ray itself, not of one worker, end the pool."""
    try:
        yield
    except (ray.exceptions.RayError, ConnectionError) as error:
        raise WorkersFailed(f"Ray failed: {reason(error)}.") from error
