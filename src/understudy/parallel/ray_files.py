"""What a worker needs from the driver's machine: modules in its folders, and the versions of the run's model.

Other machines do not have these paths. Missing folders are left out of the module path. The versions, against which a
league plays, are copied to a temporary folder, through the object store.
"""

from __future__ import annotations

import contextlib
import dataclasses
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import ray

from understudy.files.atomic import remove_if_there, write_atomically
from understudy.files.locks import FileLock
from understudy.games.spec import argument_of
from understudy.parallel.player import PlayerSpec

_PREFIX, _LOCK = "understudy-ray-", "worker.lock"

Files = Mapping[str, Any]
"""Name of a file → reference to its content in the object store."""


def module_folders() -> list[str]:
    """The module path of this process, as absolute paths."""
    return [str(Path(folder or ".").absolute()) for folder in sys.path]


def find_modules_in(folders: Sequence[str]) -> None:
    """Extend the module path to the driver's folders that exist on this machine."""
    sys.path += [folder for folder in folders if folder not in sys.path and Path(folder).is_dir()]


class SentFolder:
    """The driver's side: the files of the folder of versions, each put into the object store once."""

    def __init__(self, players: PlayerSpec) -> None:
        named = argument_of(players.game)  # for a game with its own league
        if not (Path(named).is_absolute() and Path(named).is_dir()):
            named = players.versions if players.league_share else ""
        self.folder = named
        """Empty if workers need none."""
        self._known: dict[tuple[str, int, int], Any] = {}

    def files(self) -> Files:
        """The present files."""
        found = {}
        for path in Path(self.folder).glob("*.npz") if self.folder else ():
            try:
                stat = path.stat()
                key = (path.name, stat.st_mtime_ns, stat.st_size)
                found[key] = self._known[key] if key in self._known else ray.put(path.read_bytes())
            except FileNotFoundError:  # pruned meanwhile
                continue
        self._known = found
        return {name: reference for (name, _, _), reference in found.items()}


class ReceivedFolder:
    """The worker's side: a temporary copy of that folder."""

    def __init__(self, players: PlayerSpec, folder: str, files: Files) -> None:
        self.players = players
        """The players' spec, with the copy instead of the folder."""
        self._have: dict[str, Any] = {}
        if folder:
            _remove_copies_of_killed_workers()
            self._temporary = tempfile.TemporaryDirectory(prefix=_PREFIX, ignore_cleanup_errors=True)
            self._lock = FileLock(Path(self._temporary.name) / _LOCK)
            self._lock.acquire()
            copy, game = self._temporary.name, players.game
            if argument_of(game) == folder:
                game = f"{game.partition(':')[0]}:{copy}"
            self.players = dataclasses.replace(players, game=game, versions=copy)
            self.update(files)

    def update(self, files: Files) -> None:
        """Update the copy to the present content of the folder."""
        for name in self._have.keys() - files.keys():
            remove_if_there(Path(self._temporary.name) / name)
        for name, reference in files.items():
            if self._have.get(name) != reference:
                _write(Path(self._temporary.name) / name, ray.get(reference))
        self._have = dict(files)


def _remove_copies_of_killed_workers() -> None:
    """Ray kills workers without time to clean up. A living worker holds the lock in its copy."""
    for path in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*/{_LOCK}"):
        lock = FileLock(path, create=False)
        with contextlib.suppress(OSError):  # another worker may be removing it too
            if lock.acquire(blocking=False):
                shutil.rmtree(path.parent, ignore_errors=True)
        lock.release()


def _write(path: Path, content: bytes) -> None:
    write_atomically(path, lambda stream: stream.write(content))
