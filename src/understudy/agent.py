"""RLAgent: all that a live bot needs. It decides, records its decisions, and loads new versions of the model."""

from __future__ import annotations

import dataclasses
import logging
import os
import random
import threading
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from understudy.acting.interface import action_labels, feature_names, state_size, whole_seed
from understudy.acting.live_game import Decision, LiveGame
from understudy.acting.rng import Chance
from understudy.acting.trials import Commitment, draw_commitment
from understudy.errors import EpisodeError, RunDirError, SettingsError
from understudy.experience.episode import (
    Episode,
    EpisodeMeta,
    episode_from,
    features_hash,
    write_episode,
)
from understudy.experience.journal import Journal
from understudy.experience.notes import meta_notes, result_text
from understudy.experience.unsaved import UnsavedGames
from understudy.ledger.history import PURPOSE, TRIAL
from understudy.models.following_model import FollowingModel
from understudy.models.live import Interface, LiveModel, open_model
from understudy.models.online import OnlineTrainer
from understudy.models.stage import Stage
from understudy.models.store import ModelStore
from understudy.run.status import is_alive, read_status, wait_for_learner
from understudy.rundir import DEFAULT_RUN_DIR, RunDir
from understudy.settings import Settings

__all__ = ("DEFAULT_ACTIONS", "Decision", "OnlineTraining", "RLAgent")

logger = logging.getLogger(__name__)

DEFAULT_ACTIONS = ("ECONOMY", "AGGRESSIVE", "DEFENSIVE", "TECH", "ALL_IN")

OnlineTraining = Literal["auto"] | bool


class RLAgent:
    """Decides for a live bot and leaves its experience in the run directory.

    A setting of None takes its value from the model in the run directory, or the default if there is none. With
    `try_out=False` this agent plays no trials (`training.commitment`). If features have names, a model with other
    features or actions is converted: weights are assigned by name, and `renamed` maps old names to new ones.

    An agent plays one game at a time: threads that share it wait for each other, and play the same game. A forked
    process must make its own agent.

    Disk errors are never raised into a game: what cannot be saved is kept in memory and logged, and saving is tried
    again after the next game.
    """

    def __init__(
        self,
        state_dim: int = 50,
        actions: Sequence[str] | int = DEFAULT_ACTIONS,
        *,
        run_dir: str | os.PathLike[str] | None = DEFAULT_RUN_DIR,
        model_path: str | os.PathLike[str] | None = None,
        policy: Literal["mlp", "transformer"] | None = None,
        algorithm: Literal["ppo", "reinforce"] | None = None,
        hidden: Sequence[int] | None = None,
        learning_rate: float | None = None,
        gamma: float | None = None,
        online_training: OnlineTraining = "auto",
        online_seconds: float = 20.0,
        features: Sequence[str] | None = None,
        renamed: Mapping[str, str] | None = None,
        record: bool = True,
        try_out: bool = True,
        seed: int | None = None,
        settings: Settings | None = None,
    ) -> None:
        self.actions = action_labels(actions)
        self.state_dim = state_size(state_dim)
        names = feature_names(features, self.state_dim)
        _check_arguments(online_training, online_seconds, settings)
        self._turn = threading.RLock()  # threads that share this agent wait for each other
        self._pid = os.getpid()
        self._storage = (settings or Settings()).storage
        self._seed = whole_seed(seed)
        self._run = None if run_dir is None else RunDir.at(run_dir)
        self._writable = self._run is not None and _made(self._run)
        self._record = record and self._writable
        self._try_out = try_out and self._record  # nobody learns from this game, so a trial would be wasted
        self._store = self._open_store(model_path)
        signature = None if self._store is None else self._store.signature()
        network = {"policy": policy, "hidden": tuple(hidden) if isinstance(hidden, Iterable) else hidden}
        training = {"algorithm": algorithm, "learning_rate": learning_rate, "gamma": gamma}
        self._model = open_model(
            self._store,
            Interface(
                self.state_dim, self.actions, None if names is None else features_hash(names), names, renamed or {}
            ),
            settings,
            {name: value for name, value in network.items() if value is not None},
            {name: value for name, value in training.items() if value is not None},
            seed=self._seed,
            publish=self._writable,
        )
        self._playing: LiveModel = self._model
        self._stage = self._open_stage(settings)
        self._chance = Chance(self._seed, self._run.models if self._run is not None and self._writable else None)
        self._following = FollowingModel(self._model, self._store, signature, self._chance, writable=self._writable)
        self._online: OnlineTrainer | None = None
        if self._record and self._store is not None:
            wanted = partial(_trains_online, self._run, online_training)
            self._online = OnlineTrainer(self._following, self._store, wanted, online_seconds)
        self._game: LiveGame | None = None
        self._last: Episode | None = None
        report = None if self._stage is None else self._stage.report
        self._unsaved = UnsavedGames(self._run if self._record else None, self._storage, report)

    @property
    def model_version(self) -> int:
        """The version that plays this game; between games, the newest one. 0 if no model was published yet."""
        return self._playing.version

    @property
    def exploration(self) -> float:
        """The share of uniformly random decisions."""
        return self._model.exploration

    @property
    def features(self) -> tuple[str, ...] | None:
        """The names of the features; None if they are unnamed."""
        return self._model.base.features

    @property
    def gamma(self) -> float:
        """The discount factor that the model is trained with."""
        return self._model.base.training.gamma

    # ---- playing ----------------------------------------------------------------------------------------------------

    def select_action(
        self, state: ArrayLike, legal: Sequence[bool] | NDArray[np.bool_] | None = None, explore: bool = True
    ) -> Decision:
        """Decide in this state and record the decision. `explore=False` takes the most probable action.

        Features that are NaN or infinite count as 0; a warning is logged.
        """
        with self._own():
            game = self._begin_episode() if self._game is None else self._game
            return game.decide(state, legal, explore)

    def observe_reward(self, reward: float) -> None:
        """Add a reward to the last decision."""
        with self._own():
            if self._game is None:
                logger.warning("A reward of %s came before the first decision of the game; it is not counted.", reward)
            else:
                self._game.credit(reward)

    def end_episode(
        self, result: object = "Unknown", *, final_state: ArrayLike | None = None, **about: Any
    ) -> dict[str, Any]:
        """End the game: save it for the learner, train on it here if no learner does, and return statistics.

        `result` is "Victory", "Defeat", "Tie", another word, or an enum with such names. `final_state` marks a game
        that was cut off rather than finished. `about` goes into the game's file: `map`, `game`, `opponent_id`,
        `opponent_race`, and any other note. Enums, NumPy scalars and paths are converted; everything else is kept as
        text.
        """
        with self._own():
            return self._end_episode(result_text(result), final_state, about)

    def _end_episode(self, result: str, final_state: ArrayLike | None, about: Mapping[str, Any]) -> dict[str, Any]:
        if final_state is not None and np.shape(final_state) != (self.state_dim,):
            shape = np.shape(final_state)
            raise ValueError(f"final_state has shape {shape}; a state has {self.state_dim} features here.")
        if self._game is None:
            return {"steps": 0, "result": result, "total_reward": 0.0, "saved": None, "trained_online": False}
        game, self._game = self._game, None
        journal = game.journal
        try:
            episode = game.end(result, final_state, about)
        except EpisodeError as error:
            logger.warning("The game cannot be learned from: %s", error)
            journal.close()  # the learner salvages it and sets it aside, with the reason
            if self._stage is not None and self._record:
                self._stage.report_unusable(journal.meta.id, result)
            return {"steps": len(journal), "result": result, "saved": None, "trained_online": False}
        stats: dict[str, Any] = {
            "episode_id": episode.meta.id,
            "steps": len(episode),
            "result": episode.meta.result,
            "total_reward": float(episode.rewards.sum()),
            "model_version": self.model_version,
            "exploration": game.exploration,
        }
        self._playing = self._model
        update = None if self._online is None else self._online.learn(episode)
        if update is not None:
            episode = dataclasses.replace(episode, meta=dataclasses.replace(episode.meta, trained_online=True))
            stats["loss"] = update.loss
        self._last = episode
        self._unsaved.add(episode, journal)
        saved = self._unsaved.save()
        self._chance.save()
        return stats | {"trained_online": update is not None, "saved": saved.get(episode.meta.id)}

    def close(self) -> None:
        """Save games that could not be saved before. A learner salvages an unfinished game from its journal."""
        if self._pid != os.getpid():
            return  # a forked child: the files belong to its parent
        with self._turn:
            self._leave_game()
            self._chance.close()

    def _leave_game(self) -> None:
        self._unsaved.save()
        game, self._game = self._game, None
        if game is not None:
            game.journal.close()
            if self._stage is not None and self._record:
                self._stage.report_left(game.journal.meta.id)

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        """Refuse copy and pickle: two agents would write into one journal."""
        raise TypeError(
            "An RLAgent cannot be copied or pickled: it owns the files of its game. Make a new one with the same "
            "run_dir, also in another process; it plays the same model."
        )

    def _own(self) -> threading.RLock:
        """The lock that every call holds; raises an error in a forked child, which has a copy of this agent."""
        if self._pid != os.getpid():
            raise RuntimeError(
                f"This RLAgent is a copy: it was made in process {self._pid}, which owns the files of its game. Make "
                "another one in this process, with the same run_dir; it plays the same model."
            )
        return self._turn

    def __enter__(self) -> RLAgent:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---- experience -------------------------------------------------------------------------------------------------

    def save_experience_data(self, path: str | os.PathLike[str]) -> bool:
        """Save the last finished game to a file of your choice. True once the file exists, False if there is no game.

        `end_episode` has already saved the game for the learner; the copy is not counted as a second game.
        """
        if self._last is None:
            return False
        write_episode(Path(path), self._last, compress=self._storage.compress)
        return True

    def begin_episode(self, *, trial: int | None = None, **about: Any) -> None:
        """Start a game: load the newest model and record notes about the game (`map`, `opponent_id` …).

        The first `select_action` does this too; calling it puts the notes into the file even if the bot is killed.
        `trial` is the action of the trial, if this game is one (`training.commitment`); None draws an action.
        """
        if trial is not None and not 0 <= trial < len(self.actions):
            raise ValueError(f"Action {trial} cannot be tried: there are actions 0 to {len(self.actions) - 1}.")
        with self._own():
            self._leave_game()
            self._begin_episode(about, trial)

    def _begin_episode(self, about: Mapping[str, Any] = MappingProxyType({}), trial: int | None = None) -> LiveGame:
        self._mend()
        self.reload_if_newer()
        commitment = self._draw_commitment(trial)
        purpose = {} if commitment is None else {PURPOSE: TRIAL}  # the result of a trial says little about the policy
        meta = EpisodeMeta(
            features_hash=self._model.base.spec.features_hash,
            actions=self.actions,
            seed=self._seed,
            **meta_notes(purpose | dict(about), {}),
        )
        self._playing = playing = self._model
        if self._stage is not None:
            self._playing = playing = self._stage.model_for(meta, self._model, counts=self._record)
        meta = dataclasses.replace(meta, model_version=playing.version)
        folder = self._run.live if self._run is not None and self._record else None
        self._game = LiveGame(
            Journal(folder, meta, self.state_dim, len(self.actions)),
            self.actions,
            playing.network,
            playing.trainer,
            exploration=self._model.exploration,  # the same for every version, so that versions are compared fairly
            commitment=commitment,
            uniform=self._chance.uniform,
            feature_name=self._model.feature_name,
        )
        return self._game

    def _mend(self) -> None:
        if self._run is not None and self._record:
            try:
                self._run.mend()
            except RunDirError as error:
                logger.warning("%s The game is kept in memory.", error)

    def _draw_commitment(self, trial: int | None) -> Commitment | None:
        share = self._model.commitment if self._try_out else 0.0
        stretch, uniform = self._model.base.training.commitment_stretch, self._chance.uniform
        return draw_commitment(share, stretch, len(self.actions), uniform, trial)

    def wait_for_learner(self, backlog: int = 0, timeout: float = 60.0) -> bool:
        """Wait until at most `backlog` games wait for the learner, or until the learner waits for more games.

        False if this takes longer than `timeout` seconds. Use it in loops that play faster than the learner learns,
        such as simulations; otherwise games are outdated by the time they are used.
        """
        return self._run is None or wait_for_learner(self._run, backlog, timeout)

    # ---- learning ---------------------------------------------------------------------------------------------------

    def train_from_batch(self, experiences: Iterable[Episode | Mapping[str, Any]]) -> dict[str, Any]:
        """Train on games (episodes, dicts of arrays, or what np.load returns) and return loss, total_steps and more.

        The agent plays with the new weights at once; `save_model` publishes them.
        """
        episodes = [episode_from(experience, self._model.expected) for experience in experiences]
        if not episodes:
            return {"loss": 0.0, "total_steps": 0}
        with self._own():
            return self._model.facts(self._model.trainer.update(episodes))

    # ---- the model --------------------------------------------------------------------------------------------------

    def save_model(self, path: str | os.PathLike[str] | None = None) -> bool:
        """Publish what was trained here, or write the model to another file. True once the file exists."""
        with self._own():
            self._following.save(path)
        return True

    def load_model(self, path: str | os.PathLike[str] | None = None) -> bool:
        """Load the published model, or a model file; raises ModelMissing, ModelDamaged or ModelMismatch."""
        with self._own():
            self._following.load(path)
        return True

    def export_arrays(self) -> dict[str, NDArray[Any]]:
        """Copies of weights, optimizer and normaliser, for inspection or for another library."""
        return dict(self._model.export().arrays)

    def reload_if_newer(self) -> bool:
        """Load a newer published model and keep what was trained here in the meantime; True if there was one.

        Each game starts with this. If there is no newer model, it only checks the date of the file.
        """
        with self._own():
            return self._following.reload_if_newer()

    def _open_store(self, model_path: str | os.PathLike[str] | None) -> ModelStore | None:
        if self._run is None:
            return None
        model = self._run.model if model_path is None else Path(model_path).absolute()
        return ModelStore(model, self._run.ledger, keep=self._storage.model_versions)

    def _open_stage(self, settings: Settings | None) -> Stage | None:
        if self._run is None or self._store is None or not self._writable:
            return None
        chance = None if self._seed is None else random.Random(self._seed)
        return Stage(self._run, self._store, settings, chance)


def _made(run: RunDir) -> bool:
    try:
        run.create()
    except RunDirError as error:
        logger.warning("%s The bot continues, but nothing is recorded.", error)
        return False
    return True


def _trains_online(run: RunDir | None, wanted: OnlineTraining) -> bool:
    if wanted != "auto":
        return wanted
    return run is not None and not is_alive(read_status(run.status))


def _check_arguments(online_training: OnlineTraining, online_seconds: float, settings: Settings | None) -> None:
    if online_training not in (True, False, "auto"):
        raise SettingsError(f"online_training is {online_training!r}; it must be True, False or 'auto'.")
    if not isinstance(online_seconds, int | float) or not online_seconds >= 0:
        raise SettingsError(f"online_seconds is {online_seconds!r:.80}; it must be a number of at least 0.")
    if not isinstance(settings, Settings | None):
        raise SettingsError(f"settings is {settings!r:.80}; it must be a Settings, which load_settings() returns.")
