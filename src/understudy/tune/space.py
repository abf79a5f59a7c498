"""Which settings are searched, and in which ranges."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from understudy.errors import SettingsError
from understudy.flags import nearest
from understudy.settings import TrainingSettings, section_from

_SECTION = "training"


class Range(NamedTuple):
    """A setting of `training` and its range. With `log`, every order of magnitude is equally likely."""

    name: str
    low: float
    high: float
    log: bool = False

    @property
    def whole(self) -> bool:
        """Whether the setting is a whole number."""
        return isinstance(getattr(TrainingSettings(), self.name), int)

    def within(self, value: float) -> float | int:
        """The nearest allowed value."""
        clipped = min(max(value, self.low), self.high)
        return round(clipped) if self.whole else float(clipped)


DEFAULT_SPACE = (
    Range("learning_rate", 5e-5, 5e-3, log=True),
    Range("entropy_coefficient", 1e-4, 0.05, log=True),
    Range("target_kl", 0.003, 0.1, log=True),
    Range("gae_lambda", 0.9, 1.0),
    Range("epochs", 2, 20, log=True),
    Range("minibatch", 64, 1024, log=True),
)
"""The most important settings of PPO, in order of importance."""


def space_of(texts: Iterable[str]) -> tuple[Range, ...]:
    """The ranges given by `--over NAME=LOW:HIGH`, or the default ones."""
    return tuple(_range(text) for text in texts) or DEFAULT_SPACE


def _range(text: str) -> Range:
    """A range, logarithmic if both ends are positive and far apart."""
    form = f"--over {text!r} is not understood; an example: --over training.learning_rate=1e-4:1e-2"
    found = re.fullmatch(r"(?:training\.)?([a-z_]+)=([^:]+):([^:]+)", text)
    if found is None:
        raise SettingsError(f"{form}.")
    name = found[1]
    numbers = [key for key, default in dataclasses.asdict(TrainingSettings()).items() if type(default) in (int, float)]
    if name not in numbers:
        hint = nearest(name, numbers) or f"; there is {', '.join(numbers)}."
        raise SettingsError(f"--over: there is no number training.{name}{hint}")
    try:
        low, high = float(found[2]), float(found[3])
    except ValueError:
        raise SettingsError(f"{form}.") from None
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise SettingsError(f"--over {text}: {found[2]} must be below {found[3]}, and both finite.")
    made = Range(name, low, high, log=low > 0 and high / low >= 5)
    for end in (low, high):
        section_from(_SECTION, {name: made.within(end)}, f"--over {text}")
    return made


def config_of(training: TrainingSettings, space: Sequence[Range]) -> dict[str, Any]:
    """The present values of these settings."""
    return {one.name: getattr(training, one.name) for one in space}


def as_toml(config: Mapping[str, Any]) -> str:
    """A settings file with these values."""
    return f"[{_SECTION}]\n" + "".join(f"{name} = {value!r}\n" for name, value in config.items())
