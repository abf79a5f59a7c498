"""`python -m understudy.games.shogi`: the shogi commands by themselves."""

from __future__ import annotations

import os
import sys

from understudy.errors import UnderstudyError
from understudy.flags import Parser
from understudy.games.shogi.commands import add_commands
from understudy.machine.priority import ONE_BLAS_THREAD


def main(arguments: list[str] | None = None) -> int:
    """Run a command line and return its exit code."""
    for variable, threads in ONE_BLAS_THREAD.items():  # before NumPy is imported
        os.environ.setdefault(variable, threads)
    parser = Parser(prog="python -m understudy.games.shogi", description="Shogi.")
    add_commands(parser.add_subparsers(required=True, metavar="COMMAND"))
    options = parser.parse_args(arguments)
    try:
        return int(options.run(options))
    except (UnderstudyError, OSError) as error:
        print(f"understudy: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
