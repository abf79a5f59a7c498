"""Makes the proving ground known to Gymnasium, without importing the simulation.

Gymnasium looks for no environments by itself: import this module, then `gymnasium.make("understudy/ProvingGround-v0")`.
"""

from __future__ import annotations

import gymnasium

ID = "understudy/ProvingGround-v0"


def register() -> None:
    """Make the environment known to `gymnasium.make`; calling it again does nothing."""
    if ID not in gymnasium.registry:
        # The games are long and decide by themselves when they end: no wrapper needs to count their steps.
        gymnasium.register(ID, entry_point="understudy.games.zerg.direct.environment:ProvingGroundEnv")


register()
