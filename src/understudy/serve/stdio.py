"""The sidecar on standard input and output: one JSON object per line, with the answers in the same order.

`{"do": "act", "game": "…", "state": […]}` is answered by `{"ok": true, "action": 3, …}`, or `{"ok": false, "error":
"…", "status": 400}`. A line of `act` with `"bytes": N` instead of `state` is followed by N bytes, its binary form.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, BinaryIO

from understudy.errors import UnderstudyError
from understudy.serve.protocol import MOST_BYTES, RequestError, parse, unpack_act
from understudy.serve.sidecar import Sidecar


def serve_lines(sidecar: Sidecar, source: BinaryIO, target: BinaryIO) -> None:
    """Answer until the input ends, which means that the bot has ended."""
    while line := source.readline(MOST_BYTES):
        if not line.endswith(b"\n"):
            return  # an incomplete line: the bot was killed while writing, or the line is too long
        target.write(json.dumps(_answer(sidecar, line, source)).encode() + b"\n")
        target.flush()


def _answer(sidecar: Sidecar, line: bytes, source: BinaryIO) -> Mapping[str, Any]:
    try:
        request = parse(line)
        name = request.pop("do", None)
        if not isinstance(name, str):
            raise RequestError(400, "A message has a key 'do': hello, begin, act, acts, reward, end or status.")
        if name == "act" and "bytes" in request:
            request = _binary(sidecar, request, source)
        return {"ok": True, **sidecar.answer(name, request)}
    except UnderstudyError as error:
        return {"ok": False, "error": str(error), "status": getattr(error, "status", 500)}


def _binary(sidecar: Sidecar, request: Mapping[str, Any], source: BinaryIO) -> dict[str, Any]:
    count = request["bytes"]
    if not isinstance(count, int) or not 0 <= count <= MOST_BYTES:
        raise RequestError(400, "bytes is the number of bytes that follow.")
    content = source.read(count)
    return unpack_act(content, str(request.get("game", "")), *sidecar.sizes(), request.get("seq"))
