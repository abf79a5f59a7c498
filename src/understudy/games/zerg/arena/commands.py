"""The command `understudy ladder`: login, status, pull and push."""

from __future__ import annotations

import argparse
import getpass
import sys
from collections import Counter
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from understudy.errors import SettingsError
from understudy.flags import Parser, add_run_dir, add_settings, existing_run, flags
from understudy.games.zerg.own_bot.commands import build_for
from understudy.rundir import RunDir
from understudy.settings import Settings, load_settings


def add_commands(commands: Any) -> None:
    """Add the commands to the subparsers of the command line."""
    ladder = commands.add_parser("ladder", help="get results and games from AI Arena, and upload the bot")
    parts = ladder.add_subparsers(required=True, metavar="ACTION")
    _add(parts, "login", _login, "store the AI Arena token in the system's keyring")
    _add(parts, "status", _status, "show the bot's record, by opponent", run=True)
    pull = _add(parts, "pull", _pull, "merge results, games and the memory of opponents into a run", run=True)
    pull.add_argument("--replays", action="store_true", help="also download the replays of lost games")
    push = _add(parts, "push", _push, "upload the bot with the version that is on stage", run=True)
    push.add_argument("--bot-file", metavar="FILE:CLASS", help="the bot (default: the setting package.bot)")
    push.add_argument("--again", action="store_true", help="upload even if the ladder has this version already")


def _add(parts: Any, name: str, action: Any, text: str, *, run: bool = False) -> Parser:
    command: Parser = parts.add_parser(name, help=text)
    if run:
        add_run_dir(command)
    add_settings(command, ("ladder", "package"))
    command.set_defaults(run=action)
    return command


def _settings(options: argparse.Namespace) -> Settings:
    return load_settings(options.settings, flags=flags(options))


def _client(settings: Settings) -> Any:
    from understudy.games.zerg.arena.client import ArenaClient  # noqa: PLC0415 - commands import what they need
    from understudy.games.zerg.arena.tokens import find_token  # noqa: PLC0415

    url = settings.ladder.url
    return ArenaClient(find_token(urlsplit(url).netloc), url)


def _bot(settings: Settings) -> int:
    if not settings.ladder.bot:
        raise SettingsError(
            "Which bot of the ladder? Set bot under [ladder] in understudy.toml, or --ladder.bot: the number in the "
            "address of its page, https://aiarena.net/bots/NUMBER/."
        )
    return int(settings.ladder.bot)


def _login(options: argparse.Namespace) -> int:
    from understudy.games.zerg.arena.client import ArenaClient  # noqa: PLC0415
    from understudy.games.zerg.arena.tokens import PAGE, checked, keep_token  # noqa: PLC0415

    settings = _settings(options)
    host = urlsplit(settings.ladder.url).netloc
    by_hand = sys.stdin.isatty()
    token = checked((getpass.getpass(f"Token from {PAGE}: ") if by_hand else sys.stdin.readline()).strip(), host)
    ArenaClient(token, settings.ladder.url).check()
    keep_token(host, token)
    print("The token is in the system's keyring.")
    return 0


def _status(options: argparse.Namespace) -> int:
    from understudy.games.zerg.arena.notes import read_notes  # noqa: PLC0415

    settings, run = _settings(options), existing_run(options.run_dir)
    about = _client(settings).bot(_bot(settings))
    notes = read_notes(run.root)
    changed = about.get("bot_data_md5hash") or ""
    print(f"{about.get('name')}: {len(notes.results)} matches pulled; version {notes.pushed_version or 'none'} pushed.")
    if changed != notes.pulled_md5:
        print("There is new data on the ladder; `understudy ladder pull` merges it.")
    print(record_table(notes.results))
    return 0


def record_table(results: dict[str, dict[str, Any]]) -> str:
    """Won, lost and tied matches by opponent, the most frequent opponents first."""
    by_opponent: dict[str, Counter[str]] = {}
    for entry in results.values():
        by_opponent.setdefault(entry["opponent"], Counter())[entry["result"]] += 1
    lines = [f"{'opponent':<24} {'won':>5} {'lost':>5} {'tied':>5} {'other':>5}"]
    for name, counts in sorted(by_opponent.items(), key=lambda item: -item[1].total()):
        won, lost, tied = (counts[result] for result in ("Victory", "Defeat", "Tie"))
        lines.append(f"{name[:24]:<24} {won:>5} {lost:>5} {tied:>5} {counts.total() - won - lost - tied:>5}")
    return "\n".join(lines)


def _pull(options: argparse.Namespace) -> int:
    from understudy.games.zerg.arena.pull import lock, pull  # noqa: PLC0415

    settings, run = _settings(options), existing_run(options.run_dir)
    client = _client(settings)
    with lock(run):
        found = pull(client, run, _bot(settings), replays=options.replays)
    rejected = f", {found.rejected} that cannot be used" if found.rejected else ""
    evidence = f", {found.comparisons} comparisons for the gate" if found.comparisons else ""
    print(f"{found.results} new results, {found.games} new games{rejected}, {found.replays} replays{evidence}.")
    return 0


def _push(options: argparse.Namespace) -> int:
    from understudy.games.zerg.arena.pull import lock  # noqa: PLC0415
    from understudy.games.zerg.arena.push import push  # noqa: PLC0415
    from understudy.games.zerg.spec import LEARNED  # noqa: PLC0415

    settings, run = _settings(options), existing_run(options.run_dir)
    client, bot = _client(settings), _bot(settings)
    own = options.bot_file or settings.package.bot

    def build(root: Path, target: Path) -> object:
        return build_for(own, settings.package, RunDir.at(root), target)

    with lock(run):
        push(client, run, bot, build, LEARNED, again=options.again, compare=settings.ladder.compare)
    return 0
