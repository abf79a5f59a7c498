"""The ledger: one SQLite file that records versions, learned games, history and waiting jobs."""
