"""Joining a Ray cluster, calling its actors, and what its errors mean."""

from __future__ import annotations

import contextlib
import re
import socket
from collections.abc import Iterator
from typing import Any

import ray

from understudy.errors import WorkersFailed

CONTROL = "control"
"""The concurrency group of an actor that answers while it plays."""
_COLOURS = re.compile(r"\x1b\[\d*m")
_ANSWER_SECONDS = 5.0
_TOKEN = "If its nodes authenticate by a token, set RAY_AUTH_MODE=token and RAY_AUTH_TOKEN here too."


def join_cluster(address: str) -> bool:
    """Join the cluster, or start Ray here without an address; False if this process has done that before."""
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
    """Ray itself would try for more than a minute. What is no HOST:PORT is left to Ray."""
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
    """End an actor, if it is not gone."""
    with contextlib.suppress(ray.exceptions.RayError, ValueError):
        ray.kill(actor)


def reason(error: Exception) -> str:
    """The line that says what happened: the last one, after a traceback; of a lack of memory, the first one."""
    lines = [line.strip() for line in _COLOURS.sub("", str(error)).splitlines() if line.strip()]
    line = 0 if isinstance(error, ray.exceptions.OutOfMemoryError) else -1
    return lines[line][:200] if lines else "no reason given"


def cause(error: Exception) -> str:
    """A few words for the statistics. An exception of the game is a RayTaskError; so is an argument that was lost."""
    if isinstance(error, ray.exceptions.RayTaskError):
        if not isinstance(error.cause, ray.exceptions.RayError):
            return "exception in the game"
        error = error.cause
    return type(error).__name__.removesuffix("Error")


@contextlib.contextmanager
def ray_errors() -> Iterator[None]:
    """Trouble with Ray itself, not with one worker, ends the pool."""
    try:
        yield
    except (ray.exceptions.RayError, ConnectionError) as error:
        raise WorkersFailed(f"Ray failed: {reason(error)}.") from error
