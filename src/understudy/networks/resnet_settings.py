"""The shape of an ActorCriticResTower; readable without torch."""

from dataclasses import dataclass, field
from typing import Any, Literal

from understudy.settings import NetworkSettings


def _setting(default: Any, doc: str, at_least: float | None = None, at_most: float | None = None) -> Any:
    return field(default=default, metadata={"doc": doc, "at_least": at_least, "at_most": at_most})


@dataclass(frozen=True, slots=True)
class ResNetSettings(NetworkSettings):
    """A residual tower for a 9×9 board. It is part of the model: changing it means starting a new model."""

    policy: Literal["resnet"] = _setting("resnet", "the kind of network")  # type: ignore[assignment]
    blocks: int = _setting(9, "residual blocks", 0)
    channels: int = _setting(256, "width of the tower", 1)
    se_ratio: float = _setting(
        0.25, "width of the squeeze-and-excitation layers as a share of channels; 0 = none", 0, 1
    )
    policy_head: Literal["attention", "linear"] = _setting("attention", "from-to attention, or one linear layer")
    attention_width: int = _setting(32, "attention head: length of the queries and keys", 1)
    value_width: int = _setting(64, "width of the value head's hidden layer", 1)
