"""Watching a run: everything here reads the run directory and invents nothing, so it works at any time, on any copy."""
