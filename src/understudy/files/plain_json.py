"""JSON in files that anybody may have written."""

from __future__ import annotations

import json
from typing import Any


def parsed_json(text: str | bytes) -> Any:
    """What a JSON text holds; ValueError for anything that is none, however it is damaged."""
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
