"""Networks in NumPy, for play beside a game, each with a policy and a value head."""
