"""The findings of a check of a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Light = Literal["grey", "green", "amber", "red"]


@dataclass(frozen=True, slots=True)
class Trouble:
    """A problem, and what to do about it."""

    name: str
    light: Light
    what: str
    advice: str
