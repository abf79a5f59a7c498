"""Rewards: the result, and shaped rewards that do not change which policy is best.

The shaped reward of a decision is γ Φ(after) − Φ(before) for a potential Φ of the state, with Φ = 0 once the game is
over. Such rewards keep the order of policies (Ng, Harada and Russell 1999).
"""

from __future__ import annotations

RESULT_REWARDS = {"Victory": 1.0, "Defeat": -1.0, "Tie": -0.5}  # a tie counts as half a defeat


def shaped_reward(before: float, after: float, gamma: float) -> float:
    """The reward for moving from one potential to another."""
    return gamma * after - before


def final_reward(result: str, before: float) -> float:
    """The reward of the last decision: the result minus the potential; an unknown result counts 0."""
    return RESULT_REWARDS.get(result, 0.0) - before
