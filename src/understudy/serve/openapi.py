"""The OpenAPI description of the sidecar, generated from the messages in protocol.py."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from understudy.serve.protocol import MESSAGES, PROTOCOL, Field


def description() -> dict[str, Any]:
    """The answer to `GET /openapi.json`."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Understudy sidecar",
            "version": str(PROTOCOL),
            "description": "Decisions for bots in any language. docs/other-languages.md has examples.",
        },
        "security": [{}, {"token": []}],
        "paths": {f"/v1/{name}": _path(name) for name in MESSAGES},
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": {"Error": _schema({"error": Field(("string",), "What is wrong.", True)})},
        },
    }


def _path(name: str) -> dict[str, Any]:
    message = MESSAGES[name]
    responses: dict[str, Any] = {
        "200": {"description": "The answer.", "content": _json(_schema(message.answer))},
        "default": {
            "description": "The message was refused.",
            "content": _json({"$ref": "#/components/schemas/Error"}),
        },
    }
    operation: dict[str, Any] = {"operationId": name, "summary": message.text, "responses": responses}
    if name == "status":
        return {"get": operation}
    content = _json(_schema(message.fields))
    if name == "act":
        operation["parameters"] = [_parameter("game", "string"), _parameter("seq", "integer")]
        binary = {"type": "string", "format": "binary"}
        text = "float32 reward, float32 features, and optionally a byte for each action; little endian."
        content["application/octet-stream"] = {"schema": binary | {"description": text}}
        text = "int32 action, float32 probability, float32 value; little endian."
        responses["200"]["content"]["application/octet-stream"] = {"schema": binary | {"description": text}}
    operation["requestBody"] = {"required": True, "content": content}
    return {"post": operation}


def _parameter(name: str, kind: str) -> dict[str, Any]:
    text = "For the binary form; a JSON message contains it as a field."
    return {"name": name, "in": "query", "description": text, "schema": {"type": kind}}


def _json(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}


def _schema(fields: Mapping[str, Field]) -> dict[str, Any]:
    properties = {
        name: {"type": field.types[0] if len(field.types) == 1 else list(field.types), "description": field.text}
        for name, field in fields.items()
    }
    required = [name for name, field in fields.items() if field.required]
    return {"type": "object", "properties": properties, **({"required": required} if required else {})}
