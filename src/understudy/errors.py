"""Every error Understudy raises on purpose.

UnderstudyError
├── SettingsError          a setting is unknown, of the wrong type, or out of range
├── RunDirError            the run directory cannot be used as it is (read-only, disk full, ledger damaged)
│   └── RunReplaced        its files are no longer those that were opened
├── EpisodeError           experience that cannot be learned from
├── GameFailed             the code of a game raised an error or returned something invalid
├── MatchesDamaged         saved matches of self-play that cannot be continued
├── ModelError
│   ├── ModelMissing       there is no model here yet
│   ├── ModelDamaged       a model file that cannot be read
│   ├── ModelMismatch      a model of another architecture or feature schema
│   ├── NonFiniteError     an update that would put NaN or infinity into the model
│   └── AlreadyLearned     an update from a game that another update has already used
├── RemoteError            a bucket or shared folder cannot be used as it is
│   └── RemoteUnavailable  it does not answer now; trying again later may help
└── LearnerError
    ├── LearnerBusy        another learner holds the run directory
    ├── LearnerFailed      the learner process did not start, or died
    └── WorkersFailed      self-play workers did not start, or keep dying

Each message says what was found, where, and what to do about it.
"""

import errno
from pathlib import Path


class UnderstudyError(Exception):
    """Base of all errors raised on purpose by this package."""


class SettingsError(UnderstudyError):
    """A setting is unknown, of the wrong type, or out of range."""


class RunDirError(UnderstudyError):
    """The run directory cannot be used as it is."""


class EpisodeError(UnderstudyError):
    """Experience that cannot be learned from; the message is the reason shown to people."""


class GameFailed(UnderstudyError):
    """The code of a game raised an error or returned something invalid; the message names the method and the place."""


class MatchesDamaged(UnderstudyError):
    """Saved matches of self-play that cannot be continued; the message says why."""


class ModelError(UnderstudyError):
    """Base of all errors about models."""


class ModelMissing(ModelError):
    """There is no model here yet."""


class ModelDamaged(ModelError):
    """A model file that cannot be read."""


class ModelMismatch(ModelError):
    """A model of another architecture or feature schema; the message says what differs."""


class NonFiniteError(ModelError):
    """An update that would put NaN or infinity into the model; the model is unchanged."""


class AlreadyLearned(ModelError):
    """An update from games that another update has already used; `ids` lists them."""

    def __init__(self, ids: set[str]) -> None:
        self.ids = ids
        super().__init__(f"{len(ids)} of these games were learned from already: {', '.join(sorted(ids)[:5])}.")


class RemoteError(UnderstudyError):
    """A bucket or shared folder cannot be used as it is."""


class RemoteUnavailable(RemoteError):
    """The bucket does not answer now; trying again later may help."""


class RunReplaced(RunDirError):
    """The files that a process opened are no longer the ones at the run's path."""


class LearnerError(UnderstudyError):
    """Base of all errors about a background learner."""


class LearnerBusy(LearnerError):
    """Another learner holds the run directory; the message says which."""

    exit_code = 3  # of a learner process that ends for this reason


class LearnerFailed(LearnerError):
    """The learner process did not start, or died."""


class WorkersFailed(LearnerError):
    """Self-play workers did not start, or keep dying; the message says which and how."""


def missing_library(error: ModuleNotFoundError) -> str | None:
    """The name of the library that is not installed; None when a module of our own is missing, which is a defect."""
    return None if error.name is None or error.name.partition(".")[0] == "understudy" else error.name


def explained(error: OSError) -> str:
    """The meaning of an operating system error for the command that met it, and what to do."""
    if error.errno == errno.ENOENT and error.filename is None and _nowhere():
        return "The current folder no longer exists. Change to another one, then repeat the command."
    sentence = _EXPLAINED.get(error.errno or 0)
    if sentence is None:
        return f"{error.filename}: {error.strerror}." if error.filename and error.strerror else str(error)
    return sentence.format(error.filename or "A file", error.strerror)


_QUOTA = "{} cannot be written: {}. Free some of this user's quota, then repeat the command."
_MODES = "{} cannot be used: {}. Allow this user to read and write there, or work on a copy of the run."
_DESCRIPTORS = "{} cannot be opened: {}. Allow more of them (`ulimit -n 1024`), then repeat the command."
_EXPLAINED = {
    errno.EROFS: "{} cannot be written: the disk is read-only. Allow writing there, or work on a copy of the run.",
    errno.EACCES: _MODES,
    errno.EPERM: _MODES,
    errno.ENOSPC: "{} cannot be written: the disk is full. Make room on it, then repeat the command.",
    errno.EFBIG: _QUOTA,
    getattr(errno, "EDQUOT", errno.EFBIG): _QUOTA,  # not on Windows
    errno.ENOTDIR: "{} cannot be used: a part of this path is a file. Choose another path.",
    errno.EISDIR: "{} is a folder. Name a file.",
    errno.ENAMETOOLONG: "The name {} is too long. Choose a shorter one.",
    errno.EMFILE: _DESCRIPTORS,
    errno.ENFILE: _DESCRIPTORS,
}


def _nowhere() -> bool:
    try:
        Path.cwd()
    except OSError:
        return True
    return False
