"""Actions of a visitor on a run: each is explained, confirmed, executed, and logged in the run."""

from __future__ import annotations

import logging
from collections.abc import Callable

from nicegui import context, ui

from understudy.errors import UnderstudyError
from understudy.run import control
from understudy.rundir import RunDir
from understudy.watch.dashboard.parts import box
from understudy.watch.dashboard.runs import Watched, in_reader

logger = logging.getLogger(__name__)

Act = Callable[[RunDir, str], str]


async def pause_or_resume(watched: Watched) -> None:
    """Ask the learner to pause or to resume."""
    selfplay = "selfplay" in watched.snapshot.learner.stats
    if watched.snapshot.learner.paused_by_request:
        await _ask_and_do(watched, "Resume the learner?", "It continues where it stopped.", "Resume", _resume)
    else:
        meanwhile = "Its workers pause too; nothing is lost." if selfplay else "Games continue and wait in the buffer."
        text = f"It finishes the current batch, then learns nothing until it is resumed. {meanwhile}"
        await _ask_and_do(watched, "Pause the learner?", text, "Pause", _pause)


async def stop(watched: Watched) -> None:
    """Ask the learner to stop."""
    text = "It finishes the current batch and ends. Nothing is lost. It must be started again by hand."
    await _ask_and_do(watched, "Stop the learner?", text, "Stop", _stop)


async def roll_back(watched: Watched, version: int) -> None:
    """Publish an earlier version again."""

    def act(run: RunDir, by: str) -> str:
        head = control.roll_back(run, version, by)
        return f"Version {version} is published again, as version {head.version}."

    text = f"Version {version} is published again, under a new number. Bots load it before their next game."
    await _ask_and_do(watched, f"Roll back to version {version}?", text, "Roll back", act)


def _pause(run: RunDir, by: str) -> str:
    control.pause(run, by)
    return "The learner was asked to pause."


def _resume(run: RunDir, by: str) -> str:
    control.resume(run, by)
    return "The learner was asked to resume."


def _stop(run: RunDir, by: str) -> str:
    control.stop(run, by)
    return "The learner was asked to stop."


async def _ask_and_do(watched: Watched, title: str, text: str, word: str, act: Act) -> None:
    if not await _confirmed(title, f"Run {watched.name}. {text}", word):
        return
    by = f"the dashboard ({context.client.ip or 'address unknown'})"
    try:
        said = await in_reader(lambda: act(watched.run, by))
    except (UnderstudyError, OSError) as error:
        logger.warning("%s in %s, asked by %s, failed: %s", word, watched.name, by, error)
        ui.notify(str(error), type="negative", multi_line=True, timeout=10_000)
        return
    logger.info("%s in %s, asked by %s: %s", word, watched.name, by, said)
    ui.notify(said, type="positive")
    await watched.look(at_once=True)


async def _confirmed(title: str, text: str, word: str) -> bool:
    with ui.dialog() as dialog, ui.card().classes("ask"):
        with box("", "h2"):
            ui.label(title)
        ui.label(text)
        with box("choices"):
            _choice(dialog, "Cancel", False)
            _choice(dialog, word, True)
    confirmed = await dialog
    dialog.delete()
    return confirmed is True


def _choice(dialog: ui.dialog, word: str, answer: bool) -> None:
    with box("button main confirm" if answer else "button", "button").on("click", lambda: dialog.submit(answer)):
        ui.label(word)
