"""A home folder for a user that has none, as in a container that runs under any number."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path


def have_a_home() -> None:
    """Set HOME to a private temporary folder if this user has no home: libraries look for one too."""
    try:
        Path.home()
    except RuntimeError:
        os.environ["USERPROFILE" if os.name == "nt" else "HOME"] = _private_folder()


def _private_folder() -> str:
    """The same one each time, so that compiled code is kept; a new one if somebody else made that one."""
    if os.name == "nt":
        return tempfile.mkdtemp()
    folder = Path(tempfile.gettempdir(), f"understudy-home-{os.getuid()}")
    folder.mkdir(0o700, exist_ok=True)
    found = folder.lstat()
    mine = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077
    return str(folder) if mine else tempfile.mkdtemp()
