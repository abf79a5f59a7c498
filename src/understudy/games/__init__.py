"""The games that Understudy ships with."""
