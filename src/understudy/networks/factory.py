"""The one place where a network is made from its settings."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from understudy.errors import SettingsError
from understudy.games.spec import networks_of_games, resolve
from understudy.networks.conv import ConvNet
from understudy.networks.mlp import Mlp
from understudy.networks.network import Network
from understudy.networks.transformer import TransformerDecisionModel
from understudy.settings import NetworkSettings

_NETWORKS: dict[str, Callable[..., Network]] = {"mlp": Mlp, "conv": ConvNet, "transformer": TransformerDecisionModel}


def model_factory(state_dim: int, n_actions: int, settings: NetworkSettings, rng: np.random.Generator) -> Network:
    """A new network of the kind that `settings.policy` names, with initial parameters drawn from `rng`."""
    make = _NETWORKS.get(settings.policy)
    if make is None:
        of_games = networks_of_games()
        if settings.policy not in of_games:
            known = ", ".join([*_NETWORKS, *of_games])
            raise SettingsError(f"network.policy is {settings.policy!r}; the known networks are {known}.")
        make = resolve(of_games[settings.policy])
    network: Network = make(state_dim, n_actions, settings, rng)
    return network
