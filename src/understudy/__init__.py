"""Understudy trains game-playing agents in the background and in parallel.

The names below are all there is to import; everything else may change. They are loaded on first use, so that a
process can choose its number of BLAS threads before NumPy is imported. This module itself imports next to nothing:
Ctrl-C while it is imported would give a traceback.
"""

from __future__ import annotations

import importlib

TYPE_CHECKING = False  # as in typing, which takes longer to import than all of this
if TYPE_CHECKING:
    from typing import Any

    from understudy.agent import Decision, RLAgent
    from understudy.errors import UnderstudyError
    from understudy.experience.episode import Episode, EpisodeMeta, read_episode, write_episode
    from understudy.games.shogi.actions import PolicyOutputMapper
    from understudy.games.shogi.network.res_tower import ActorCriticResTower
    from understudy.games.zerg.bot import WickedZergBotProImpl
    from understudy.learner.process import BackgroundParallelLearner
    from understudy.models.store import ModelStore
    from understudy.networks.factory import model_factory
    from understudy.networks.transformer import TransformerDecisionModel
    from understudy.parallel.communicator import WorkerCommunicator
    from understudy.parallel.local import ParallelManager
    from understudy.parallel.loop import TrainingLoopManager
    from understudy.parallel.synchronizer import ModelSynchronizer
    from understudy.settings import Settings, load_settings

__version__ = "0.1.0"

_HOMES = {
    "ActorCriticResTower": "understudy.games.shogi.network.res_tower",
    "BackgroundParallelLearner": "understudy.learner.process",
    "Decision": "understudy.agent",
    "Episode": "understudy.experience.episode",
    "EpisodeMeta": "understudy.experience.episode",
    "ModelStore": "understudy.models.store",
    "ModelSynchronizer": "understudy.parallel.synchronizer",
    "ParallelManager": "understudy.parallel.local",
    "PolicyOutputMapper": "understudy.games.shogi.actions",
    "RLAgent": "understudy.agent",
    "Settings": "understudy.settings",
    "TrainingLoopManager": "understudy.parallel.loop",
    "TransformerDecisionModel": "understudy.networks.transformer",
    "UnderstudyError": "understudy.errors",
    "WickedZergBotProImpl": "understudy.games.zerg.bot",
    "WorkerCommunicator": "understudy.parallel.communicator",
    "load_settings": "understudy.settings",
    "model_factory": "understudy.networks.factory",
    "read_episode": "understudy.experience.episode",
    "write_episode": "understudy.experience.episode",
}

__all__ = [
    "ActorCriticResTower",
    "BackgroundParallelLearner",
    "Decision",
    "Episode",
    "EpisodeMeta",
    "ModelStore",
    "ModelSynchronizer",
    "ParallelManager",
    "PolicyOutputMapper",
    "RLAgent",
    "Settings",
    "TrainingLoopManager",
    "TransformerDecisionModel",
    "UnderstudyError",
    "WickedZergBotProImpl",
    "WorkerCommunicator",
    "load_settings",
    "model_factory",
    "read_episode",
    "write_episode",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
