"""Shogi as a PettingZoo environment, so that other people's libraries can play it."""

from __future__ import annotations

from typing import Any, ClassVar

import cshogi
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from pettingzoo import AECEnv

from understudy.games.shogi.actions import ACTIONS, PolicyOutputMapper
from understudy.games.shogi.batch import SHAPE, observe
from understudy.games.shogi.errors import GameError
from understudy.games.shogi.rules import MAX_MOVES, START, Ending, ShogiGame

AGENTS = ("player_0", "player_1")
_MAPPER = PolicyOutputMapper()


class ShogiEnvironment(AECEnv):  # type: ignore[misc]  # PettingZoo is not typed
    """Two agents: `player_0`, who is Black, and `player_1`.

    Observations are dicts of `observation` (46, 9, 9) and `action_mask` (13527,). Rewards come at the end: 1, 0 or −1.
    A game cut at its maximum of moves is truncated, not terminated. An illegal action raises GameError.
    """

    metadata: ClassVar[dict[str, Any]] = {"name": "shogi_v0", "render_modes": ["ansi"], "is_parallelizable": False}

    def __init__(self, max_moves: int = MAX_MOVES, sfen: str = START, render_mode: str | None = None) -> None:
        super().__init__()
        self.max_moves = max_moves
        self.sfen = sfen
        self.render_mode = render_mode
        self.possible_agents = list(AGENTS)
        self._observation_space = spaces.Dict(
            {
                "observation": spaces.Box(0, 1, SHAPE, np.float32),
                "action_mask": spaces.Box(0, 1, (ACTIONS,), np.int8),
            }
        )
        self._action_spaces = {agent: spaces.Discrete(ACTIONS) for agent in AGENTS}
        self.game = ShogiGame(sfen, max_moves)

    def observation_space(self, agent: str) -> spaces.Dict:
        """The same space for both agents."""
        return self._observation_space

    def action_space(self, agent: str) -> spaces.Discrete:
        """The 13,527 actions."""
        return self._action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Begin a new game. Shogi has no randomness: the seed changes nothing."""
        self.game = ShogiGame(self.sfen, self.max_moves)
        self.agents = list(AGENTS)
        self.rewards = dict.fromkeys(AGENTS, 0.0)
        self._cumulative_rewards = dict.fromkeys(AGENTS, 0.0)
        self.terminations = dict.fromkeys(AGENTS, False)
        self.truncations = dict.fromkeys(AGENTS, False)
        self.infos: dict[str, dict[str, str]] = {agent: {} for agent in AGENTS}
        self.agent_selection = AGENTS[self.game.turn]

    def observe(self, agent: str) -> dict[str, NDArray[Any]]:
        """The observation of the player to move; the mask of the other player is empty."""
        planes = np.empty((1, *SHAPE), np.float32)
        observe([self.game], planes)
        mask = np.zeros(ACTIONS, np.int8)
        if agent == AGENTS[self.game.turn] and self.game.result is None:
            mask[:] = _MAPPER.get_legal_mask(self.game.board)
        return {"observation": planes[0], "action_mask": mask}

    def step(self, action: int | None) -> None:
        """Play an action of the selected agent; None for an agent whose game is over."""
        if self.terminations[self.agent_selection] or self.truncations[self.agent_selection]:
            self._was_dead_step(action)
            return
        if action is None:
            raise GameError("The game is not over: None is no action.")
        self._cumulative_rewards[self.agent_selection] = 0.0
        result = self.game.push(_MAPPER.policy_index_to_shogi_move(int(action), self.game.board))
        if result is not None:
            cut = result.ending is Ending.MAX_MOVES
            for player, agent in enumerate(AGENTS):
                self.rewards[agent] = result.for_player(player)
                self.terminations[agent], self.truncations[agent] = not cut, cut
                self.infos[agent] = {"ending": str(result.ending)}
        self.agent_selection = AGENTS[self.game.turn]
        self._accumulate_rewards()

    def render(self) -> str | None:
        """The board as text."""
        return str(cshogi.Board(self.game.board.sfen())) if self.render_mode == "ansi" else None

    def close(self) -> None:
        """Nothing to close."""
