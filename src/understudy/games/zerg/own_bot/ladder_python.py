"""A Python environment like the ladder's: its versions of Python, burnysc2 and NumPy, without other dependencies."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

VERSION = "3.12"
LIBRARIES = ("burnysc2==7.2.1", "numpy==2.4.*")
ABSENT = ("numba", "torch", "gymnasium", "matplotlib", "pytest", "sc2reader")
"""Libraries that a bot must not need there. Torch is in the ladder's image, but its import takes seconds."""


@dataclass(frozen=True)
class LadderPython:
    """An interpreter, and a description of it."""

    program: str
    about: str


def ladder_python(cache: Path) -> LadderPython:
    """The interpreter for a check, made once in the cache folder; the current Python if it cannot be made."""
    folder = cache / f"ladder-python-{VERSION}"
    program = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not (folder / "complete").exists():
        base = _python_of_the_ladder() or [sys.executable]
        print(f"Making an environment like the ladder's in {folder} (once, about a minute) ...", flush=True)
        shutil.rmtree(folder, ignore_errors=True)
        try:
            _run([*base, "-m", "venv", str(folder)])
            _run([str(program), "-m", "pip", "install", "-q", *LIBRARIES])
        except (OSError, subprocess.CalledProcessError) as error:
            reason = getattr(error, "stderr", "") or str(error)
            shutil.rmtree(folder, ignore_errors=True)
            return LadderPython(
                sys.executable,
                f"this Python ({sys.version.split()[0]}), without {', '.join(ABSENT)}; the ladder's versions could not "
                f"be installed: {str(reason).strip().splitlines()[-1] if str(reason).strip() else 'no reason given'}",
            )
        (folder / "complete").touch()
    shown = _run(
        [str(program), "-c", "import sys, numpy; print(sys.version.split()[0], 'with NumPy', numpy.__version__)"]
    )
    return LadderPython(str(program), f"Python {shown.strip()} and {LIBRARIES[0]}")


def _python_of_the_ladder() -> list[str] | None:
    """The command for a Python of the ladder's version on this machine."""
    programs = [[f"python{VERSION}"], ["py", f"-{VERSION}"]]
    programs += [[str(path)] for path in sorted(Path.home().glob(f".pyenv/versions/{VERSION}*/bin/python"))]
    for command in programs:
        try:
            if _run([*command, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]).strip() == VERSION:
                return command
        except (OSError, subprocess.CalledProcessError):
            continue
    return None


def _run(command: list[str]) -> str:
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    return subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout
