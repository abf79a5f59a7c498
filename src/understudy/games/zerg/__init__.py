"""StarCraft II, played as Zerg."""
