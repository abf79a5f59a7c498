"""Shogi: rules, observation, search and play. Needs the `shogi` extra, which brings cshogi (GPL-3)."""
