"""Which model a bot plays each game with, and how the gate learns the result.

No error here is raised into a game: while the ledger cannot be used, the bot plays the model that it would load without
a gate.
"""

from __future__ import annotations

import logging
import math
import random
from functools import partial

from understudy.errors import ModelError, ModelMissing, RunDirError
from understudy.experience.episode import Episode, EpisodeMeta
from understudy.experience.journal import salvage
from understudy.models.carry_over import fitted
from understudy.models.evidence import Played, score
from understudy.models.gate import Gate
from understudy.models.live import LiveModel
from understudy.models.off_policy import check_candidate
from understudy.models.recent_games import newest_games
from understudy.models.state import ModelState, read_model
from understudy.models.store import ModelStore
from understudy.rundir import RunDir
from understudy.settings import GateSettings, Settings, StorageSettings

logger = logging.getLogger(__name__)

_CRASHED = Played(score("", crashed=True), -math.inf)
_LOOK_EVERY = 10  # games between two searches for games of dead bots
_NO_RESULT = "Unknown"  # the result of a game whose bot died


class Stage:
    """The gate, as one bot uses it. `settings` that differ from the defaults change the gate of the run."""

    def __init__(
        self, run: RunDir, store: ModelStore, settings: Settings | None, chance: random.Random | None = None
    ) -> None:
        self._run = run
        self._store = store
        self._gate = Gate(run.ledger, store, chance=chance)
        self._settings = GateSettings() if settings is None else settings.gate
        self._storage = StorageSettings() if settings is None else settings.storage
        self._games = 0
        self._other: LiveModel | None = None  # the model of the last game that the line did not play

    def model_for(self, meta: EpisodeMeta, line: LiveModel, *, counts: bool) -> LiveModel:
        """The model that plays this game: the line, or another version.

        A game that does not count (`counts`) takes no part in a comparison; the version on stage plays it.
        """
        try:
            if counts:
                self._open()
                self._gate.appoint(partial(self._refusal, line))
                part = self._gate.assign(meta.id, meta.opponent_id, appoint=False)
                return line if part.role == "line" else self._version(line, part.version)
        except (ModelError, OSError, RunDirError) as error:
            logger.warning("The gate cannot say which version plays (%s); the model on stage plays.", error)
        return self._on_stage(line)

    def _on_stage(self, line: LiveModel) -> LiveModel:
        try:
            return self._version(line, None) if self._store.separate else line
        except (ModelError, OSError) as error:
            logger.warning("The model on stage cannot be loaded (%s); version %d plays.", error, line.version)
            return line

    def report(self, episode: Episode) -> None:
        """Report the result of a game to the gate. A second report of the same game changes nothing."""
        meta = episode.meta
        worth, reward = score(meta.result, truncated=meta.truncated), float(episode.rewards.sum())
        self._gate.record(meta.id, Played(worth, reward, cut=meta.truncated and score(meta.result) is None))

    def report_unusable(self, game: str, result: str) -> None:
        """Report the result of a game that cannot be learned from: a model that breaks its games must not profit."""
        self._report(game, Played(score(result), -math.inf))

    def report_left(self, game: str) -> None:
        """Report that a game was left before its end: it counts as crashed."""
        self._report(game, _CRASHED)

    def _report(self, game: str, played: Played) -> None:
        try:
            self._gate.record(game, played)
        except (OSError, RunDirError) as error:
            logger.warning("The result of game %s was not recorded: %s", game, error)

    def _open(self) -> None:
        if self._games == 0:
            state = self._gate.look()
            if state is None or self._settings not in (GateSettings(), state.settings):
                self._gate.use(self._settings)
        if self._games % _LOOK_EVERY == 0:
            for game in self._gate.unfinished():
                journal = self._run.live / f"{game}.journal"
                if journal.exists():  # of a dead bot, or of one that still plays; then it is kept
                    salvage(journal, self._run.buffer, self._run.rejected, self._storage)
                if not journal.exists():
                    self._gate.record(game, self._ending(game))
        self._games += 1

    def _ending(self, game: str) -> Played:
        """How a game ended whose bot died before reporting it. If there was a result, it is in the file's name."""
        for folder in (self._run.buffer, self._run.archive):
            for path in folder.glob(f"game_*_{game}.npz"):
                result = path.name.split("_")[3]
                if result != _NO_RESULT:
                    return Played(score(result))
        return _CRASHED

    def _refusal(self, line: LiveModel, version: int, champion: int) -> str | None:
        """The reason in recorded games to refuse a version that wants to be challenger; None if there is none."""
        try:
            ours, theirs = (
                LiveModel(fitted(self._store.load_version(number), line.base)) for number in (version, champion)
            )
        except ModelError as error:
            logger.warning("Version %d was not checked on recorded games: %s", version, error)
            return None
        found = check_candidate(ours, theirs, newest_games(self._run, line.expected))
        if found is not None:
            logger.info("Off-policy check: %s.", found.sentence)
        return found.sentence if found is not None and found.refused else None

    def _version(self, line: LiveModel, version: int | None) -> LiveModel:
        """A model with the weights of a version, or of the file that bots load (None)."""
        if version == line.version:
            return line
        if self._other is None or version is None or self._other.version != version:
            state = fitted(self._load(version), line.base)  # a version from before a change of the bot's features
            if self._other is None or self._other.base.spec != state.spec:
                self._other = LiveModel(state)
            else:
                self._other.adopt(state)
        return self._other

    def _load(self, version: int | None) -> ModelState:
        try:
            return read_model(self._store.model) if version is None else self._store.load_version(version)
        except ModelMissing:  # the file of the version was removed
            return read_model(self._store.model)
