"""Other Python processes that a test starts and kills."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def start(code: str, *arguments: str | Path) -> subprocess.Popen[str]:
    """Run code in another Python and return once it has printed its first line."""
    child = subprocess.Popen([sys.executable, "-c", code, *map(str, arguments)], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    return child


def kill(child: subprocess.Popen[str]) -> None:
    child.kill()
    child.communicate()
