"""Files: atomic writes, locks between processes, and reading and writing `.npz`."""
