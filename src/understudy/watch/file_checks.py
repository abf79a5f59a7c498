"""What can be wrong with the files of a run: missing folders, games that bots left unfinished, a model that is missing.

Pure functions of a `RunSnapshot`, for `health_checks.py`. Doctor has the repairs, and looks into the files.
"""

from __future__ import annotations

from collections.abc import Iterator

from understudy.watch.formats import duration
from understudy.watch.snapshot import RunSnapshot
from understudy.watch.trouble import Trouble

QUIET_SECONDS = 600.0
SETTLED_SECONDS = 10.0  # a publication takes less


def _missing_folders(seen: RunSnapshot) -> Iterator[Trouble]:
    """A copy of a run may lack empty folders; a run that is used may not."""
    if seen.missing:
        used = seen.learner.alive or seen.in_progress
        yield Trouble(
            "missing folders",
            "amber" if used else "green",
            f"Folders of {seen.run_dir} are missing: {', '.join(seen.missing)}.",
            f"`understudy doctor --fix {seen.run_dir}` makes them again, and so does the next start of a bot or a "
            "learner.",
        )


def _unfinished_games(seen: RunSnapshot) -> Iterator[Trouble]:
    if not seen.in_progress or seen.last_move_at is None or seen.learner.alive:
        return
    quiet = seen.at - seen.last_move_at
    if quiet > QUIET_SECONDS:
        yield Trouble(
            "unfinished games",
            "green",
            f"{seen.in_progress} unfinished game(s), without a decision for {duration(quiet)}: a bot died or waits.",
            f"`understudy learn {seen.run_dir}` salvages the games of bots that died when it runs.",
        )


def _publication(seen: RunSnapshot) -> Iterator[Trouble]:
    """What a process that was killed left; one at work is about to finish it."""
    advice = f"`understudy doctor --fix {seen.run_dir}` repairs it without losing anything."
    version, recorded = seen.model.version, seen.ledger_version
    if not seen.model.exists and seen.model.kept:
        yield Trouble("model missing", "amber", f"{seen.model.path} is missing, but versions of it are kept.", advice)
    quiet = not seen.learner.alive and seen.at - (seen.last_version_at or 0.0) > SETTLED_SECONDS
    if version not in (None, recorded) and quiet and not seen.problems:
        what = f"The model is version {version}, but the ledger's newest is {recorded}."
        yield Trouble("publication cut off", "amber", what, advice)


CHECKS = (_missing_folders, _unfinished_games, _publication)
