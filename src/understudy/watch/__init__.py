"""Watching a run. Everything here only reads the run directory, so it works at any time and on any copy."""
