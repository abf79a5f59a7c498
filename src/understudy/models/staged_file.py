"""The file that bots load while the gate keeps it apart from the learner's line, and whether somebody has replaced it.

The ledger has the hash of the file that the gate put there. During a change, both contents are valid, so that an
interrupted change is not mistaken for a person's.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from understudy.errors import ModelError
from understudy.files.atomic import move, write_content
from understudy.ledger.connection import Ledger
from understudy.models.carry_over import fitted
from understudy.models.state import ModelState, read_model

logger = logging.getLogger(__name__)

Stamp = tuple[int, int, int]


class StagedFile:
    """The file of the model on stage, as seen by one process."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._own: Stamp | None = None
        """The file's stamp when it was last known to be the gate's."""

    def looks_unchanged(self) -> bool:
        """Whether the file is the same as last time; takes one system call."""
        return self._own is not None and self._stamp() == self._own

    def is_own(self, ledger: Ledger) -> bool:
        """Whether the file is the one that the gate put there. True if the ledger of an older version does not know."""
        stamp = self._stamp()
        own = not is_replaced(self.path, ledger)
        if own:
            self._own = stamp
        return own

    @contextmanager
    def changing_to(self, ledger: Ledger, content: bytes) -> Iterator[None]:
        """Context manager: allow the file to be replaced by this content."""
        before = _content(self.path)
        ledger.record_staged([_digest(part) for part in (before, content) if part is not None])
        yield
        ledger.record_staged([_digest(content)])
        self._own = self._stamp()

    def put(self, ledger: Ledger, content: bytes) -> None:
        """Replace the file."""
        with self.changing_to(ledger, content):
            write_content(self.path, content)

    def usable(self, ledger: Ledger, head: ModelState | None, champion: Callable[[], bytes]) -> ModelState | None:
        """The model in the file, with the features and actions of the head.

        None if it is missing or unusable for bots; then it is renamed, and the champion replaces it.
        """
        try:
            found = read_model(self.path)
            if head is not None:
                found = fitted(found, head)
                found.spec.require(head.spec, f"in {self.path}")
            found.require_finite()
        except ModelError as error:
            logger.warning("%s%s Bots load the champion.", error, self._set_aside())
            self.put(ledger, champion())
            return None
        logger.warning("%s holds version %d, put there by hand.", self.path, found.version)
        return found

    def _set_aside(self) -> str:
        aside = self.path.with_name(f"{self.path.stem}.refused.npz")
        try:
            move(self.path, aside)
        except FileNotFoundError:
            return ""
        return f" It was renamed to {aside.name}."

    def _stamp(self) -> Stamp | None:
        try:
            stat = self.path.stat()
        except OSError:
            return None
        return stat.st_mtime_ns, stat.st_size, stat.st_ino


def is_replaced(path: Path, ledger: Ledger) -> bool:
    """Whether somebody replaced the file on stage, kept apart from the line. False if an old ledger does not know."""
    digests, content = ledger.staged(), _content(path)
    return bool(digests) and (content is None or _digest(content) not in digests)


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
