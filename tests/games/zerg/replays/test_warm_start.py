from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from understudy.errors import ModelError, ReplayError
from understudy.games.zerg import state
from understudy.games.zerg.policy import zerg_agent
from understudy.games.zerg.replays.examples import KNOWN
from understudy.games.zerg.replays.warm_start import warm_start
from understudy.games.zerg.strategies import NAMES as STRATEGIES
from understudy.ledger import Ledger
from understudy.models.store import ModelStore
from understudy.rundir import RunDir

EXPAND, ATTACK = STRATEGIES.index("EXPAND"), STRATEGIES.index("ATTACK")


def game(seed: int, snapshots: int = 80) -> dict[str, Any]:
    """A player who expands in the first half of the game and attacks in the second."""
    rng = np.random.default_rng(seed)
    states = rng.random((snapshots, len(KNOWN))).astype(np.float32)
    states[:, KNOWN.index("seconds")] = np.linspace(0, 1, snapshots)
    strategies = [EXPAND if number < snapshots // 2 else ATTACK for number in range(snapshots)]
    return {"states": states.tolist(), "strategies": strategies}


def favourite(run: RunDir, seconds: float) -> str:
    agent = zerg_agent(run.root, record=False, online_training=False)
    features = np.full(state.STATE_DIM, 0.5, np.float32)
    features[state.NAMES.index("seconds")] = seconds
    return agent.select_action(features, explore=False).label


def test_a_new_policy_does_what_winners_did_and_is_published(tmp_path: Path) -> None:
    run = RunDir.at(tmp_path)
    done = warm_start(run, [game(seed) for seed in range(10)], seed=0)
    assert (done.version, done.games, done.strategies) == (2, 10, {"EXPAND": 400, "ATTACK": 400})
    assert done.imitation.loss < done.imitation.loss_before / 2
    assert (favourite(run, 0.1), favourite(run, 0.9)) == ("EXPAND", "ATTACK")
    with Ledger(run.ledger) as ledger:
        assert ledger.versions()[-1].publisher == "replays"


def test_a_policy_that_has_learned_from_games_is_not_touched(tmp_path: Path) -> None:
    run = RunDir.at(tmp_path)
    agent = zerg_agent(run.root, seed=0, online_training=True)
    agent.select_action(np.zeros(state.STATE_DIM))
    agent.end_episode("Victory")
    agent.close()
    before = ModelStore(run.model, run.ledger).load().version
    with pytest.raises(ModelError, match="has learned from 1 games already"):
        warm_start(run, [game(0), game(1)])
    assert ModelStore(run.model, run.ledger).load().version == before


def test_too_few_games_are_said(tmp_path: Path) -> None:
    with pytest.raises(ReplayError, match="needs at least 2"):
        warm_start(RunDir.at(tmp_path), [game(0)])
