"""StarCraft II: the Zerg bot, and the proving ground, a simulation that it plays on without the game."""
