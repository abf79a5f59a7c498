"""`understudy ladder pull`: merges results, games and the memory of opponents from the ladder into a run, exactly once.

Every step may be repeated: a game is put into the buffer unless the run already has it, the opponent memory counts each
game id once, and the notes are written last. So a pull may be killed at any time.
"""

from __future__ import annotations

import dataclasses
import hashlib
import io
import re
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from understudy.errors import EpisodeError
from understudy.experience.episode import Episode, file_name, read_episode, write_episode
from understudy.files.atomic import write_atomically
from understudy.files.locks import FileLock
from understudy.games.zerg.arena.client import ArenaClient
from understudy.games.zerg.arena.comparison import FILE, LadderComparison, compared_there, take_in
from understudy.games.zerg.arena.errors import ArenaError
from understudy.games.zerg.arena.notes import LadderNotes, read_notes
from understudy.ledger.connection import Ledger
from understudy.rundir import RunDir
from understudy.sc2.opponents import OPPONENTS, OpponentMemory
from understudy.settings import StorageSettings

ORIGIN = "ladder"
_GAME = re.compile(r"(?:data/)?(?:archive|buffer)/game_[^/]*_([0-9a-f]{16})\.npz")
_START_DECISIONS = 30
_RACES = {"Terran": 1, "Zerg": 2, "Protoss": 3}
_RESULTS = {"win": "Victory", "loss": "Defeat", "tie": "Tie"}


@dataclass(frozen=True)
class Pulled:
    """What a pull downloaded."""

    results: int
    games: int
    rejected: int
    replays: int
    comparisons: int = 0


def lock(run: RunDir) -> FileLock:
    """One pull or push at a time."""
    run.create()
    return FileLock(run.root / "ladder.lock")


def pull(
    client: ArenaClient, run: RunDir, bot: int, *, replays: bool = False, say: Callable[[str], object] = print
) -> Pulled:
    """Merge what is new. The caller holds the run's ladder lock."""
    notes = read_notes(run.root)
    if notes.bot not in (0, bot):
        raise ArenaError(f"{run.root} belongs to bot {notes.bot} of the ladder, not to {bot}. Name another run.")
    about = client.bot(bot)
    games = rejected = comparisons = 0
    md5 = about.get("bot_data_md5hash") or ""
    if about.get("bot_data") and md5 != notes.pulled_md5:
        say(f"Downloading the data of {about.get('name', bot)} ...")
        content = client.download(about["bot_data"])
        if md5 and hashlib.md5(content, usedforsecurity=False).hexdigest() != md5:
            raise ArenaError("The data changed during the download: a match has just ended. Pull again.")
        games, rejected, comparisons, goes_on = merge_data(run, content)
        notes = dataclasses.replace(notes, pulled_md5=md5, compared=notes.compared if goes_on else 0)
    new = _results(client, bot, notes, say)
    count = _replays(client, run, new, say) if replays else 0
    last = max([notes.last, *(entry["participation"] for entry in new.values())])
    dataclasses.replace(notes, bot=bot, last=last, results=notes.results | new).write(run.root)
    return Pulled(len(new), games, rejected, count, comparisons)


def merge_data(run: RunDir, content: bytes) -> tuple[int, int, int, bool]:
    """Merge the games of a bot's data folder, and the comparisons that they complete.

    Returns the number of new games, of unusable games and of new comparisons, and whether a comparison continues on the
    ladder.
    """
    try:
        archive = zipfile.ZipFile(io.BytesIO(content))
    except zipfile.BadZipFile as error:
        raise ArenaError(f"The bot's data is not a zip: {error}.") from error
    storage = StorageSettings()
    new = broken = 0
    with archive:
        compared = compared_there(run, archive)
        found = {match[1]: info for info in archive.infolist() if (match := _GAME.fullmatch(info.filename))}
        missing = set(found) - _ids_here(run)
        memory = OpponentMemory(run.root / OPPONENTS)
        for game in sorted(found, key=lambda game: found[game].filename.rpartition("/")[2]):
            info = found[game]
            try:
                episode = _read(run, archive, info, game, storage)
            except (EpisodeError, zipfile.BadZipFile, OSError, EOFError, NotImplementedError, RuntimeError):
                broken += 1
                continue
            _remember(memory, episode)
            if game in missing:
                ours = _ours(run, episode, compared)
                write_episode(run.buffer / file_name(episode.meta), ours, compress=storage.compress)
                new += 1
        return new, broken, *((0, False) if compared is None else take_in(run, archive, compared))


def _read(run: RunDir, archive: zipfile.ZipFile, info: zipfile.ZipInfo, game: str, storage: StorageSettings) -> Episode:
    if info.file_size > storage.episode_bytes:
        raise EpisodeError(f"{info.filename} has {info.file_size:,} bytes.")
    part = run.buffer / f".{game}.ladder.tmp"  # removed by the learner if it is left behind
    write_atomically(part, lambda stream: stream.write(archive.read(info)))
    try:
        episode = read_episode(part, storage)
    finally:
        part.unlink(missing_ok=True)
    if episode.meta.id != game:
        raise EpisodeError(f"{info.filename} says that its id is {episode.meta.id}.")
    return episode


def _ids_here(run: RunDir) -> set[str]:
    """The ids of games that this run has or had."""
    folders = (run.buffer, run.archive, run.rejected)
    here = {path.stem.rpartition("_")[2] for folder in folders for path in folder.glob("game_*.npz")}
    if run.ledger.exists():
        with Ledger(run.ledger, read_only=True) as ledger:
            here |= {row[0] for row in ledger.query("SELECT id FROM games")}
    return here


def _ours(run: RunDir, episode: Episode, compared: LadderComparison | None) -> Episode:
    """The game as one of this run: not learned from yet, played by a version that was pushed."""
    meta = episode.meta
    pushed = read_notes(run.root).pushed_version or meta.model_version
    if compared is not None:
        pushed = compared.version_of(meta.model_version)
    extra = {**meta.extra, "origin": ORIGIN, "ladder_version": meta.model_version}
    return dataclasses.replace(
        episode, meta=dataclasses.replace(meta, trained_online=False, model_version=pushed, extra=extra)
    )


def _remember(memory: OpponentMemory, episode: Episode) -> None:
    """Add the game to the memory of opponents, once."""
    meta = episode.meta
    began = Counter(episode.actions[:_START_DECISIONS].tolist()).most_common(1)
    start = meta.actions[began[0][0]] if began and meta.actions else ""
    race = _RACES.get(meta.opponent_race, 0)
    opening = str(meta.extra.get("opening", ""))
    rushed = bool(meta.extra.get("rushed", False))
    memory.record(meta.opponent_id, race, meta.result, rushed, opening, start, game=meta.id)


def _results(
    client: ArenaClient, bot: int, notes: LadderNotes, say: Callable[[str], object]
) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for part in _finished(client, bot, notes.last):
        result = client.result(part["match"])
        if result is None:
            continue
        mine = "bot1_name" if part.get("participant_number") == 1 else "bot2_name"
        other = "bot2_name" if mine == "bot1_name" else "bot1_name"
        found[str(part["match"])] = {
            "participation": part["id"],
            "opponent": result.get(other) or "unknown",
            "result": _RESULTS.get(part["result"], str(part["result"])),
            "cause": part.get("result_cause"),
            "elo": part.get("resultant_elo"),
            "at": result.get("created"),
            "replay": result.get("replay_file"),
        }
        if len(found) % 50 == 0:
            say(f"{len(found)} results ...")
    return found


def _finished(client: ArenaClient, bot: int, after: int) -> Iterator[dict[str, Any]]:
    """The matches that finished since then. A match that is still running does not hide newer finished ones."""
    parts = sorted(client.participations(bot, after), key=lambda part: part["id"])
    for part in parts:
        if part.get("result") in (None, "none"):
            return  # the next pull merges it and all later ones
        yield part


def _replays(client: ArenaClient, run: RunDir, new: dict[str, dict[str, Any]], say: Callable[[str], object]) -> int:
    """Download the replays of lost games that are not here yet."""
    folder = run.root / "replays" / "lost"
    folder.mkdir(parents=True, exist_ok=True)
    count = 0
    for match, entry in new.items():
        path = folder / f"{match}.SC2Replay"
        if entry["result"] == "Defeat" and entry["replay"] and not path.exists():
            content = client.download(entry["replay"], 50_000_000)
            _write(path, content)
            count += 1
            say(f"Replay of match {match} against {entry['opponent']}: {path}")
    return count


def _write(path: Path, content: bytes) -> None:
    write_atomically(path, lambda stream: stream.write(content))


def data_folder(run: RunDir, learned: tuple[str, ...]) -> bytes:
    """The bot's new data as a zip: models, what was learned about opponents, and the comparison, if there is one."""
    made = io.BytesIO()
    files = [*sorted(run.models.rglob("*.npz")), *(run.root / name for name in (*learned, run.ledger.name, FILE))]
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in files:
            if path.exists():
                archive.write(path, path.relative_to(run.root).as_posix())
    return made.getvalue()
