"""Possible problems of a run's files: missing folders, games that bots left unfinished, a missing model.

Pure functions of a `RunSnapshot`, for `health_checks.py`. Doctor has the repairs, and checks the contents of files.
"""

from __future__ import annotations

from collections.abc import Iterator

from understudy.watch.formats import duration
from understudy.watch.snapshot import RunSnapshot
from understudy.watch.trouble import Trouble

QUIET_SECONDS = 600.0
SETTLED_SECONDS = 10.0  # a publication takes less time


def _missing_folders(seen: RunSnapshot) -> Iterator[Trouble]:
    """A copy of a run may lack empty folders; a run in use may not."""
    if seen.missing and (seen.learner.seen or seen.model.exists or seen.buffer.count):
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
            f"{seen.in_progress} unfinished game(s), without a decision for {duration(quiet)}: "
            "a bot died or is waiting.",
            f"`understudy learn {seen.run_dir}` salvages the games of bots that died when it runs.",
        )


def _ledger(seen: RunSnapshot) -> Iterator[Trouble]:
    if seen.inside.ledger_damage:
        yield Trouble(
            "ledger damaged",
            "red",
            f"The ledger of {seen.run_dir} is damaged: {seen.inside.ledger_damage.rstrip('.')}.",
            f"`understudy doctor --fix {seen.run_dir}` puts it aside and begins a new one with the model; the learner "
            "adds the archive.",
        )


def _publication(seen: RunSnapshot) -> Iterator[Trouble]:
    """What a killed process, or a person, left behind; a publication in progress is not reported."""
    version, recorded = seen.inside.newest_version, seen.ledger_version
    fix = f"`understudy doctor --fix {seen.run_dir}`"
    if not seen.model.exists and seen.model.kept:
        what = f"{seen.model.path} is missing, but versions of it are kept."
        yield Trouble("model missing", "amber", what, f"{fix} puts it back.")
        return
    for damage in seen.inside.damaged_models:
        yield Trouble("model damaged", "red", damage, f"{fix} puts back the newest version that can be read.")
    if seen.learner.alive or seen.problems or seen.inside.ledger_damage or seen.inside.damaged_models:
        return
    if seen.inside.replaced and not seen.inside.broken_models:
        yield Trouble(
            "model by hand",
            "green",
            f"Somebody copied a model over {seen.model.path}.",
            f"The next game or learner makes it the champion; so does {fix}.",
        )
    quiet = seen.at - (seen.last_version_at or 0.0) > SETTLED_SECONDS
    if version not in (None, recorded) and quiet:
        yield Trouble(
            "publication cut off",
            "amber",
            f"The model is version {version}, but the ledger's newest is {recorded}.",
            f"{fix} completes an interrupted publication, or registers a model that was put there by "
            "hand. Nothing is lost.",
        )


CHECKS = (_missing_folders, _unfinished_games, _ledger, _publication)
