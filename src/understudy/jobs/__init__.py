"""Background jobs: the queue, the worker processes, and the dispatcher between them."""
