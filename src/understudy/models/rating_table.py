"""Ratings as a table for people."""

from __future__ import annotations

from collections.abc import Callable

from understudy.models.ratings import Rating, Ratings


def show(ratings: Ratings, names: set[str], say: Callable[[str], object] = print) -> None:
    """Print the table, which includes contestants of earlier games."""
    rows = ratings.table
    width = max((len(row.player) for row in rows), default=8)
    say(f"{'':>3} {'player':<{width}} {'Elo':>6} {'95 %':>14} {'games':>6} {'score':>6} {'stronger than next':>19}")
    for place, row in enumerate(rows):
        say(_line(place, row, width, ratings, rows[place + 1].player if place + 1 < len(rows) else None, names))
    if rows:
        say(f"The first move is worth {ratings.advantage:+.0f} Elo.")


def _line(place: int, row: Rating, width: int, ratings: Ratings, after: str | None, names: set[str]) -> str:
    interval = "anchor" if row.anchor else f"{row.low:+.0f} to {row.high:+.0f}"
    superior = "" if after is None else f"{ratings.superiority(row.player, after):.0%}"
    earlier = "" if row.player in names else "  (earlier games)"
    return (
        f"{place + 1:>3} {row.player:<{width}} {row.elo:>+6.0f} {interval:>14} {row.games:>6} {row.score:>6.0%} "
        f"{superior:>19}{earlier}"
    )
