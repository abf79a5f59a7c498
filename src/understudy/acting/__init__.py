"""Decisions: sampling an action from logits, reproducible random numbers, trials."""
