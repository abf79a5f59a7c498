"""Learning: returns, losses, optimizer, and the trainer that puts them together."""
