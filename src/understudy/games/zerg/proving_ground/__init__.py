"""A stand-in for StarCraft II that speaks its API: unmodified burnysc2 bots play whole games on any machine.

`play` runs a burnysc2 `Bot` in this process and returns the result. docs/proving-ground.md says what is simulated and
what is not.
"""

from understudy.games.zerg.proving_ground.play import GameReport, play, play_async

__all__ = ["GameReport", "play", "play_async"]
