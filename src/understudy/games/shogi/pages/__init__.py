"""The dashboard pages of shogi."""
