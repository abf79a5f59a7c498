from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from understudy.errors import SettingsError
from understudy.networks.conv import ConvNet
from understudy.settings import NetworkSettings


def test_a_filter_finds_its_pattern_wherever_it_is() -> None:
    settings = NetworkSettings(policy="conv", image=(5, 5, 1), filters=(1,), kernels=(2,), strides=(1,), hidden=())
    network = ConvNet(25, 1, settings, np.random.default_rng(0))
    parts = network.views(network.parameters)
    parts["conv0"][:, 0] = np.array([1, -1, -1, 1, -1.5])  # a diagonal, and nothing less
    parts["head"][:] = 0
    parts["head"][:-1, -1] = 1  # the value counts them
    image = np.zeros((5, 5), np.float32)
    image[0, 0] = image[1, 1] = image[3, 2] = image[4, 3] = 1
    assert network.forward(image.reshape(1, 25))[1] == 1.0
    assert network.step(image.reshape(25))[1] == 1.0


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"image": ()}, "height, width and channels"),
        ({"image": (4, 3, 3)}, "which has 24 numbers"),
        ({"filters": (3, 3)}, "one for each convolution"),
        ({"filters": (), "kernels": (), "strides": ()}, "one for each convolution"),
        ({"kernels": (4,)}, "does not fit into 4 × 3 pixels"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(wrong: dict[str, Any], message: str) -> None:
    settings = NetworkSettings(**({"policy": "conv", "image": (4, 3, 2), "kernels": (3,)} | wrong))
    with pytest.raises(SettingsError, match=message):
        ConvNet(24, 2, settings, np.random.default_rng(0))
