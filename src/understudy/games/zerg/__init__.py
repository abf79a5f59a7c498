"""StarCraft II: the Zerg bot and the ground it is proved on."""
