"""Files of game records: .csa, .kif and .kifu; also .sfen, with a USI game on each line."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from understudy.files.atomic import write_atomically
from understudy.games.shogi import csa, kif
from understudy.games.shogi.errors import GameError
from understudy.games.shogi.record import GameRecord, record_of
from understudy.games.shogi.rules import game_of_position


def write_record(path: Path, record: GameRecord) -> None:
    """Save a game as .csa (UTF-8), .kif (Shift-JIS, as programs expect it) or .kifu (UTF-8)."""
    match path.suffix:
        case ".csa":
            data = csa.to_text(record).encode()
        case ".kif":
            data = kif.to_text(record).encode("cp932", errors="replace")
        case ".kifu":
            data = kif.to_text(record).encode()
        case _:
            raise GameError(f"{path}: games are saved as .csa, .kif or .kifu.")
    write_atomically(path, lambda stream: stream.write(data), durable=False)


def read_records(path: Path) -> list[GameRecord]:
    """The games of a .csa, .kif, .kifu or .sfen file; GameError with the file's name if one is not valid."""
    text = _decode(path)
    try:
        if path.suffix == ".csa":
            return csa.from_text(text)
        if path.suffix in (".kif", ".kifu"):
            return [kif.from_text(text)]
        if path.suffix == ".sfen":
            return [_of_line(line) for line in text.splitlines() if line.strip()]
    except GameError as error:
        raise GameError(f"{path}: {error}") from error
    raise GameError(f"{path}: games are read from .csa, .kif, .kifu and .sfen files.")


def _of_line(line: str) -> GameRecord:
    """A game from a line: `startpos moves …`, `sfen … moves …`, with or without `position`, or a bare SFEN."""
    words = line.removeprefix("position ").strip()
    return record_of(game_of_position(words if words.startswith(("startpos", "sfen")) else f"sfen {words}", 1 << 20))


def gather(paths: Iterable[Path], say: Callable[[str], None]) -> list[GameRecord]:
    """The games of files and folders, in the order of their names; invalid files are reported and left out."""
    files: list[Path] = []
    for path in paths:
        found = sorted(p for p in path.rglob("*") if p.suffix in (".csa", ".kif", ".kifu")) if path.is_dir() else [path]
        files.extend(found)
    records = []
    for file in files:
        try:
            records.extend(read_records(file))
        except GameError as error:
            say(f"Left out: {error}")
    return [record for record in records if record.moves]


def _decode(path: Path) -> str:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise GameError(f"{path} cannot be read: {error.strerror}.") from error
    for encoding in ("utf-8-sig", "cp932"):
        try:
            return data.decode(encoding)
        except UnicodeDecodeError:
            continue
    raise GameError(f"{path} is neither UTF-8 nor Shift-JIS.")
