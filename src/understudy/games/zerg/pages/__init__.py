"""The dashboard pages of the Zerg bot."""
