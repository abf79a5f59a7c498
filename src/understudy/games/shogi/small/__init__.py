"""Animal shogi (3×4) and minishogi (5×5)."""
