"""Registers the proving ground with Gymnasium without importing the simulation.

Gymnasium does not search for environments: import this module, then `gymnasium.make("understudy/ProvingGround-v0")`.
"""

from __future__ import annotations

import gymnasium

ID = "understudy/ProvingGround-v0"


def register() -> None:
    """Register the environment with `gymnasium.make`; further calls do nothing."""
    if ID not in gymnasium.registry:
        # No time limit wrapper: games end by themselves.
        gymnasium.register(ID, entry_point="understudy.games.zerg.direct.environment:ProvingGroundEnv")


register()
