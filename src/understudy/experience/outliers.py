"""Messages about values far outside the range of their feature, for the log, health and doctor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

ADVICE = (
    "It was clipped to the edge of the usual range, so the model is not harmed. Check the bot's code that computes it; "
    "if the value is right, nothing needs to be done."
)
_SHOWN = 3


def summary(outliers: Sequence[Mapping[str, Any]]) -> str:
    """Which features had such values, and in which games; '' if there were none."""
    parts = [f"{found['feature']} was {found['value']:.6g}{_where(found['game'])}" for found in outliers[:_SHOWN]]
    more = len(outliers) - _SHOWN
    return "; ".join([*parts, f"{more} more features"] if more > 0 else parts)


def _where(game: str | None) -> str:
    return "" if game is None else f" in {game}"
