"""Games that got too old, and those that did not: a pause makes no game older."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from game_files import put_game
from runs import drained, outcomes
from understudy.experience.spool import Passed
from understudy.learner.loop import LearnerLoop
from understudy.learner.skips import Skips
from understudy.models.store import ModelStore
from understudy.run import control
from understudy.run.lock import StopRequest
from understudy.run.state import Activity
from understudy.run.status import read_status
from understudy.rundir import RunDir
from understudy.settings import LearnerSettings, Settings

pytestmark = pytest.mark.usefixtures("first_model")


@pytest.fixture
def loop(run: RunDir) -> Iterator[LearnerLoop]:
    """A learner that has been running for longer than games may wait."""
    loop = LearnerLoop(run, Settings(learner=LearnerSettings(max_file_age=3600, verbose=False)))
    loop._spool.clock.count_from(time.monotonic() - 5000)
    yield loop
    loop._ledger.close()


def test_games_that_waited_too_long_for_a_running_learner_are_archived_unlearned_and_it_says_so(
    run: RunDir, loop: LearnerLoop
) -> None:
    for seed in range(3):
        put_game(run.buffer, seed, age=4000)
    put_game(run.buffer, 9)
    loop.run(drained())
    assert outcomes(run) == {"learned": 1, "online": 0, "skipped": 3, "rejected": 0}
    status = read_status(run.status)
    assert (status["files_skipped_old"], status["skipped"], status["files_processed"]) == (3, {"too old": 3}, 1)
    assert time.time() - status["skipped_at"] < 60
    entry = "] Games Skipped\n  Too Old:         3 games waited longer than learner.max_file_age\n"
    assert entry in run.log.read_text()
    LearnerLoop(run, Settings()).run(drained())
    assert read_status(run.status)["skipped"] == {"too old": 3}  # the next learner remembers


def test_games_do_not_get_too_old_during_a_pause(run: RunDir, loop: LearnerLoop) -> None:
    put_game(run.buffer, age=4000)
    request = StopRequest()
    control.pause(run, "a test")
    assert loop._obey(request)
    loop._stand_still(request)
    control.resume(run, "a test")
    assert not loop._obey(request)
    loop._pass(drained(), 1)
    assert outcomes(run)["learned"] == 1


def test_games_do_not_get_too_old_while_there_is_no_model(run: RunDir, loop: LearnerLoop) -> None:
    put_game(run.buffer, age=4000)
    aside = run.model.rename(run.root / "aside.npz")
    for version in ModelStore(run.model, run.ledger).kept_versions():
        ModelStore(run.model, run.ledger).version_path(version).unlink()
    loop._pass(drained(), 1)
    assert loop.stats.state.activity is Activity.NO_MODEL
    aside.rename(run.model)
    loop._pass(drained(), 1)
    assert outcomes(run)["learned"] == 1


def test_skipping_that_goes_on_is_logged_at_once_then_at_most_once_a_minute_and_in_full() -> None:
    entries: list[dict[str, str]] = []
    skips = Skips(lambda facts: entries.append(dict(facts)))
    assert skips.note(Passed()) == {}
    assert skips.note(Passed(no_room=5)) == {"no room": 5}
    skips.note(Passed(no_room=7, too_stale=1))
    assert len(entries) == 1
    skips.say()  # the end
    assert [sorted(entry) for entry in entries] == [["No Room"], ["No Room", "Too Stale"]]
    assert entries[1]["No Room"].startswith("7 games were the oldest")
