"""Self-play: many matches at once, in this process or in several."""
