"""What a check of a run finds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Light = Literal["grey", "green", "amber", "red"]


@dataclass(frozen=True, slots=True)
class Trouble:
    """One thing that is wrong, and what to do about it."""

    name: str
    light: Light
    what: str
    advice: str
