"""A stand-in for StarCraft II that speaks its API: unmodified burnysc2 bots play whole games on any machine.

`play` runs a burnysc2 `Bot` in this process and returns the result. docs/proving-ground.md says what is simulated and
what is not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from understudy.games.zerg.proving_ground.in_process import GameReport, play, play_async

__all__ = ["GameReport", "play", "play_async"]


def __getattr__(name: str) -> Any:
    """Import burnysc2 only when a bot is played; the simulation does not need it."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from understudy.games.zerg.proving_ground import in_process  # noqa: PLC0415

    return getattr(in_process, name)
