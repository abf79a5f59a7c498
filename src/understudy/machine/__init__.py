"""The machine: measured load, container limits, process priority, and the log of the load."""
