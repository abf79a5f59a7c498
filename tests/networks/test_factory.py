from __future__ import annotations

import numpy as np
import pytest

from understudy.errors import SettingsError
from understudy.networks.conv import ConvNet
from understudy.networks.factory import model_factory
from understudy.networks.mlp import Mlp
from understudy.networks.network import Network
from understudy.networks.transformer import TransformerDecisionModel
from understudy.settings import NetworkSettings


@pytest.mark.parametrize(
    ("settings", "kind"),
    [
        (NetworkSettings(policy="mlp", hidden=(5,)), Mlp),
        (NetworkSettings(policy="conv", image=(1, 3, 1), kernels=(1,)), ConvNet),
        (NetworkSettings(policy="transformer", width=8, heads=2), TransformerDecisionModel),
    ],
)
def test_the_policy_setting_names_the_network(settings: NetworkSettings, kind: type[Network]) -> None:
    network = model_factory(3, 4, settings, np.random.default_rng(0))
    assert type(network) is kind
    assert (network.state_dim, network.n_actions, network.settings) == (3, 4, settings)
    assert network.parameters.dtype == np.float32


def test_an_unknown_policy_is_a_settings_error() -> None:
    settings = NetworkSettings()
    object.__setattr__(settings, "policy", "oracle")  # as if a newer version had written the model
    with pytest.raises(SettingsError, match="oracle"):
        model_factory(3, 4, settings, np.random.default_rng(0))
