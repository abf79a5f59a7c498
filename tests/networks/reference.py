"""The networks written again in torch, the plain way: every row against every row, no blocks, no bands, no buffers."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch.nn import functional

from understudy.networks.conv import ConvNet
from understudy.networks.mlp import Mlp
from understudy.networks.network import Floats, Integers, Network
from understudy.networks.transformer import TransformerDecisionModel


def parameters_of(network: Network) -> dict[str, torch.Tensor]:
    views = network.views(network.parameters)
    return {name: torch.tensor(view).requires_grad_() for name, view in views.items()}


def outputs_of(
    network: Network, weights: dict[str, torch.Tensor], states: Floats, starts: Integers
) -> tuple[torch.Tensor, torch.Tensor]:
    x = torch.tensor(states.astype(network.parameters.dtype))
    if isinstance(network, Mlp) and network.settings.separate:
        return _mlp(network, weights, x, "policy."), _mlp(network, weights, x, "value.")[:, 0]
    if isinstance(network, ConvNet):
        outputs = _mlp(network, weights, _convolved(network, weights, x))
    elif isinstance(network, Mlp):
        outputs = _mlp(network, weights, x)
    else:
        assert isinstance(network, TransformerDecisionModel)
        outputs = _affine(_transformer_trunk(network, weights, x, starts), weights["head"])
    return outputs[:, :-1], outputs[:, -1]


def _convolved(network: ConvNet, weights: dict[str, torch.Tensor], x: torch.Tensor) -> torch.Tensor:
    settings = network.settings
    x = x.reshape(-1, *settings.image).permute(0, 3, 1, 2)
    for i, (kernel, stride) in enumerate(zip(settings.kernels, settings.strides, strict=True)):
        matrix = weights[f"conv{i}"]
        filters = matrix[:-1].T.reshape(-1, kernel, kernel, x.shape[1]).permute(0, 3, 1, 2)
        x = torch.relu(functional.conv2d(x, filters, matrix[-1], stride=stride))
    return x.permute(0, 2, 3, 1).reshape(len(x), -1)


def _mlp(network: Mlp | ConvNet, weights: dict[str, torch.Tensor], x: torch.Tensor, prefix: str = "") -> torch.Tensor:
    inputs, skip = x, weights.get(f"{prefix}skip")
    for i in range(len(network.settings.hidden)):
        x = torch.relu(_affine(x, weights[f"{prefix}hidden{i}"]))
    outputs = _affine(x, weights[f"{prefix}head"])
    return outputs if skip is None else outputs + inputs @ skip


def flat_gradient(network: Network, weights: dict[str, torch.Tensor]) -> Floats:
    gradients = [weights[name].grad for name, _ in network.layout]
    return np.concatenate([g.numpy().ravel() for g in gradients if g is not None])


def _affine(x: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    return x @ weights[:-1] + weights[-1]


def _norm(x: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    return functional.layer_norm(x, (x.shape[1],), weights[0], weights[1], eps=1e-5)


def _transformer_trunk(
    network: TransformerDecisionModel, weights: dict[str, torch.Tensor], x: torch.Tensor, starts: Integers
) -> torch.Tensor:
    settings, n = network.settings, len(x)
    episode = torch.tensor(np.searchsorted(starts, np.arange(n), side="right"))
    distance = torch.arange(n)[:, None] - torch.arange(n)[None, :]
    seen = (distance >= 0) & (distance < settings.context) & (episode[:, None] == episode[None, :])
    d = settings.width // settings.heads
    x = _affine(x, weights["input"])
    for i in range(settings.layers):
        block = {name.split(".")[1]: w for name, w in weights.items() if name.startswith(f"block{i}.")}
        q, k, v = _affine(_norm(x, block["attention_norm"]), block["qkv"]).chunk(3, dim=1)
        mixed = []
        for head in range(settings.heads):
            part = slice(head * d, (head + 1) * d)
            bias = block["position_bias"][head, (settings.context - 1 - distance).clamp(0, settings.context - 1)]
            scores = (q[:, part] @ k[:, part].T) / math.sqrt(d) + bias
            mixed.append(scores.masked_fill(~seen, -math.inf).softmax(dim=1) @ v[:, part])
        x = x + _affine(torch.cat(mixed, dim=1), block["projection"])
        x = x + _affine(torch.relu(_affine(_norm(x, block["mlp_norm"]), block["up"])), block["down"])
    return _norm(x, weights["final_norm"])
