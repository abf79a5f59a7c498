"""Evaluation during self-play: published versions play the evaluation games of their game, in a share of the time.

Self-play cannot show that a model gets better; the same games against fixed opponents can.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence

from understudy.errors import ModelMissing
from understudy.games.spec import GameSpec, Reference, name_of, play_evaluation
from understudy.ledger.history import EVALUATION, PURPOSE
from understudy.ledger.jobs import JobLedger
from understudy.ledger.rows import LedgerGame
from understudy.models.intervals import wilson
from understudy.models.store import ModelStore
from understudy.rundir import RunDir
from understudy.settings import EvaluationSettings

logger = logging.getLogger(__name__)

SHARE = 0.1  # the share of a run's time that evaluation may take
_RESULTS = {"W": "Victory", "L": "Defeat", "T": "Tie"}


class SelfPlayEvaluation:
    """Plays evaluation games between updates, in this process, if the game has an evaluator.

    `evaluation.function` replaces the evaluator of the game. A version is evaluated completely before the newest one is
    next. Results by axis are recorded in the ledger, from which the dashboard reads them. An evaluator that fails is
    reported once and not called again: training continues.
    """

    def __init__(
        self,
        spec: GameSpec,
        run: RunDir,
        store: ModelStore,
        settings: EvaluationSettings,
        say: Callable[[str], None],
    ) -> None:
        self._spec, self._run, self._store, self._settings, self._say = spec, run, store, settings, say
        self._evaluator: Reference = settings.function or spec.evaluator or ""
        self._name = name_of(self._evaluator)
        self._active = bool(self._evaluator)
        self._began, self._spent = time.monotonic(), 0.0
        self._version = 0
        self._results = ""  # of that version
        self._by_axis: dict[str, str] = {}  # the same by the most informative axis

    def turn(self) -> None:
        """Play games of published versions until there are none left or the share of the time is used up."""
        while self._active and self._spent <= SHARE * (time.monotonic() - self._began) and self._choose_version():
            started = time.monotonic()
            try:
                self._play()
            except ModelMissing:  # it was pruned: evaluate the newest instead
                self._version = 0
            except Exception as error:  # noqa: BLE001 - other people's code may fail in any way
                logger.warning("Evaluation ends: %s fails (%s: %s).", self._name, type(error).__name__, error)
                self._active = False
            self._spent += time.monotonic() - started

    def _choose_version(self) -> bool:
        """Choose a version; False if none has games left to play."""
        if self._version and len(self._results) < self._settings.games:
            return True
        newest = max(self._store.kept_versions(), default=0)
        if newest == self._version:
            return False
        with JobLedger(self._run.ledger) as ledger:
            known = ledger.evaluations(self._name).get(newest, {})
        self._version, self._results = newest, "".join(known[number] for number in sorted(known))
        self._by_axis = {}
        return len(self._results) < self._settings.games

    def _play(self) -> None:
        first = len(self._results)
        games = min(self._settings.games_per_job, self._settings.games - first)
        path = self._store.version_path(self._version)
        began = time.time()
        results, axes = play_evaluation(self._evaluator, path, first, games)
        with JobLedger(self._run.ledger) as ledger:
            ledger.record_evaluation(self._version, self._name, first, results, time.time() - began)
            ledger.record_skipped(self._records(first, results, axes, began), "evaluated")
        self._results += results
        if self._spec.axes:
            for letter, values in zip(results, axes, strict=False):
                value = values.get(self._spec.axes[0].note, "")
                self._by_axis[value] = self._by_axis.get(value, "") + letter
        if len(self._results) >= self._settings.games:
            self._say(summary(self._version, self._results, self._by_axis))

    def _records(self, first: int, results: str, axes: Sequence[Mapping[str, str]], began: float) -> list[LedgerGame]:
        return [
            LedgerGame(
                id=f"evaluation {self._name} {self._version} {number}",
                name="",
                result=_RESULTS[result],
                steps=0,
                reward=0.0,
                bytes=0,
                game=self._spec.name,
                played_by=self._version,
                started=began,
                ended=time.time(),
                axes={PURPOSE: EVALUATION} | dict(values),
            )
            for number, (result, values) in enumerate(zip(results, axes, strict=bool(axes)), first)
        ]


def summary(version: int, results: str, by_axis: Mapping[str, str]) -> str:
    """The result of a version in one sentence, also by the values of an axis if every game has one."""
    won, games = results.count("W"), len(results)
    low, high = wilson(won, games)
    interval = f"95 % interval {low:.0%} to {high:.0%}"
    line = f"Version {version} won {won} of {games} evaluation games ({won / games:.0%}; {interval})"
    if len(by_axis) < 2 or sum(map(len, by_axis.values())) < games:
        return f"{line}."
    return f"{line}: " + ", ".join(f"{value} {of.count('W')} of {len(of)}" for value, of in by_axis.items()) + "."
