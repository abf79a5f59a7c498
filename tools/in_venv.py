"""Runs Python inside the project's own environment, which it makes or brings up to date first.

    python tools/in_venv.py [--with EXTRA,EXTRA] ARGUMENTS...

`make` uses it on Linux and macOS; on Windows it is called directly. The environment lies in `.venv`; it is touched only
when pyproject.toml, constraints.txt or the extras asked for have changed, so the second call starts at once.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENT = ROOT / ".venv"
PYTHON = ENVIRONMENT / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def main(arguments: list[str]) -> int:
    """Prepare the environment with the extras asked for and run the rest of the command line in it."""
    extras: list[str] = []
    if arguments[:1] == ["--with"]:
        extras = sorted(arguments[1].split(","))
        arguments = arguments[2:]
    prepare(extras)
    if not arguments:
        return 0
    try:
        return subprocess.call([str(PYTHON), *arguments], cwd=ROOT)
    except KeyboardInterrupt:  # the child got it too and says goodbye itself
        return 130


def prepare(extras: list[str]) -> None:
    """Create `.venv` if needed and install the project with these extras, unless that was done already."""
    if sys.version_info < (3, 11):  # noqa: UP036 - this runs in whatever Python there is
        sys.exit(f"Understudy needs Python 3.11 or newer; this is {sys.version.split()[0]}.")
    if not PYTHON.exists():
        print(f"Creating the environment in {ENVIRONMENT} ...", flush=True)
        venv.create(ENVIRONMENT, with_pip=True)
    stamp = ENVIRONMENT / f"installed-{'-'.join(extras) or 'core'}"
    wanted = hashlib.sha256(
        (ROOT / "pyproject.toml").read_bytes() + (ROOT / "constraints.txt").read_bytes()
    ).hexdigest()
    if stamp.exists() and stamp.read_text() == wanted:
        return
    target = f".[{','.join(extras)}]" if extras else "."
    print(f"Installing understudy{target[1:]} (about a minute the first time) ...", flush=True)
    code = subprocess.call(
        [
            str(PYTHON),
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "-c",
            "constraints.txt",
            "-e",
            target,
        ],
        cwd=ROOT,
    )
    if code:
        sys.exit(f"pip could not install understudy{target[1:]}; its message is above.")
    stamp.write_text(wanted)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
