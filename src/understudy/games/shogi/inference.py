"""The network for play, with the fastest of the installed backends: compiled code, torch, onnxruntime or OpenVINO.

An evaluator takes planes (N, 46, 9, 9) and returns logits (N, 13527) and probabilities of win, draw and loss (N, 3). It
is a copy of the network: after the weights change, make a new one.
"""

from __future__ import annotations

import importlib.util
import io
import time
import warnings
from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from understudy.errors import SettingsError
from understudy.games.shogi.batch import SHAPE
from understudy.games.shogi.network.convolutions import Convolutions, TorchConvolutions, convolutions
from understudy.games.shogi.network.folded import FoldedTower
from understudy.games.shogi.network.modules import Tower
from understudy.games.shogi.network.res_tower import ActorCriticResTower
from understudy.games.shogi.potential import material_of_planes, potential

Outputs = tuple[NDArray[np.float32], NDArray[np.float32]]
Evaluator = Callable[[NDArray[np.float32]], Outputs]


class TowerInPlay(nn.Module):
    """The tower with its norms folded into its convolutions, and probabilities instead of logits for the value."""

    def __init__(self, tower: Tower, convolutions: Convolutions) -> None:
        super().__init__()
        self.tower = FoldedTower(tower, convolutions)
        for weights in self.tower.weights:
            weights.requires_grad_(False)  # an export stores only such tensors as constants

    def forward(self, planes: Tensor) -> tuple[Tensor, Tensor]:
        """Logits, and probabilities of win, draw and loss."""
        with torch.no_grad():  # also during an export
            logits, wdl = self.tower(planes)
        return logits, torch.softmax(wdl, dim=1)


def compiled_evaluator(network: ActorCriticResTower) -> Evaluator:
    """Evaluate with our own compiled code; needs numba."""
    compiled = convolutions("compiled")
    evaluate = _evaluator(network, compiled)
    with compiled.announced():
        evaluate(np.zeros((1, *SHAPE), np.float32))
    return evaluate


def torch_evaluator(network: ActorCriticResTower) -> Evaluator:
    """Evaluate with torch."""
    return _evaluator(network, TorchConvolutions())


def _evaluator(network: ActorCriticResTower, by: Convolutions) -> Evaluator:
    player = TowerInPlay(network.tower, by)

    def evaluate(planes: NDArray[np.float32]) -> Outputs:
        with torch.inference_mode():
            logits, wdl = player(torch.from_numpy(planes))
        return logits.numpy(), wdl.numpy()

    return evaluate


def onnxruntime_evaluator(network: ActorCriticResTower) -> Evaluator:
    """Evaluate with onnxruntime, on one thread."""
    import onnxruntime  # noqa: PLC0415 - optional

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(onnx_bytes(network), options, providers=["CPUExecutionProvider"])

    def evaluate(planes: NDArray[np.float32]) -> Outputs:
        logits, wdl = session.run(None, {"planes": planes})
        return logits, wdl

    return evaluate


def openvino_evaluator(network: ActorCriticResTower) -> Evaluator:
    """Evaluate with OpenVINO, on one thread, in full float32."""
    import openvino  # noqa: PLC0415 - optional

    model = openvino.Core().read_model(io.BytesIO(onnx_bytes(network)))
    hints = {"INFERENCE_NUM_THREADS": 1, "INFERENCE_PRECISION_HINT": "f32", "PERFORMANCE_HINT": "LATENCY"}
    request = openvino.Core().compile_model(model, "CPU", hints).create_infer_request()

    def evaluate(planes: NDArray[np.float32]) -> Outputs:
        results = request.infer({"planes": planes})
        logits, wdl = results.to_tuple()
        return np.array(logits), np.array(wdl)

    return evaluate


def onnx_bytes(network: ActorCriticResTower) -> bytes:
    """The network as an ONNX file: `planes` (N, planes, 9, 9) in, `logits` (N, 13527) and `wdl` (N, 3) out."""
    stream = io.BytesIO()
    axes = {name: {0: "n"} for name in ("planes", "logits", "wdl")}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the newer exporter needs more packages
        torch.onnx.export(
            TowerInPlay(network.tower, TorchConvolutions()).eval(),
            (torch.zeros((2, *SHAPE)),),
            stream,  # type: ignore[arg-type]  # this exporter accepts a stream
            dynamo=False,
            input_names=["planes"],
            output_names=["logits", "wdl"],
            dynamic_axes=axes,
        )
    return stream.getvalue()


BACKENDS: dict[str, tuple[Callable[[ActorCriticResTower], Evaluator], tuple[str, ...]]] = {
    "compiled": (compiled_evaluator, ("numba",)),
    "torch": (torch_evaluator, ("torch",)),
    "onnxruntime": (onnxruntime_evaluator, ("onnxruntime", "onnx")),
    "openvino": (openvino_evaluator, ("openvino", "onnx")),
}


STRETCH = 4.0
_SURE = 0.999999


def with_potential(evaluate: Evaluator) -> Evaluator:
    """For a network that learned from rewards shaped by material: the same policy, and values with material in them.

    Self-play values a rook at an eighth of a win: beginners give it back, and a win far ahead is discounted. A search
    would look at bad moves nearly as often as at good ones. So values are stretched to the scale of shogi programs.
    """

    def whole(planes: NDArray[np.float32]) -> Outputs:
        logits, wdl = evaluate(planes)
        value = np.clip(wdl[:, 0] - wdl[:, 2] + potential(material_of_planes(planes)), -_SURE, _SURE)
        value = np.tanh(STRETCH * np.arctanh(value))
        draw = np.minimum(wdl[:, 1], 1 - np.abs(value))
        won = (1 - draw + value) / 2
        return logits, np.stack([won, draw, won - value], axis=1).astype(np.float32)

    return whole


def installed() -> list[str]:
    """The backends that are installed."""
    return [name for name, (_, needs) in BACKENDS.items() if all(importlib.util.find_spec(module) for module in needs)]


def make_evaluator(
    network: ActorCriticResTower, backend: str = "fastest", batch: int = 1, seconds: float = 0.2
) -> tuple[Evaluator, str]:
    """An evaluator and a description of it. `fastest` measures each backend for `seconds` at this batch size."""
    if backend != "fastest":
        if backend not in installed():
            raise SettingsError(f"The backend {backend!r} is not installed; there is {', '.join(installed())}.")
        return BACKENDS[backend][0](network), f"{backend} (chosen)"
    made = {name: BACKENDS[name][0](network) for name in installed()}
    speeds = {name: _speed(evaluate, batch, seconds) for name, evaluate in made.items()}
    best = max(speeds, key=lambda name: speeds[name])
    measured = ", ".join(f"{name} {speed:,.0f}/s" for name, speed in speeds.items())
    return made[best], f"{best} (positions at batch {batch}: {measured})"


def _speed(evaluate: Evaluator, batch: int, seconds: float) -> float:
    """Positions a second, after a warm-up."""
    planes = np.zeros((batch, *SHAPE), np.float32)
    evaluate(planes)
    evaluate(planes)
    start = now = time.perf_counter()
    calls = 0
    while now - start < seconds:
        evaluate(planes)
        calls += 1
        now = time.perf_counter()
    return batch * calls / (now - start)
