"""Plays many games at once against one rival, to measure a policy without search."""

from __future__ import annotations

import numpy as np

from understudy.acting.sampling import draw_all
from understudy.games.shogi.matches import MOST_LEGAL, LeagueEntry, Rival, ShogiMatches
from understudy.games.shogi.players import POLICY_TEMPERATURE
from understudy.games.shogi.rules import MAX_MOVES
from understudy.games.shogi.score import ContestScore
from understudy.networks.network import Network


def contest(network: Network, rival: Rival, games: int, seed: int, max_moves: int = MAX_MOVES) -> ContestScore:
    """The score of moves drawn from the policy, as Black in half of the games. A game that was cut off is a draw."""
    matches = ShogiMatches(games, max_moves, [LeagueEntry(rival, games)])
    matches.reset(np.random.SeedSequence(seed))
    rng = np.random.default_rng([seed, games])
    states = np.empty((games, matches.state_dim), np.float32)
    legal = np.empty((games, MOST_LEGAL), np.bool_)
    results = np.full(games, np.nan)
    while (open_games := np.isnan(results)).any():
        matches.observe(states)
        matches.legal(legal)
        places = np.zeros(games, np.int64)  # matches that have ended continue with arbitrary moves
        logits, _ = network.evaluate(states[open_games])
        places[open_games], _ = draw_all(logits / POLICY_TEMPERATURE, legal[open_games], 0.0, rng)
        step = matches.step(places)
        ended = open_games & (step.over | step.cut)
        results[ended] = step.rewards[ended]
    return ContestScore(int((results == 1).sum()), int((results == 0).sum()), int((results == -1).sum()))
