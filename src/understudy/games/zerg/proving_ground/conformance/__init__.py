"""Checks of the proving ground against burnysc2 and against the game's rules, by groups."""
