"""Learning: returns, losses, optimizer, and the trainer that combines them."""
