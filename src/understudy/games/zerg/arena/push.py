"""`understudy ladder push`: uploads the bot's zip and data with the version that is on stage."""

from __future__ import annotations

import dataclasses
import hashlib
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from understudy.games.zerg.arena.client import ArenaClient
from understudy.games.zerg.arena.comparison import add_comparison, comparison_of
from understudy.games.zerg.arena.errors import ArenaError
from understudy.games.zerg.arena.notes import read_notes
from understudy.games.zerg.arena.pull import data_folder, pull
from understudy.models.gate import Gate
from understudy.models.state import read_model
from understudy.models.store import ModelStore
from understudy.rundir import RunDir

_PULLS = 3


def version_to_push(run: RunDir) -> tuple[int, Path]:
    """The version to push, and its file: the champion, or the newest version if no gate is in use."""
    store = ModelStore(run.model, run.ledger)
    state = Gate(run.ledger, store).look() if run.ledger.exists() else None
    if state is None or state.settings.mode == "off":
        if not run.model.exists():
            raise ArenaError(f"There is no model in {run.root}; train one first.")
        return read_model(run.model).version, run.model
    path = store.version_path(state.champion)
    return state.champion, path if path.exists() else run.model


def push(
    client: ArenaClient,
    run: RunDir,
    bot: int,
    build: Callable[[Path, Path], object],
    learned: tuple[str, ...],
    *,
    again: bool = False,
    compare: bool = True,
    say: Callable[[str], object] = print,
) -> bool:
    """Upload zip and data; False if the ladder already has this version. The caller holds the run's ladder lock.

    `build(run directory, target)` makes the zip. What the ladder learned since the last pull is merged first, and
    nothing is uploaded while it changes. With `compare`, a comparison of the gate continues there (comparison.py).
    """
    for _ in range(_PULLS):
        pull(client, run, bot, say=say)
        notes = read_notes(run.root)
        version, path = version_to_push(run)
        pair = comparison_of(run) if compare else None
        contest = 0 if pair is None else pair.contest
        if (version, contest) == (notes.pushed_version, notes.compared) and not again:
            say(
                f"The ladder has version {version} already; the gate has promoted no other version since. "
                "`understudy gate` shows the evidence; --again uploads it anyway."
            )
            return False
        with tempfile.TemporaryDirectory(prefix="understudy-push-", ignore_cleanup_errors=True) as folder:
            chosen = RunDir.at(folder)
            chosen.create()
            shutil.copyfile(path, chosen.model)
            for name in learned:
                if (run.root / name).exists():
                    shutil.copyfile(run.root / name, chosen.root / name)
            target = chosen.root / "bot.zip"
            build(chosen.root, target)
            content = target.read_bytes()
            if pair is None or not add_comparison(run, pair, chosen):
                pair = None
            data = data_folder(chosen, learned)
        now = client.bot(bot).get("bot_data_md5hash") or ""
        if now != notes.pulled_md5:
            say("A match has ended in the meantime; merging its game first ...")
            continue
        client.upload(bot, {"bot_zip": ("bot.zip", content), "bot_data": ("data.zip", data)})
        dataclasses.replace(
            notes,
            pushed_version=version,
            pushed_md5=hashlib.md5(content, usedforsecurity=False).hexdigest(),
            pulled_md5=hashlib.md5(data, usedforsecurity=False).hexdigest(),
            compared=contest,
        ).write(run.root)
        beside = "" if pair is None else f", and version {pair.candidate} is compared with it there"
        say(f"Version {version} is on the ladder{beside}: {len(content):,} bytes, and {len(data):,} bytes of data.")
        return True
    raise ArenaError("The bot's data changes faster than it can be merged. Push again between two matches.")
