"""The contestants of an arena by name: versions of runs, model files, and opponents that the game provides."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from understudy.check.evaluation import game_of
from understudy.errors import SettingsError
from understudy.flags import existing_run
from understudy.games.spec import find_game, resolve
from understudy.models.gate_report import gate_report
from understudy.models.state import read_model
from understudy.models.store import ModelStore
from understudy.parallel.arena import RANDOM, ArenaPlayer
from understudy.rundir import RunDir

_SHOWN = 6  # versions shown for a run that is named without a version


def contestants_of(names: Sequence[str], game: str) -> list[ArenaPlayer]:
    """The contestants with these names; SettingsError if a name is unknown or two contestants are the same."""
    found = [player for name in names for player in _named(name, game)]
    seen: dict[str, ArenaPlayer] = {}
    for player in found:
        if seen.setdefault(player.name, player) != player:
            raise SettingsError(f"Two contestants have the name {player.name!r}: rename one of the folders.")
    return list(seen.values())


def game_of_run(run: RunDir) -> str:
    """The game that a run was trained on."""
    return game_of(run, read_model(run.model))


def _named(name: str, game: str) -> list[ArenaPlayer]:
    folder, _, which = name.partition("@")
    spec = find_game(game)
    outside = spec.contestants
    if name == RANDOM or name in spec.rivals or (outside is not None and resolve(outside.known)(name)):
        return [ArenaPlayer(name, scripted=name)]
    if Path(folder).is_dir():
        return _of_run(existing_run(folder), which)
    if name.endswith(".npz") and Path(name).is_file():
        return [ArenaPlayer(Path(name).stem, (str(Path(name).absolute()),))]
    rivals = ", ".join([RANDOM, *spec.rivals, *([] if outside is None else [outside.names])])
    raise SettingsError(f"There is no contestant {name!r}: it is no run directory, no model file and none of {rivals}.")


def _of_run(run: RunDir, which: str) -> list[ArenaPlayer]:
    store = ModelStore(run.model, run.ledger)
    kept, name = store.kept_versions(), run.root.absolute().name
    if not kept:
        raise SettingsError(f"{run.root} has no version of a model yet.")

    def version(number: int) -> ArenaPlayer:
        if number not in kept:
            raise SettingsError(f"{run.root} does not keep version {number}; it keeps {kept[0]} to {kept[-1]}.")
        return ArenaPlayer(f"{name} v{number}", (str(store.version_path(number).absolute()),))

    if which == "stage":
        report = gate_report(run.ledger)
        return [version(kept[-1] if report is None else report.on_stage)]
    if which.isdecimal():
        return [version(int(which))]
    if vote := re.fullmatch(r"vote([1-9]\d*)", which):
        last = kept[-int(vote[1]) :]
        paths = tuple(str(store.version_path(number).absolute()) for number in last)
        return [ArenaPlayer(f"{name} vote of v{last[0]} to v{last[-1]}", paths)]
    if which:
        raise SettingsError(f"{run.root}@{which}: after @ comes a version, stage, or vote and a number of versions.")
    step = max((len(kept) - 1) / (_SHOWN - 1), 1)
    chosen = sorted({kept[round(place * step)] for place in range(_SHOWN) if round(place * step) < len(kept)})
    return [version(number) for number in chosen]
