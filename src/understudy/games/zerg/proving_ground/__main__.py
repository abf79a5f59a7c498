"""`python -m understudy.games.zerg.proving_ground ...`."""

from __future__ import annotations

import sys

from understudy.flags import Parser, exit_code
from understudy.games.zerg.proving_ground.commands import add_commands


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit code."""
    parser = Parser(prog="understudy proving-ground", description="StarCraft II's API without StarCraft II.")
    add_commands(parser.add_subparsers(required=True, metavar="COMMAND"))
    options = parser.parse_args(arguments)
    return exit_code(lambda: options.run(options))


if __name__ == "__main__":
    sys.exit(main())
