"""The bot directly on the simulation, without protocol and burnysc2: the fastest way to collect experience."""
