"""The messages of the sidecar, version 1: their fields, defined once for the checks and the OpenAPI description.

A message is a JSON object. Over HTTP its name is the path (`POST /v1/act`), over standard input the key `do`.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from understudy.errors import UnderstudyError

PROTOCOL = 1
MOST_BYTES = 16 << 20  # of a message


class RequestError(UnderstudyError):
    """A message that is refused; `status` is the HTTP status."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class Field(NamedTuple):
    """A field of a message: its JSON types, its meaning, and whether it is required."""

    types: tuple[str, ...]
    text: str
    required: bool = False


class Message(NamedTuple):
    """A message: its purpose, its fields, and the fields of the answer."""

    text: str
    fields: Mapping[str, Field]
    answer: Mapping[str, Field]


_GAME = Field(("string",), "The id of the game, as `begin` returned it.", True)
_SEQ = Field(
    ("integer",),
    "Number of this message in its game; `begin` has 0. A repeated number gets the same answer again and changes "
    "nothing, so that a client can retry after a broken connection.",
)
_ABOUT = Field(("object",), "Notes about the game: map, opponent_id, and any other.")
_REWARD = Field(("number",), "The reward since the last decision; it is added to that decision.")
_DECISION = {
    "action": Field(("integer",), "The index of the action to take.", True),
    "label": Field(("string",), "Its label.", True),
    "probability": Field(("number",), "The probability it was drawn with.", True),
    "value": Field(("number",), "The expected return of the rest of the game.", True),
}
_ACT = {
    "game": _GAME,
    "state": Field(("array",), "The features, in their order.", True),
    "legal": Field(("array",), "Which actions are allowed, true or false; all if it is missing."),
    "reward": _REWARD,
    "explore": Field(("boolean",), "false takes the most probable action; default true."),
    "seq": _SEQ,
}

MESSAGES: Mapping[str, Message] = {
    "hello": Message(
        "Declare features and actions. Creates the model if the run has none; otherwise they must fit it.",
        {
            "features": Field(("array", "integer"), "The names of the features, or their number."),
            "actions": Field(("array", "integer"), "The labels of the actions, or their number."),
        },
        {
            "protocol": Field(("integer",), "The version of this protocol.", True),
            "features": Field(("array", "integer"), "The names of the features, or their number.", True),
            "actions": Field(("array",), "The labels of the actions.", True),
            "model_version": Field(("integer",), "The version of the model.", True),
        },
    ),
    "begin": Message(
        "Begin a game. The newest model is loaded for it.",
        {
            "game": Field(
                ("string",), "Your own id, 1 to 64 letters, digits and '-'; without one, an id is generated."
            ),
            "about": _ABOUT,
            "seq": _SEQ,
        },
        {
            "game": Field(("string",), "The id of the game.", True),
            "model_version": Field(("integer",), "The version that plays.", True),
        },
    ),
    "act": Message("Decide in a state. The decision is on disk before the answer is sent.", _ACT, _DECISION),
    "acts": Message(
        "Decide in several games at once.",
        {"acts": Field(("array",), "Objects like the messages of `act`.", True)},
        {"results": Field(("array",), "An answer of `act` for each, or an object with `error`.", True)},
    ),
    "reward": Message(
        "Credit the last decision with a reward; several add up.",
        {"game": _GAME, "reward": Field(("number",), "The reward.", True), "seq": _SEQ},
        {},
    ),
    "end": Message(
        "End a game: it is saved for the learner. A game that has ended already gets the same answer again.",
        {
            "game": _GAME,
            "result": Field(("string",), "Victory, Defeat, Tie, or another word; default Unknown."),
            "reward": _REWARD,
            "final_state": Field(("array",), "The last state of a game that was cut off; omit it for a finished game."),
            "about": _ABOUT,
            "seq": _SEQ,
        },
        {
            "steps": Field(("integer",), "The number of decisions.", True),
            "result": Field(("string",), "The result.", True),
            "saved": Field(("boolean",), "Whether the game is saved; if not, the server keeps trying.", True),
            "total_reward": Field(("number",), "The sum of the rewards.", True),
        },
    ),
    "status": Message(
        "Report the state of the sidecar.",
        {},
        {
            "protocol": Field(("integer",), "The version of this protocol.", True),
            "games": Field(("integer",), "The number of running games.", True),
            "ended": Field(("integer",), "Games ended since the start.", True),
            "decisions": Field(("integer",), "Decisions since the start.", True),
            "learner": Field(("string",), "The state of the learner.", True),
        },
    ),
}

_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list, np.ndarray),
    "object": (dict,),
}


def parse(content: bytes) -> dict[str, Any]:
    """The JSON object in a message."""
    try:
        found = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise RequestError(400, f"The message is not JSON: {error}.") from None
    if not isinstance(found, dict):
        raise RequestError(400, "A message is a JSON object.")
    return found


def check(name: str, request: Mapping[str, Any]) -> None:
    """Refuse a message with fields that are unknown, missing or of a wrong type."""
    fields = MESSAGES[name].fields
    for key, value in request.items():
        field = fields.get(key)
        if field is None:
            raise RequestError(400, f"{name} has no field {key[:40]!r}; it has {', '.join(fields) or 'none'}.")
        if not any(_is(value, kind) for kind in field.types):
            raise RequestError(400, f"{key} of {name} must be of type {' or '.join(field.types)}.")
    for key, field in fields.items():
        if field.required and key not in request:
            raise RequestError(400, f"{name} needs the field {key}.")


def _is(value: object, kind: str) -> bool:
    return isinstance(value, _TYPES[kind]) and (kind == "boolean" or not isinstance(value, bool))


def unpack_act(content: bytes, game: str, features: int, actions: int, seq: int | None) -> dict[str, Any]:
    """The binary form of `act`, little endian: float32 reward, float32 features, optionally a byte per action."""
    plain = 4 * (1 + features)
    if len(content) not in (plain, plain + actions):
        raise RequestError(
            400, f"A binary act has {plain} bytes, or {plain + actions} with a byte per action, not {len(content)}."
        )
    numbers = np.frombuffer(content, "<f4", 1 + features)
    request: dict[str, Any] = {"game": game, "reward": float(numbers[0]), "state": numbers[1:]}
    if len(content) > plain:
        request["legal"] = (np.frombuffer(content, np.uint8, actions, plain) != 0).tolist()
    return request if seq is None else request | {"seq": seq}


def pack_decision(answer: Mapping[str, Any]) -> bytes:
    """The binary form of a decision: int32 action, float32 probability, float32 value."""
    return struct.pack("<iff", answer["action"], answer["probability"], answer["value"])
