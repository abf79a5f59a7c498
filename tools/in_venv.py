"""Runs Python inside the project's own environment, which it makes or brings up to date first.

    python tools/in_venv.py [--with EXTRA,EXTRA] ARGUMENTS...

`make` uses it on Linux and macOS; on Windows it is called directly. The environment is `.venv`. It is changed only when
pyproject.toml, constraints.txt or the extras asked for have changed, so the second call starts at once.
`./understudy` and `run_with_training.py` use it too.
"""

from __future__ import annotations

import hashlib
import os
import signal
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
    try:
        prepare(extras)
    except KeyboardInterrupt:
        return _interrupted()
    return _run(arguments, ROOT) if arguments else 0


def run_for_user(arguments: list[str]) -> int:
    """Run Python with these arguments in the environment with all that a run needs, in the user's own folder."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        prepare(["run"])
    except KeyboardInterrupt:
        return _interrupted()
    return _run(arguments, Path.cwd())


def _run(arguments: list[str], folder: Path) -> int:
    """Run Python in this process' place, so that it hears every signal once; Windows can only start another process."""
    os.chdir(folder)
    if os.name == "posix":
        os.execv(PYTHON, [str(PYTHON), *arguments])
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the child hears it too
    return subprocess.call([str(PYTHON), *arguments])


def _interrupted() -> int:
    print("\nStopped. The next start completes the installation.", file=sys.stderr)
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
