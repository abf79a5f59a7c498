"""Numbers and times as text."""

from __future__ import annotations

import math
import time


def count(value: float | None) -> str:
    """A whole number with commas; a dash if there is none."""
    return "–" if value is None else f"{value:,.0f}"


def percent(value: float | None) -> str:
    """A share."""
    return "–" if value is None else f"{100 * value:.0f} %"


def figure(value: float | None) -> str:
    """A number of any size, with four digits."""
    if value is None:
        return "–"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.1e}" if 0 < abs(value) < 1e-4 else f"{value:.4g}"


def note(value: object) -> str | None:
    """A note of a recorded game; None if it does not fit on a line."""
    if isinstance(value, float):
        return figure(value)
    return str(value) if isinstance(value, str | int) else None


def signed(value: float) -> str:
    """A number with its sign, to three decimals, without -0.000."""
    text = f"{value:+.3f}"
    return "0.000" if float(text) == 0 else text


def size(value: float | None) -> str:
    """Bytes, in powers of 1000."""
    if value is None:
        return "–"
    if value < 1000:
        return f"{value:.0f} B"
    power = min(int(math.log10(value) / 3), 4)
    return f"{value / 1000**power:.1f} {('KB', 'MB', 'GB', 'TB')[power - 1]}"


def ago(at: float | None, now: float) -> str:
    """How long ago."""
    return "never" if at is None else f"{duration(now - at)} ago"


def clock(at: float) -> str:
    """A time of day, with the date unless it is today."""
    then = time.localtime(at)
    today = time.localtime()[:3] == then[:3]
    return time.strftime("%H:%M:%S" if today else "%Y-%m-%d %H:%M", then)


def ended(name: str, otherwise: float) -> float:
    """When a game ended, from its file name; copies of a run keep names, but not always file times."""
    try:
        return time.mktime(time.strptime(name[:20], "game_%Y%m%d_%H%M%S"))
    except ValueError:
        return otherwise


def duration(seconds: float) -> str:
    """A time span in words."""
    if not math.isfinite(seconds):
        return "an unknown time"
    seconds = max(seconds, 0.0)
    for unit, name, below, part in ((86400, "d", "h", 3600), (3600, "h", "m", 60), (60, "m", "s", 1)):
        if seconds >= unit:
            whole, rest = divmod(int(seconds), unit)
            return f"{whole}{name} {rest // part}{below}"
    return f"{seconds:.0f}s"
