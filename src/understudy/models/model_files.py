"""The files of a run's models: the one that bots load, the newest version, and the kept versions.

While the gate keeps the learner's line off the stage, bots load the champion from `rl_agent_model.npz`, and the newest
version is `rl_agent_model.line.npz`, which exists only then.
"""

from __future__ import annotations

import logging
from pathlib import Path

from understudy.errors import ModelDamaged, ModelMissing, NonFiniteError
from understudy.models.state import ModelState, read_model

logger = logging.getLogger(__name__)

Signature = tuple[int, int, int]


class ModelFiles:
    """The models of one run, for readers. `store.py` writes them."""

    def __init__(self, model: Path) -> None:
        self.model = model
        """What bots load."""
        self.line = model.with_name(f"{model.stem}.line.npz")
        """The newest version, while it is kept off the stage."""
        self.folder = model.parent / "versions"

    @property
    def newest(self) -> Path:
        """The file of the newest version: what is trained further."""
        return self.line if self.line.exists() else self.model

    @property
    def separate(self) -> bool:
        """Whether what bots load is kept apart from the newest version."""
        return self.line.exists()

    def signature(self) -> Signature | None:
        """Something cheap to get that differs whenever another version has been published; None without a model."""
        for path in (self.line, self.model):
            try:
                stat = path.stat()
            except (FileNotFoundError, NotADirectoryError):
                continue
            return stat.st_mtime_ns, stat.st_size, stat.st_ino
        return None

    def load(self, *, playable: bool = False) -> ModelState:
        """Load the newest version; if its file is damaged, the newest one that can be read, saying so.

        With `playable`, a file with NaN or infinity counts as damaged: a bot cannot play with it.
        """
        read = _read_playable if playable else read_model
        try:
            return read(self.newest)
        except ModelDamaged as damage:
            for version in reversed(self.kept_versions()):
                try:
                    state = read(self.version_path(version))
                except (ModelDamaged, ModelMissing):
                    continue
                logger.warning("%s Version %d is used in its place.", damage, version)
                return state
            raise

    def load_version(self, version: int) -> ModelState:
        """Load one kept version."""
        try:
            return read_model(self.version_path(version))
        except ModelMissing:
            kept = self.kept_versions()
            span = f"{kept[0]} to {kept[-1]}" if kept else "none"
            raise ModelMissing(f"Version {version} is not kept in {self.folder} (kept: {span}).") from None

    def stored(self, version: int | None) -> tuple[Path, ModelState]:
        """The file of a kept version, or of what bots load (None), and what is in it."""
        if version is None:
            return self.model, read_model(self.model)
        return self.version_path(version), self.load_version(version)

    def version_path(self, version: int) -> Path:
        """Where a version is kept."""
        return self.folder / f"{version:06d}.npz"

    def kept_versions(self) -> list[int]:
        """The versions that can be rolled back to, oldest first."""
        if not self.folder.is_dir():
            return []
        return sorted(int(file.stem) for file in self.folder.glob("*.npz") if file.stem.isdecimal())


def _read_playable(path: Path) -> ModelState:
    state = read_model(path)
    try:
        state.require_finite()
    except NonFiniteError as error:
        raise ModelDamaged(f"{path} cannot be played: {error}".partition(";")[0] + ".") from None
    return state
