"""`python -m understudy.games.shogi`: only the shogi commands."""

from __future__ import annotations

import os
import sys

from understudy.flags import Parser, exit_code
from understudy.games.shogi.commands import add_commands
from understudy.machine.priority import ONE_BLAS_THREAD


def main(arguments: list[str] | None = None) -> int:
    """Run a command line and return its exit code."""
    for variable, threads in ONE_BLAS_THREAD.items():  # before NumPy is imported
        os.environ.setdefault(variable, threads)
    parser = Parser(prog="python -m understudy.games.shogi", description="Shogi.")
    add_commands(parser.add_subparsers(required=True, metavar="COMMAND"))
    options = parser.parse_args(arguments)
    return exit_code(lambda: options.run(options))


if __name__ == "__main__":
    sys.exit(main())
