"""The bot on the simulation itself: no protocol, no burnysc2. For bulk experience."""
