"""`python -m understudy.games.zerg.proving_ground ...`."""

from __future__ import annotations

import argparse
import sys

from understudy.errors import UnderstudyError
from understudy.games.zerg.proving_ground.commands import add_commands


def main(arguments: list[str] | None = None) -> int:
    """Run one command; unknown options of the game's executable are ignored, as the game does."""
    given = sys.argv[1:] if arguments is None else arguments
    parser = argparse.ArgumentParser(prog="proving-ground", description="StarCraft II's API on any machine.")
    add_commands(parser.add_subparsers(required=True, metavar="COMMAND"))
    if given[:1] == ["listen"]:
        parsed, _ = parser.parse_known_args(given)
    else:
        parsed = parser.parse_args(given)
    try:
        code: int = parsed.run(parsed)
    except UnderstudyError as error:
        print(error, file=sys.stderr)
        return 2
    return code


if __name__ == "__main__":
    sys.exit(main())
