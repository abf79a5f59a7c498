"""Numbers and times as people read them."""

from __future__ import annotations

import time

from understudy.watch.health import duration


def count(value: float | None) -> str:
    """A whole number with commas; a dash where there is none."""
    return "–" if value is None else f"{value:,.0f}"


def percent(value: float | None) -> str:
    """A share."""
    return "–" if value is None else f"{100 * value:.0f} %"


def figure(value: float | None) -> str:
    """A number of any size, to four digits."""
    if value is None:
        return "–"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.1e}" if 0 < abs(value) < 1e-4 else f"{value:.4g}"


def signed(value: float) -> str:
    """A number with its sign, to three decimals; nothing is -0.000."""
    text = f"{value:+.3f}"
    return "0.000" if float(text) == 0 else text


def size(value: float | None) -> str:
    """Bytes."""
    if value is None:
        return "–"
    for unit in ("B", "kB", "MB", "GB"):
        if value < 1000:
            return f"{value:.0f} {unit}" if unit == "B" or value >= 100 else f"{value:.3g} {unit}"
        value /= 1000
    return f"{value:.3g} TB"


def ago(at: float | None, now: float) -> str:
    """How long ago."""
    return "never" if at is None else f"{duration(now - at)} ago"


def clock(at: float) -> str:
    """A time of day; with its date unless it is today's."""
    then = time.localtime(at)
    today = time.localtime()[:3] == then[:3]
    return time.strftime("%H:%M:%S" if today else "%Y-%m-%d %H:%M", then)


def ended(name: str, otherwise: float) -> float:
    """When a game ended, by the name of its file; a copy of a run keeps names, not always the times of files."""
    try:
        return time.mktime(time.strptime(name[:20], "game_%Y%m%d_%H%M%S"))
    except ValueError:
        return otherwise
