"""What a game needs of the driver's machine: the modules in its folders, and the files of the run.

No other machine has these paths. Folders that it lacks are left out of the search for modules; the folder that a game
names (`GAME:FOLDER`, the versions of the run's model) is copied into a temporary one, through the object store.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import ray

from understudy.files.atomic import remove_if_there, write_atomically
from understudy.games.spec import argument_of

Files = Mapping[str, Any]
"""Name of a file → reference to its content in the object store."""


def module_folders() -> list[str]:
    """Where this process looks for modules, as absolute paths."""
    return [str(Path(folder or ".").absolute()) for folder in sys.path]


def find_modules_in(folders: Sequence[str]) -> None:
    """Look for modules where the driver does, as far as this machine has these folders."""
    sys.path += [folder for folder in folders if folder not in sys.path and Path(folder).is_dir()]


class SentFolder:
    """The driver's side: the files of the folder that a game names, each put into the object store once."""

    def __init__(self, game: str) -> None:
        folder = Path(argument_of(game))
        self._folder = folder if folder.is_absolute() and folder.is_dir() else None
        self._known: dict[tuple[str, int, int], Any] = {}

    def files(self) -> Files | None:
        """The files as they are now; None if the game names no folder."""
        if self._folder is None:
            return None
        found = {}
        for path in self._folder.glob("*.npz"):
            try:
                stat = path.stat()
                key = (path.name, stat.st_mtime_ns, stat.st_size)
                found[key] = self._known[key] if key in self._known else ray.put(path.read_bytes())
            except FileNotFoundError:  # pruned meanwhile
                continue
        self._known = found
        return {name: reference for (name, _, _), reference in found.items()}


class ReceivedFolder:
    """A worker's side: a temporary copy of that folder."""

    def __init__(self, game: str, files: Files | None) -> None:
        self.game = game
        """The game, with the copy in place of the folder."""
        self._folder: Path | None = None
        self._have: dict[str, Any] = {}
        if files is not None:
            self._temporary = tempfile.TemporaryDirectory(prefix="understudy-ray-", ignore_cleanup_errors=True)
            self._folder = Path(self._temporary.name)
            self.game = f"{game.partition(':')[0]}:{os.fspath(self._folder)}"
            self.update(files)

    def update(self, files: Files | None) -> None:
        """Make the copy like the folder is now."""
        if self._folder is None or files is None:
            return
        for name in self._have.keys() - files.keys():
            remove_if_there(self._folder / name)
        for name, reference in files.items():
            if self._have.get(name) != reference:
                _write(self._folder / name, ray.get(reference))
        self._have = dict(files)


def _write(path: Path, content: bytes) -> None:
    write_atomically(path, lambda stream: stream.write(content))
