"""The sidecar: many games of many bots on one run, each with an agent, behind the messages of protocol.py."""

from __future__ import annotations

import logging
import math
import os
import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from understudy.agent import RLAgent
from understudy.errors import ModelMismatch, ModelMissing, SettingsError, UnderstudyError
from understudy.models.state import read_model
from understudy.run.status import is_alive, read_status
from understudy.rundir import RunDir
from understudy.serve.protocol import PROTOCOL, RequestError, check
from understudy.settings import Settings

logger = logging.getLogger(__name__)

MOST_GAMES = 4096
_REMEMBERED = 10_000  # ended games whose answer is kept for repeated requests
_IDLE_AGENTS = 64  # kept for later games
_ID = re.compile(r"[A-Za-z0-9-]{1,64}")
_NOT_NOTES = {"self", "trial", "result", "final_state"}

Answer = dict[str, Any]


class ServedGame:
    """A running game. Its lock orders the messages of one bot; other games do not wait for it."""

    def __init__(self, name: str, agent: RLAgent) -> None:
        self.name, self.agent = name, agent
        self.lock = threading.Lock()
        self.seq = 0
        self.answer: Answer = {}
        self.touched = time.monotonic()
        self.ended = False


class Sidecar:
    """Answers messages. Agents of ended games are reused, so a new game loads no model."""

    def __init__(self, run_dir: str | Path, settings: Settings | None = None, *, idle_seconds: float = 600.0) -> None:
        self.run = RunDir.at(run_dir)
        self._settings = settings
        self._idle_seconds = idle_seconds
        self._lock = threading.RLock()
        self._interface: tuple[list[str] | int, list[str]] | None = None
        self._games: dict[str, ServedGame] = {}
        self._ended: OrderedDict[str, tuple[int, Answer]] = OrderedDict()
        self._agents: list[RLAgent] = []
        self._count = [0, 0]  # ended games, decisions
        self._handlers: Mapping[str, Callable[[Mapping[str, Any]], Answer]] = {
            "hello": self._hello,
            "begin": self._begin,
            "act": lambda request: self._in_game(request, self._act),
            "acts": self._acts,
            "reward": lambda request: self._in_game(request, self._reward),
            "end": self._end,
            "status": self._status,
        }

    def answer(self, name: str, request: Mapping[str, Any]) -> Answer:
        """Answer one message; RequestError says why it is refused."""
        handler = self._handlers.get(name)
        if handler is None:
            raise RequestError(404, f"There is no message {name[:40]!r}; there are {', '.join(self._handlers)}.")
        check(name, request)
        return handler(request)

    def sizes(self) -> tuple[int, int]:
        """The number of features and of actions."""
        features, actions = self._interface_of_run()
        return features if isinstance(features, int) else len(features), len(actions)

    def close_idle(self) -> int:
        """Close games without messages for a long time; the learner salvages what was recorded. Returns how many."""
        limit = time.monotonic() - self._idle_seconds
        with self._lock:
            idle = [game for game in self._games.values() if game.touched < limit]
        for game in idle:
            with game.lock:
                if not game.ended and game.touched < limit:
                    logger.warning("Game %s had no message for %.0f s and is closed.", game.name, self._idle_seconds)
                    self._forget(game)
                    game.agent.close()
        return len(idle)

    def close(self) -> None:
        """Close all games. Unfinished ones stay in their journals, from which the learner salvages them."""
        with self._lock:
            games, self._games = list(self._games.values()), {}
            agents, self._agents = self._agents, []
        for game in games:
            with game.lock:
                game.ended = True
                game.agent.close()
        for agent in agents:
            agent.close()

    # ---- the messages -----------------------------------------------------------------------------------------------

    def _hello(self, request: Mapping[str, Any]) -> Answer:
        if ("features" in request) != ("actions" in request):
            raise RequestError(400, "hello takes features and actions together, or neither.")
        with self._lock:
            if "features" in request:
                self._adopt(request["features"], request["actions"])
            features, actions = self._interface_of_run()
            agent = self._agent()
            self._agents.append(agent)
        return {
            "protocol": PROTOCOL,
            "features": features,
            "actions": actions,
            "model_version": agent.model_version,
        }

    def _begin(self, request: Mapping[str, Any]) -> Answer:
        name = request.get("game") or os.urandom(8).hex()
        if not _ID.fullmatch(name):
            raise RequestError(400, "The id of a game is 1 to 64 letters, digits and '-'.")
        about = _notes(request)
        with self._lock:
            if name in self._games or name in self._ended:
                running = self._games.get(name)
                if running is not None and request.get("seq") == 0 == running.seq:
                    return running.answer
                raise RequestError(409, f"There is a game {name} already.")
            if len(self._games) >= MOST_GAMES:
                raise RequestError(429, f"{MOST_GAMES} games are running; end some first.")
            game = self._games[name] = ServedGame(name, self._agent())
            game.lock.acquire()
        try:
            game.agent.begin_episode(**about)
            game.answer = {"game": name, "model_version": game.agent.model_version}
            return game.answer
        finally:
            game.lock.release()

    def _act(self, game: ServedGame, request: Mapping[str, Any]) -> Answer:
        agent, legal = game.agent, request.get("legal")
        state = _numbers("state", request["state"], agent.state_dim)
        if legal is not None:
            if len(legal) != len(agent.actions) or not any(legal) or not all(value in (0, 1) for value in legal):
                raise RequestError(400, f"legal has one true or false for each of the {len(agent.actions)} actions.")
            legal = [bool(value) for value in legal]
        if reward := _reward(request):
            agent.observe_reward(reward)
        decision = agent.select_action(state, legal, request.get("explore", True))
        self._count[1] += 1
        return {
            "action": decision.action,
            "label": decision.label,
            "probability": float(decision.probability),
            "value": float(decision.value),
        }

    def _acts(self, request: Mapping[str, Any]) -> Answer:
        results = []
        for act in request["acts"]:
            try:
                if not isinstance(act, dict):
                    raise RequestError(400, "acts holds JSON objects.")
                results.append(self.answer("act", act))
            except UnderstudyError as error:
                results.append({"error": str(error)})
        return {"results": results}

    def _reward(self, game: ServedGame, request: Mapping[str, Any]) -> Answer:
        game.agent.observe_reward(_reward(request))
        return {}

    def _end(self, request: Mapping[str, Any]) -> Answer:
        with self._lock:
            if request["game"] in self._ended:
                seq, answer = self._ended[request["game"]]
                if request.get("seq", seq) == seq:
                    return answer
        return self._in_game(request, self._end_game)

    def _end_game(self, game: ServedGame, request: Mapping[str, Any]) -> Answer:
        final, about = request.get("final_state"), _notes(request)
        if final is not None:
            final = _numbers("final_state", final, game.agent.state_dim)
        if reward := _reward(request):
            game.agent.observe_reward(reward)
        done = game.agent.end_episode(request.get("result", "Unknown"), final_state=final, **about)
        answer = {
            "steps": done["steps"],
            "result": done["result"],
            "saved": done["saved"] is not None,
            "total_reward": done.get("total_reward", 0.0),
        }
        with self._lock:
            self._ended[game.name] = request.get("seq", game.seq), answer
            while len(self._ended) > _REMEMBERED:
                self._ended.popitem(last=False)
            self._forget(game)
            self._count[0] += 1
            keep = len(self._agents) < _IDLE_AGENTS
            if keep:
                self._agents.append(game.agent)
        if not keep:
            game.agent.close()
        return answer

    def _status(self, _request: Mapping[str, Any]) -> Answer:
        status = read_status(self.run.status)
        learner = str(status.get("state", "none")) if is_alive(status) else "none"
        ended, decisions = self._count
        found = {"protocol": PROTOCOL, "games": len(self._games), "ended": ended, "decisions": decisions}
        return found | {"learner": learner}

    # ---- games and agents -------------------------------------------------------------------------------------------

    def _in_game(self, request: Mapping[str, Any], work: Callable[[ServedGame, Mapping[str, Any]], Answer]) -> Answer:
        """Do the work in its game; if this message was already answered, return the same answer again."""
        game = self._games.get(request["game"])
        if game is None:
            raise RequestError(404, f"There is no running game {request['game'][:64]!r}.")
        with game.lock:
            if game.ended:
                raise RequestError(404, f"The game {game.name} has ended.")
            seq = request.get("seq")
            if seq is not None and seq != game.seq + 1:
                if seq == game.seq:
                    return game.answer
                raise RequestError(409, f"The next message of game {game.name} has seq {game.seq + 1}, not {seq}.")
            answer = work(game, request)
            game.seq, game.answer, game.touched = game.seq + 1, answer, time.monotonic()
            return answer

    def _forget(self, game: ServedGame) -> None:
        game.ended = True
        with self._lock:
            self._games.pop(game.name, None)

    def _adopt(self, features: list[Any] | int, actions: list[Any] | int) -> None:
        labels = [f"action {i}" for i in range(actions)] if isinstance(actions, int) else actions
        names = features if isinstance(features, int) else list(features)
        texts = labels if isinstance(names, int) else [*labels, *names]
        if not all(isinstance(text, str) for text in texts):
            raise RequestError(400, "Names of features and actions are texts.")
        if self._interface not in (None, (names, labels)):
            raise RequestError(409, "Another bot has said hello with other features or actions; one run has one model.")
        before, self._interface = self._interface, (names, labels)
        try:
            self._agents.append(self._agent())
        except (ModelMismatch, SettingsError) as error:
            self._interface = before
            raise RequestError(409, str(error)) from None

    def _interface_of_run(self) -> tuple[list[str] | int, list[str]]:
        with self._lock:
            if self._interface is None:
                try:
                    state = read_model(self.run.model)
                except ModelMissing:
                    raise RequestError(409, "This run has no model yet: say hello with features and actions.") from None
                features = state.spec.state_dim if state.features is None else list(state.features)
                self._interface = features, list(state.spec.actions)
            return self._interface

    def _agent(self) -> RLAgent:
        with self._lock:
            if self._agents:
                return self._agents.pop()
            features, actions = self._interface_of_run()
            names, size = (None, features) if isinstance(features, int) else (features, len(features))
            return RLAgent(size, actions, run_dir=self.run.root, features=names, settings=self._settings)


def _notes(request: Mapping[str, Any]) -> Mapping[str, Any]:
    about: Mapping[str, Any] = request.get("about", {})
    if clash := _NOT_NOTES.intersection(about):
        raise RequestError(400, f"A note cannot be called {', '.join(sorted(clash))}.")
    return about


def _reward(request: Mapping[str, Any]) -> float:
    reward = float(request.get("reward", 0.0))
    if not math.isfinite(reward):
        raise RequestError(400, "A reward is a finite number.")
    return reward


def _numbers(name: str, values: Any, count: int) -> Any:
    if len(values) != count:
        raise RequestError(400, f"{name} has {len(values)} numbers; this model has {count} features.")
    if isinstance(values, list) and not all(type(value) in (float, int) for value in values):
        raise RequestError(400, f"{name} is a list of numbers.")
    return values
