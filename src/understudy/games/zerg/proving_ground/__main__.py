"""`python -m understudy.games.zerg.proving_ground ...`."""

from __future__ import annotations

import sys

from understudy.errors import UnderstudyError
from understudy.flags import Parser
from understudy.games.zerg.proving_ground.commands import add_commands


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit code."""
    parser = Parser(prog="understudy proving-ground", description="StarCraft II's API without StarCraft II.")
    add_commands(parser.add_subparsers(required=True, metavar="COMMAND"))
    parsed = parser.parse_args(arguments)
    try:
        return int(parsed.run(parsed))
    except (UnderstudyError, OSError) as error:
        print(f"understudy: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
