"""Observations of a Gymnasium environment that are images, and the network that suits them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from understudy.errors import SettingsError

_MOST_PIXELS = 100 * 100
_FEW_PIXELS = 32 * 32
_KERNEL = 3


@dataclass(frozen=True, slots=True)
class Image:
    """A three-dimensional observation as an image: its height and width, and the axis of its channels."""

    height: int
    width: int
    channels: int
    channels_first: bool
    scaled: bool
    """Whether all values already lie within 0 and 1."""

    def flat(self, seen: NDArray[Any]) -> NDArray[Any]:
        """The image as a flat array, row by row, with the channels of a pixel together."""
        return (np.moveaxis(seen, 0, 2) if self.channels_first else seen).reshape(-1)

    @property
    def settings(self) -> Mapping[str, Mapping[str, Any]]:
        """The network settings of a new model by default.

        Small images: as in the baselines of MinAtar (Young & Tian 2019). Larger ones: the two convolutions of Mnih et
        al. 2013, whose strides leave few enough positions for a hidden layer.
        """
        network: dict[str, Any] = {"policy": "conv", "image": (self.height, self.width, self.channels)}
        if self.height * self.width <= _FEW_PIXELS or min(self.height, self.width) < 20:
            network |= {"filters": (16,), "kernels": (_KERNEL,), "strides": (1,), "hidden": (128,)}
        else:
            network |= {"filters": (16, 32), "kernels": (8, 4), "strides": (4, 2), "hidden": (256,)}
        # Values between 0 and 1 need no normalising, which would blow up pixels that are rarely set.
        return {"network": network, "training": {"normalize_states": False} if self.scaled else {}}


def image_of(space: gymnasium.Space[Any], name: str) -> Image | None:
    """The image in an observation; None if it is not an image. SettingsError if it is too large to learn from."""
    if not isinstance(space, gymnasium.spaces.Box) or len(space.shape) != 3:
        return None
    first = space.shape[0] < space.shape[2]
    height, width, channels = (*space.shape[1:], space.shape[0]) if first else space.shape
    if min(height, width) < _KERNEL:
        return None
    if height * width > _MOST_PIXELS:
        raise SettingsError(
            f"{name} shows images of {height} × {width} pixels; networks here take at most {_MOST_PIXELS:,} pixels. "
            "Make them smaller: in a module of your own, register an environment that wraps it in Gymnasium's "
            "ResizeObservation (84 × 84, say) and GrayscaleObservation, and name the module with --import."
        )
    scaled = bool(np.all(space.low.astype(np.float64) >= 0) and np.all(space.high.astype(np.float64) <= 1))
    return Image(height, width, channels, first, scaled)
