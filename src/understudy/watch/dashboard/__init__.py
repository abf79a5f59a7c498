"""The web dashboard: run directories live in a browser."""
