"""Tables of the game's numbers, written by tools/make_proving_ground_tables.py."""
