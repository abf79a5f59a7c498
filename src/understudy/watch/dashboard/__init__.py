"""The web dashboard: what is in the run directories, live in a browser."""
