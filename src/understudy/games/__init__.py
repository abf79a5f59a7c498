"""The games that ship with Understudy."""
