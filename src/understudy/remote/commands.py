"""`understudy sync`, `understudy work`, `understudy machines`: runs on several machines that share a bucket."""

from __future__ import annotations

import argparse
import threading
import time
from collections.abc import Callable
from typing import Any

from understudy.errors import RemoteError
from understudy.flags import Parser, add_settings, count, flags, nearest
from understudy.machine.signals import on_end_signals
from understudy.rundir import DEFAULT_RUN_DIR, RunDir
from understudy.settings import load_settings

_WORK_DIR = "understudy_work"
_URL = "s3://BUCKET/PREFIX, gs://..., az://..., or a folder that all machines can reach"


def add_commands(commands: Any) -> None:
    """Add the commands."""
    sync = _command(commands, "sync", _sync, "exchange games and models with a bucket")
    sync.add_argument("run_dir", metavar="RUN_DIR", help=f"the run directory, for example {DEFAULT_RUN_DIR}")
    sync.add_argument("url", metavar="URL", help=_URL)
    sync.add_argument("--once", action="store_true", help="upload and download once, then exit")
    add_settings(sync, ("remote", "storage"))
    work = _command(commands, "work", _work, "play with the model of a bucket, and upload the games")
    work.add_argument("url", metavar="URL", help=_URL)
    work.add_argument("--game", help="the game to play; only the first machine of a bucket must name it")
    work.add_argument("--learn", action="store_true", help="also learn on this machine, from the games of all machines")
    work.add_argument("--games", type=count, metavar="N", help="stop after N games")
    work.add_argument("--run-dir", default=_WORK_DIR, metavar="RUN_DIR", help="the run directory")
    add_settings(work, ("remote", "storage"))
    machines = _command(commands, "machines", _machines, "list the machines of a bucket, or exclude one")
    machines.add_argument("url", metavar="URL", help=_URL)
    change = machines.add_mutually_exclusive_group()
    change.add_argument("--exclude", metavar="MACHINE", help="stop learning from games of this machine")
    change.add_argument("--include", metavar="MACHINE", help="learn from games of this machine again")
    machines.add_argument("--reason", default="", help="with --exclude: why; shown in the list")


def _command(commands: Any, name: str, run: Callable[[argparse.Namespace], int], text: str) -> Parser:
    command: Parser = commands.add_parser(name, help=text)
    command.set_defaults(run=run)
    return command


def _sync(options: argparse.Namespace) -> int:
    from understudy.remote.sync import Sync

    settings = load_settings(options.settings, flags=flags(options))
    stop = _stop_on_signals()
    with Sync(RunDir.at(options.run_dir), options.url, settings, stop=stop, once=options.once) as sync:
        print(f"Machine {sync.machine}. Synchronising {options.run_dir} with {sync.bucket.store}.", flush=True)
        if options.once:
            sync.all()
        else:
            sync.run()
        print(summary(sync.facts()))
    return 0


def _work(options: argparse.Namespace) -> int:
    from understudy.remote.work import work

    settings = load_settings(options.settings, flags=flags(options))
    print(f"Working for {options.url} in {options.run_dir}; Ctrl-C stops it.", flush=True)
    facts = work(
        RunDir.at(options.run_dir),
        options.url,
        settings,
        _stop_on_signals(),
        game=options.game,
        games=options.games,
        learn=options.learn,
    )
    if facts:
        print(summary(facts))
    return 0


def _stop_on_signals() -> threading.Event:
    stop = threading.Event()
    on_end_signals(stop.set)
    return stop


def summary(facts: dict[str, Any]) -> str:
    """A synchroniser's work so far, in one line."""
    per_game = "" if facts["requests_per_game"] is None else f", {facts['requests_per_game']:g} per game"
    more = [
        f"{facts[name]} {text}"
        for name, text in (
            ("games_rejected", "rejected"),
            ("games_unsent", "not sent yet"),
            ("games_dropped_unsent", "dropped because the outbox was full"),
            ("games_taken_over", "taken over from silent machines"),
            ("updates_dropped", "learned again after a conflict"),
            ("decisions_overruled", "decisions of the gate overruled by another machine"),
        )
        if facts[name]
    ]
    return (
        f"Role: {facts['role']}. Games: {facts['games_up']} sent, {facts['games_down']} received"
        f"{''.join(f', {text}' for text in more)}. "
        f"Requests: {sum(facts['requests'].values())}{per_game}, {facts['retries']} retries; "
        f"{facts['bytes_up']:,} bytes sent, {facts['bytes_down']:,} received."
    )


def _machines(options: argparse.Namespace) -> int:
    from understudy.remote.bucket import Bucket
    from understudy.remote.machines import exclude, load_machines

    bucket = Bucket(options.url)
    if not (found := load_machines(bucket)):
        raise RemoteError(f"No machine has used {options.url} yet.")
    if name := options.exclude or options.include:
        names = [one.name for one in found]
        if name not in names:
            hint = nearest(name, names) or f"; there is {', '.join(names)}."
            raise RemoteError(f"There is no machine {name!r}{hint}")
        exclude(bucket, name, options.reason if options.exclude else None)
        found = load_machines(bucket)
    print(f"{'machine':<42} {'role':<8} {'heartbeat':>12} {'games':>7} {'learned':>8}  notes")
    for one in found:
        age = f"{max(time.time() - one.at, 0):,.0f} s ago" if one.at else "never"
        line = f"{one.name:<42} {one.role:<8} {age:>12} {one.complete:>7} {one.accounted:>8}  {'; '.join(one.notes)}"
        print(line.rstrip())
    return 0
