"""Models on disk: atomic, versioned, with no lost update."""
