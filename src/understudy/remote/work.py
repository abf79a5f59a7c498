"""`understudy work`: one line makes a machine a self-play worker of a bucket.

It plays the bucket's game with the newest model, and uploads the games. It needs no open port, because it only sends
requests to the bucket. While the bucket does not answer, games wait on disk, up to `remote.outbox_bytes`.
"""

from __future__ import annotations

import logging
import os
import threading
from contextlib import ExitStack
from typing import Any

import numpy as np

from understudy.agent import RLAgent
from understudy.errors import RemoteError, RemoteUnavailable
from understudy.games.game import Game, open_game
from understudy.learner.process import BackgroundParallelLearner
from understudy.models.live import Interface, new_model
from understudy.models.store import ModelStore
from understudy.remote.bucket import Bucket
from understudy.remote.layout import DOCUMENT_BYTES, RUN, damaged, from_json, to_json
from understudy.remote.state import SyncState
from understudy.remote.sync import Sync
from understudy.rundir import RunDir
from understudy.settings import NetworkSettings, Settings, TrainingSettings

logger = logging.getLogger(__name__)

_MOST_UNSENT = 1000  # games; more would only become outdated here
_GAME = "game"  # the fact that stores its name
_LAST_SECONDS = 30.0  # time to send the last games at the end


def game_of(bucket: Bucket, game: str | None, known: str = "") -> str:
    """The game of a bucket. The first machine names it; RemoteError if this machine names another one.

    `known` is the game that this machine has played for the bucket before: it is named again if the bucket was emptied.
    """
    found = bucket.get(RUN, DOCUMENT_BYTES)
    if found is None and (game or known):
        bucket.create(RUN, to_json({"game": game or known}))
        found = bucket.get(RUN, DOCUMENT_BYTES)
    if found is None:
        raise RemoteError("No game is named in this bucket yet: add --game GAME on the first machine.")
    named = from_json(found.data, RUN).get("game")
    if not isinstance(named, str):
        raise damaged(RUN, "it does not name a game")
    if game not in (None, named):
        raise RemoteError(f"The game of this bucket is {named!r}, not {game!r}. Use another prefix for another game.")
    return named


def _known_game(run: RunDir, url: str, game: str | None, stop: threading.Event) -> str:
    """The game of the bucket; while it does not answer, the one that was played here before."""
    bucket = Bucket(url, stop=stop)
    run.create()
    with SyncState(run.ledger) as state:
        known = state.fact(_GAME)
        try:
            name = game_of(bucket, game, known)
        except RemoteUnavailable as error:
            if not known or not run.model.exists() or stop.is_set():
                raise
            logger.warning("%s Playing %s with the local model; games wait until the bucket answers.", error, known)
            return known
        state.remember(**{_GAME: name})
    return name


class Synchronizer(threading.Thread):
    """Synchronises the run with the bucket, in a separate thread, until `stop` is set."""

    def __init__(self, run: RunDir, url: str, settings: Settings, stop: threading.Event) -> None:
        super().__init__(name="understudy-sync", daemon=True)
        self._run_dir, self._url, self._settings, self._stop_event = run, url, settings, stop
        self.first_pass = threading.Event()
        self.facts: dict[str, Any] = {}
        self.error: Exception | None = None

    def run(self) -> None:
        """Synchronise; see Sync."""
        try:
            with Sync(self._run_dir, self._url, self._settings, stop=self._stop_event, told=self._told) as sync:
                sync.run()
                self._finish(sync)
                self.facts = sync.facts()
        except Exception as error:  # noqa: BLE001 - the thread's boundary; `work` raises it
            self.error = error
        finally:
            self.first_pass.set()
            self._stop_event.set()

    def _told(self, facts: dict[str, Any]) -> None:
        self.facts = facts
        if facts["state"] == "synchronised" or self._run_dir.model.exists():  # offline, a model is enough to play
            self.first_pass.set()

    def _finish(self, sync: Sync) -> None:
        """Send what is left; games that cannot be sent now are sent by the next `work` here."""
        timer = threading.Timer(_LAST_SECONDS, self._stop_event.set)
        self._stop_event.clear()
        timer.start()
        try:
            sync.all()
        except RemoteUnavailable as error:
            logger.warning("%s The last games are sent by the next start.", error)
        finally:
            timer.cancel()


def work(
    run: RunDir,
    url: str,
    settings: Settings,
    stop: threading.Event,
    *,
    game: str | None = None,
    games: int | None = None,
    learn: bool = False,
) -> dict[str, Any]:
    """Play until `stop` is set or `games` games are played; returns what was sent and received."""
    name = _known_game(run, url, game, stop)
    opened = open_game(name, 1)
    sync = Synchronizer(run, url, settings, stop)
    with ExitStack() as stack:
        stack.callback(opened.close)
        sync.start()
        stack.callback(sync.join)
        stack.callback(stop.set)
        sync.first_pass.wait()
        if sync.error is None and not stop.is_set():
            if learn:
                stack.enter_context(BackgroundParallelLearner(run_dir=run.root, verbose=False))
            played = _play(opened, run, sync, stop, games)
            logger.info("Played %d games of %s.", played, name)
    if sync.error is not None:
        raise sync.error
    return sync.facts


def _play(game: Game, run: RunDir, sync: Synchronizer, stop: threading.Event, most: int | None) -> int:
    if not run.model.exists():  # this machine makes the first model, as the game recommends
        advice = game.model_settings()
        network, training = NetworkSettings(**advice.get("network", {})), TrainingSettings(**advice.get("training", {}))
        interface = Interface(game.state_dim, game.actions, game.features_hash, game.features)
        store = ModelStore(run.model, run.ledger)
        store.create(new_model(interface, network, training, int.from_bytes(os.urandom(6))))
    agents = [
        RLAgent(game.state_dim, game.actions, run_dir=run.root, online_training=False, features=game.features)
        for _ in range(game.players)
    ]
    game.reset(np.random.SeedSequence(int.from_bytes(os.urandom(8))))
    table = Table(game, agents)
    played = 0
    while not stop.is_set() and (most is None or played < most):
        if sync.facts.get("games_unsent", 0) >= _MOST_UNSENT and stop.wait(1.0):
            break
        played += table.play_game(stop)
    for agent in agents:
        agent.close()
    return played


class Table:
    """Plays one match after the other; each player is an agent and records its own decisions and rewards."""

    def __init__(self, game: Game, agents: list[RLAgent]) -> None:
        self._game, self._agents = game, agents
        self._state = np.zeros((1, game.state_dim), np.float32)
        self._legal = np.ones((1, len(game.actions)), np.bool_)

    def play_game(self, stop: threading.Event) -> int:
        """Play one game to the end; returns 1, or 0 if stopped before."""
        returns = [0.0] * len(self._agents)
        decided: set[int] = set()
        while not stop.is_set():
            self._game.observe(self._state)
            if self._game.masked:
                self._game.legal(self._legal)
            side = int(self._game.to_move()[0])
            decision = self._agents[side].select_action(self._state[0], self._legal[0] if self._game.masked else None)
            decided.add(side)
            step = self._game.step(np.array([decision.action], np.int64))
            reward = float(step.rewards[0])
            for player in decided:
                mine = reward if player == side else -reward
                self._agents[player].observe_reward(mine)
                returns[player] += mine
            if step.over[0] or step.cut[0]:
                self._end(decided, returns, bool(step.cut[0]), step.finals[0], int(step.final_sides[0]))
                return 1
        return 0

    def _end(self, decided: set[int], returns: list[float], cut: bool, final: Any, side: int) -> None:
        for player in decided:
            won = "Victory" if returns[player] > 0 else "Defeat" if returns[player] < 0 else "Tie"
            result = won if len(self._agents) == 2 and not cut else "Unknown"
            last = final if cut and player == side else None
            self._agents[player].end_episode(result, final_state=last, game=self._game.name)
