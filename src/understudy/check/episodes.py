"""`understudy validate FILE …`: can these files be learned from? docs/episode-format.md has the rules."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from understudy.errors import EpisodeError
from understudy.experience.episode import Episode, Expected, read_episode
from understudy.models.state import read_model
from understudy.rundir import RunDir
from understudy.settings import StorageSettings


def report(path: Path, expected: Expected | None = None) -> dict[str, Any]:
    """What a file contains, or `error`: why it cannot be learned from. `notes` say how to make it more useful."""
    try:
        episode = read_episode(path, StorageSettings(), expected)
    except (EpisodeError, OSError) as error:
        return {"file": str(path), "valid": False, "error": str(error)}
    legal, labels = episode.legal, episode.meta.actions
    return {
        "file": str(path),
        "valid": True,
        "id": episode.meta.id,
        "result": episode.meta.result,
        "decisions": len(episode),
        "features": episode.states.shape[1],
        "actions": legal.shape[1] if legal is not None else None if labels is None else len(labels),
        "reward": float(episode.rewards.sum()),
        "notes": list(_notes(episode)),
    }


def _notes(episode: Episode) -> Iterator[str]:
    if episode.log_probs is None:
        yield "no log_probs: the actions count as chosen by the current policy, which is wrong for an older one"
    if not episode.rewards.any():
        yield "all rewards are 0: nothing distinguishes this game from another"
    if episode.meta.id.startswith("sha-"):
        yield "no id in meta: the id is a hash of the file, so the same game saved differently counts twice"
    if episode.meta.result == "Unknown":
        yield "the result is Unknown: reports of won games leave it out"


def validate(paths: Sequence[Path], run_dir: Path | None = None, *, as_json: bool = False) -> int:
    """Print a report of each file, and of each game in a folder; return an exit code: 0 if all are valid."""
    expected = None if run_dir is None else _expected(run_dir)
    reports = [report(game, expected) for path in paths for game in _games(path)]
    if not reports:
        raise EpisodeError(f"There is no game (.npz) in {', '.join(map(str, paths))}.")
    for found in reports:
        print(json.dumps(found) if as_json else "\n".join(_lines(found)))
    bad = sum(not found["valid"] for found in reports)
    if not as_json:
        print(f"{len(reports) - bad} valid, {bad} invalid.")
    return 1 if bad else 0


def _games(path: Path) -> Sequence[Path]:
    return sorted(path.glob("*.npz")) if path.is_dir() else [path]


def _expected(run_dir: Path) -> Expected:
    spec = read_model(RunDir.at(run_dir).model).spec
    return Expected(spec.state_dim, len(spec.actions), spec.features_hash)


def _lines(found: Mapping[str, Any]) -> Iterator[str]:
    if not found["valid"]:
        yield f"INVALID  {found['file']}\n  {found['error']}"
        return
    actions = "actions unknown" if found["actions"] is None else f"{found['actions']} actions"
    shape = f"{found['decisions']} decisions, {found['features']} features, {actions}"
    yield f"valid    {found['file']}\n  {shape}, {found['result']}, reward {found['reward']:g}"
    yield from (f"  note: {note}" for note in found["notes"])
