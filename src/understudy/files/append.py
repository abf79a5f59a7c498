"""Appending to a log file of bounded size."""

from __future__ import annotations

from pathlib import Path

from understudy.files.atomic import move


def append_bounded(path: Path, text: str, max_bytes: int) -> None:
    """Append text. A file longer than `max_bytes` is renamed to `.1` first, in place of the `.1` before it."""
    try:
        if path.stat().st_size > max_bytes:
            move(path, path.with_name(f"{path.name}.1"))
    except FileNotFoundError:
        pass
    with path.open("a", encoding="utf-8", errors="backslashreplace") as stream:
        stream.write(text)
