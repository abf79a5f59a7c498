"""The bot directly on the simulation, without protocol and burnysc2: the fast way to gain experience."""
