"""Problems inside the files of a run: NaN in a model, damaged pages of the ledger, a learner that died.

These checks read whole files, so each file is read again only after a change, and the ledger only from time to time.
"""

from __future__ import annotations

import functools
import os
import platform
import sqlite3
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from understudy.errors import ModelDamaged, ModelMismatch, ModelMissing, NonFiniteError, RunDirError
from understudy.files.locks import FileLock
from understudy.models.staged_file import is_replaced
from understudy.models.state import read_model
from understudy.models.store import ModelStore
from understudy.run.status import is_alive
from understudy.rundir import RunDir
from understudy.watch.ledger_reading import open_ledger, stamp_of

LEDGER_SECONDS = 2.0
_LEDGER_SHARE = 50.0  # the ledger is checked again after this many times the duration of the check
_SILENT_SECONDS = 3.0  # a heartbeat comes every second


@dataclass(frozen=True, slots=True)
class Contents:
    """The problems found inside the files of a run."""

    newest_version: int | None = None
    """The newest version, which bots do not load while the gate keeps the champion on stage."""
    damaged_models: tuple[str, ...] = ()
    """A sentence for each model that cannot be read."""
    broken_models: tuple[str, ...] = ()
    """A sentence for each model that holds NaN or infinity."""
    replaced: bool = False
    """Whether somebody copied a model over the champion that the gate put on stage."""
    ledger_damage: str = ""


UNCHECKED = Contents()


@dataclass(frozen=True, slots=True)
class _Model:
    version: int | None = None
    damage: str = ""
    broken: str = ""


def check_contents(run: RunDir, ledger_seconds: float = LEDGER_SECONDS) -> Contents:
    """Check the models and the ledger of a run. A ledger that takes longer to check counts as sound."""
    store = ModelStore(run.model, run.ledger)
    newest = _looked_at(store.newest, stamp_of(store.newest))
    models = [newest, _looked_at(run.model, stamp_of(run.model))] if store.separate else [newest]
    return Contents(
        newest_version=newest.version,
        damaged_models=tuple(model.damage for model in models if model.damage),
        broken_models=tuple(dict.fromkeys(model.broken for model in models if model.broken)),
        replaced=store.separate and _replaced(run, stamp_of(run.model), _ledger_stamps(run.ledger)),
        ledger_damage=_ledger_damage(run.ledger, ledger_seconds),
    )


def learner_died(run: RunDir, status: dict[str, Any], now: float) -> bool:
    """Whether a learner of this machine died: its lock is free as soon as it dies.

    The lock is not tried while heartbeats come. A recent heartbeat may be the last one of a dead process.
    """
    heartbeat = status.get("heartbeat")
    if not is_alive(status) or not isinstance(heartbeat, int | float) or status.get("host") != platform.node():
        return False
    if abs(now - heartbeat) < _SILENT_SECONDS and not _is_gone(status.get("pid")):
        return False
    lock = FileLock(run.learner_lock, create=False)
    try:
        free = lock.acquire(blocking=False)
    except OSError:  # locks do not work here, or the disk is read-only
        return False
    lock.release()
    return free


def _is_gone(pid: object) -> bool:
    """Whether no process has this id; False on Windows, where the check would send a signal."""
    if sys.platform == "win32" or not isinstance(pid, int) or pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except OSError:  # the process belongs to another user
        return False
    return False


@functools.lru_cache(maxsize=32)
def _looked_at(path: Path, _when: object) -> _Model:
    try:
        model = read_model(path)
    except ModelMissing:
        return _Model()
    except ModelMismatch as error:  # of another version of Understudy
        return _Model(damage=f"{error}")
    except (ModelDamaged, OSError) as error:
        return _Model(damage=f"The model {path.name} cannot be read: {error}")
    try:
        model.require_finite()
    except NonFiniteError as error:
        return _Model(model.version, broken=f"Model version {model.version} is broken: {error}".partition(";")[0] + ".")
    return _Model(model.version)


@functools.lru_cache(maxsize=32)
def _replaced(run: RunDir, _when: object, _ledger_when: object) -> bool:
    if not run.ledger.exists():
        return False
    try:
        with open_ledger(run.ledger) as ledger:
            return is_replaced(run.model, ledger)
    except (RunDirError, OSError):
        return False


def _ledger_stamps(path: Path) -> tuple[object, object]:
    return stamp_of(path), stamp_of(path.with_name(f"{path.name}-wal"))


@dataclass(slots=True)
class _Checked:
    stamps: object
    damage: str
    again_at: float


_checked: dict[Path, _Checked] = {}


def _ledger_damage(path: Path, seconds: float) -> str:
    if not path.exists():
        return ""
    stamps, start = _ledger_stamps(path), time.monotonic()
    known = _checked.get(path)
    if known is not None and seconds <= LEDGER_SECONDS:
        waits = not known.damage and start < known.again_at
        if known.stamps == stamps or waits:
            return known.damage
    try:
        with open_ledger(path) as ledger:
            damage = next(iter(ledger.problems(seconds)), "")
    except RunDirError as error:  # a full disk or a lock is not damage; the snapshot reports it
        damage = "" if isinstance(error.__cause__, sqlite3.OperationalError) else f"{error.__cause__ or error}"
    end = time.monotonic()
    _checked[path] = _Checked(stamps, damage, end + _LEDGER_SHARE * (end - start))
    return damage
