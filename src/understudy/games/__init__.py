"""Games that ship with Understudy."""
