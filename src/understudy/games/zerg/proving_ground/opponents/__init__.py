"""Built-in opponents: three races, several plans, ten difficulties."""

from understudy.games.zerg.proving_ground.opponents.player import ScriptedPlayer, make_opponent

__all__ = ["ScriptedPlayer", "make_opponent"]
