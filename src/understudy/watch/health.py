"""The health light: green, amber or red, judged from one snapshot of a run, with the problem and what to do.

Red: nothing is learned until a person acts. Amber: look at it soon. Green: it works. Grey: nothing runs, and nothing
needs to.
"""

from __future__ import annotations

from dataclasses import dataclass

from understudy.watch.formats import duration
from understudy.watch.health_checks import all_troubles, batch_wanted, games_wait, how_to_start
from understudy.watch.phase import Phase, phase_of
from understudy.watch.snapshot import RunSnapshot
from understudy.watch.trouble import Light, Trouble

_ORDER: tuple[Light, ...] = ("grey", "green", "amber", "red")


@dataclass(frozen=True, slots=True)
class Health:
    """The light, a headline, and all problems, worst first.

    `phase` is the state of the run, `headline` the same in words, `details` further information if nothing is wrong.
    """

    light: Light
    sentence: str
    phase: Phase
    headline: str
    details: str = ""
    troubles: tuple[Trouble, ...] = ()


def judge(seen: RunSnapshot) -> Health:
    """Judge a run by one snapshot."""
    troubles = tuple(sorted(all_troubles(seen), key=lambda trouble: -_ORDER.index(trouble.light)))
    phase = phase_of(seen)
    headline = phase.sentence(seen.at)
    if troubles and troubles[0].light != "green":
        more = f" ({len(troubles) - 1} more)" if len(troubles) > 1 else ""
        sentence = f"{troubles[0].what} {troubles[0].advice}{more}"
        return Health(troubles[0].light, sentence, phase, headline, troubles=troubles)
    if phase.word in ("finished", "not started"):
        left = f"{games_wait(seen.buffer.count)} for the next start. " if seen.buffer.count else ""
        details = left + how_to_start(seen)
        return Health("grey", f"{headline}. {details}", phase, headline, details, troubles)
    details = _progress(seen)
    return Health("green", f"{headline}: {details}", phase, headline, details[0].upper() + details[1:], troubles)


def _progress(seen: RunSnapshot) -> str:
    parts = ["no version yet" if seen.model.version is None else f"version {seen.model.version}"]
    if seen.last_version_at is not None:
        parts.append(f"learned {duration(seen.at - seen.last_version_at)} ago")
    if "selfplay" not in seen.learner.stats:
        waiting, wanted = seen.buffer.count, batch_wanted(seen)
        together = f" for a batch of {wanted}" if waiting < wanted else ""
        parts.append(f"{games_wait(waiting)}{together}" if waiting else "no game waits")
    return ", ".join(parts) + "."
