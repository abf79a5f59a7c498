"""GNU Shogi as a USI engine: `python -m understudy.games.shogi.gnushogi_bridge PATH_OF_GNUSHOGI`.

It translates USI into the protocol of XShogi, which is all that GNU Shogi 1.4 speaks. How long it thinks it decides
itself: asked for one second a move it takes a few.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence

_MOVE = re.compile(r"\d+\. \.\.\. (\S+)")
_LOST = re.compile(r"resign|wins|mate", re.IGNORECASE)


class GnuShogi:
    """The program, told whole games from the start position."""

    def __init__(self, path: str, seconds: int = 1) -> None:
        self._process = subprocess.Popen(
            [path, "-X", str(seconds)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
            errors="replace",
            bufsize=1,
        )

    def answer(self, moves: Sequence[str]) -> str:
        """Its move after these, in USI; "resign" when it sees none."""
        assert self._process.stdout is not None
        self._tell("new", "force", *moves, "go")
        for line in self._process.stdout:
            if found := _MOVE.match(line):
                return found[1]
            if line.startswith("Illegal move"):
                raise ValueError(f"GNU Shogi does not take a move: {line.strip()}")
            if _LOST.search(line):
                break
        return "resign"

    def close(self) -> None:
        """End it."""
        try:
            self._tell("quit")
            self._process.wait(2)
        except (OSError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()

    def _tell(self, *lines: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write("".join(f"{line}\n" for line in lines))
        self._process.stdin.flush()


def main(path: str) -> int:
    """Serve until `quit` or the end of the input."""
    engine = GnuShogi(path)
    moves: list[str] = []
    try:
        for line in sys.stdin:
            words = line.split()
            match words:
                case ["usi"]:
                    print("id name GNU Shogi\nid author the GNU Shogi team\nusiok", flush=True)
                case ["isready"]:
                    print("readyok", flush=True)
                case ["position", "startpos", *rest]:
                    moves = rest[1:]
                case ["position", *_]:
                    print("GNU Shogi is told games from the start position only.", file=sys.stderr)
                    return 1
                case ["go", *_]:
                    print(f"bestmove {engine.answer(moves)}", flush=True)
                case ["quit"]:
                    break
    finally:
        engine.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
