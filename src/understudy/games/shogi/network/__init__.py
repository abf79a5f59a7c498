"""The residual network for shogi, in torch."""
