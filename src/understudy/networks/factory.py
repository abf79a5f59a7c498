"""The one place where a network is made from its settings."""

from __future__ import annotations

import numpy as np

from understudy.errors import SettingsError
from understudy.networks.conv import ConvNet
from understudy.networks.mlp import Mlp
from understudy.networks.network import Network
from understudy.networks.transformer import TransformerDecisionModel
from understudy.settings import NetworkSettings


def model_factory(state_dim: int, n_actions: int, settings: NetworkSettings, rng: np.random.Generator) -> Network:
    """A new network of the kind that `settings.policy` names, with initial parameters drawn from `rng`."""
    match settings.policy:
        case "mlp":
            return Mlp(state_dim, n_actions, settings, rng)
        case "conv":
            return ConvNet(state_dim, n_actions, settings, rng)
        case "transformer":
            return TransformerDecisionModel(state_dim, n_actions, settings, rng)
        case "resnet":
            from understudy.networks.resnet import ActorCriticResTower  # noqa: PLC0415 - the door to torch

            return ActorCriticResTower(state_dim, n_actions, settings, rng)
    raise SettingsError(f"network.policy is {settings.policy!r}; there is mlp, conv, transformer and resnet.")
