"""`understudy export --onnx`: a model as an ONNX graph, with its normalisers, for other languages and runtimes.

The graph of a core network takes `states` (N, S), not normalised, and returns `probabilities` and `logits` (N, A) and
`values` (N,) in units of reward. For a transformer, the rows are one game so far, and row t is the decision in state t.
A game's own network makes its graph with a method `to_onnx`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.errors import SettingsError
from understudy.files.atomic import write_atomically
from understudy.models.live import LiveModel
from understudy.models.state import ModelState
from understudy.models.store import ModelStore
from understudy.networks.affine import EPSILON
from understudy.rundir import RunDir

OPSET = 17


def to_onnx(run: RunDir, folder: Path, version: int | None = None) -> list[Path]:
    """Write a version, by default the one that bots load, as `model.onnx`; returns the file."""
    _, state = ModelStore(run.model, run.ledger).stored(version)
    content = onnx_bytes(state)
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / "model.onnx"
    write_atomically(target, lambda stream: stream.write(content))
    return [target]


def onnx_bytes(state: ModelState) -> bytes:
    """The ONNX file of a model."""
    model = LiveModel(state)
    own = getattr(model.network, "to_onnx", None)
    if own is not None:
        content: bytes = own()
        return content
    policy = state.spec.network.policy
    if policy not in ("mlp", "transformer"):
        raise SettingsError(f"A network of the kind {policy!r} cannot be exported as ONNX; mlp and transformer can.")
    graph = _Graph(state)
    normalized = graph.normalized(model)
    parts = model.network.views(model.network.parameters)
    if policy == "transformer":
        graph.heads(model, graph.transformer(normalized, parts), parts["head"])
    elif state.spec.network.separate:
        graph.heads(model, *graph.layers(normalized, parts, "policy."), policy_only=True)
        graph.value(model, graph.affine(*graph.layers(normalized, parts, "value.")))
    else:
        graph.heads(model, *graph.layers(normalized, parts, ""))
    return graph.finished()


class _Graph:
    """Nodes and constants, in the order in which they are added."""

    def __init__(self, state: ModelState) -> None:
        from onnx import TensorProto, helper, numpy_helper  # noqa: PLC0415 - an optional library

        self._types, self._helper, self._arrays = TensorProto, helper, numpy_helper
        self._state = state
        self._nodes: list[Any] = []
        self._constants: list[Any] = []

    def node(self, kind: str, *inputs: str | NDArray[Any], out: str = "", **attributes: Any) -> str:
        """Add an operation and return the name of its result. Arrays become constants."""
        names = [value if isinstance(value, str) else self._constant(value) for value in inputs]
        out = out or f"{kind.lower()}{len(self._nodes)}"
        self._nodes.append(self._helper.make_node(kind, names, [out], **attributes))
        return out

    def _constant(self, array: NDArray[Any]) -> str:
        name = f"constant{len(self._constants)}"
        self._constants.append(self._arrays.from_array(np.array(array, order="C"), name))
        return name

    def affine(self, x: str, weights: NDArray[Any]) -> str:
        """x·W + b, with b the last row."""
        return self.node("Add", self.node("MatMul", x, weights[:-1]), weights[-1])

    def normalized(self, model: LiveModel) -> str:
        """The normalised states, which the network takes."""
        normalizer = model.trainer.normalizer
        if not normalizer.enabled:
            return "states"
        centred = self.node("Sub", "states", normalizer.mean)
        return self.node(
            "Clip", self.node("Mul", centred, normalizer.scale), *(_scalar(sign * normalizer.limit) for sign in (-1, 1))
        )

    def layers(self, x: str, parts: dict[str, NDArray[Any]], prefix: str) -> tuple[str, NDArray[Any]]:
        """The input of a perceptron's last matrix, and that matrix: the skip matrix above the head."""
        inputs, head, skip = x, parts[f"{prefix}head"], parts.get(f"{prefix}skip")
        for name, weights in parts.items():
            if name.startswith(f"{prefix}hidden"):
                x = self.node("Relu", self.affine(x, weights))
        if skip is None:
            return x, head
        return self.node("Concat", inputs, x, axis=1), np.concatenate([skip, head])

    def transformer(self, states: str, parts: dict[str, NDArray[Any]]) -> str:
        """All blocks and the last norm."""
        settings = self._state.spec.network
        x = self.affine(states, parts["input"])
        distance, outside = self._distances(settings.context)
        for number in range(settings.layers):
            block = {name.partition(".")[2]: w for name, w in parts.items() if name.startswith(f"block{number}.")}
            qkv = self.affine(self._norm(x, block["attention_norm"]), block["qkv"])
            mixed = self._attend(qkv, block["position_bias"], distance, outside, settings.heads, settings.width)
            x = self.node("Add", x, self.affine(mixed, block["projection"]))
            active = self.node("Relu", self.affine(self._norm(x, block["mlp_norm"]), block["up"]))
            x = self.node("Add", x, self.affine(active, block["down"]))
        return self._norm(x, parts["final_norm"])

    def _distances(self, context: int) -> tuple[str, str]:
        """For each pair of rows, the column of its position bias, (N, N), and which pairs are outside the window."""
        count = self.node("Gather", self.node("Shape", "states"), np.array(0), axis=0)
        row = self.node("Range", np.array(0), count, np.array(1))
        apart = self.node("Sub", self.node("Unsqueeze", row, np.array([1])), self.node("Unsqueeze", row, np.array([0])))
        later, far = self.node("Less", apart, np.array(0)), self.node("Greater", apart, np.array(context - 1))
        column = self.node("Sub", np.array(context - 1), apart)
        return self.node("Clip", column, np.array(0), np.array(context - 1)), self.node("Or", later, far)

    def _attend(self, qkv: str, bias: NDArray[Any], distance: str, outside: str, heads: int, width: int) -> str:
        by_head = self.node("Reshape", qkv, np.array([0, 3, heads, width // heads]))
        query, key, value = (
            self.node("Transpose", self.node("Gather", by_head, np.array(part), axis=1), perm=order)
            for part, order in ((0, [1, 0, 2]), (1, [1, 2, 0]), (2, [1, 0, 2]))
        )
        scores = self.node("Mul", self.node("MatMul", query, key), _scalar((width // heads) ** -0.5))
        scores = self.node("Add", scores, self.node("Gather", bias, distance, axis=1))
        weights = self.node("Softmax", self.node("Where", outside, _scalar(-1e30), scores), axis=-1)
        mixed = self.node("Transpose", self.node("MatMul", weights, value), perm=[1, 0, 2])
        return self.node("Reshape", mixed, np.array([0, width]))

    def _norm(self, x: str, norm: NDArray[Any]) -> str:
        return self.node("LayerNormalization", x, norm[0], norm[1], axis=-1, epsilon=EPSILON)

    def heads(self, model: LiveModel, x: str, head: NDArray[Any], policy_only: bool = False) -> None:
        """The outputs of the policy and, on a shared trunk, of the value."""
        actions = len(self._state.spec.actions)
        logits = self.node("Add", self.node("MatMul", x, head[:-1, :actions]), head[-1, :actions], out="logits")
        self.node("Softmax", logits, axis=-1, out="probabilities")
        if not policy_only:
            self.value(model, self.affine(x, head[:, -1:]))

    def value(self, model: LiveModel, column: str) -> None:
        """The output of the value, in units of reward."""
        values = model.trainer.values
        scaled = self.node("Mul", self.node("Squeeze", column, np.array([1])), _scalar(values.spread))
        self.node("Add", scaled, _scalar(values.mean), out="values")

    def finished(self) -> bytes:
        """The checked file. Names of features and actions are in its metadata."""
        from onnx import checker  # noqa: PLC0415 - an optional library

        spec, number = self._state.spec, self._types.FLOAT
        widths: Sequence[tuple[str, list[int]]] = (
            ("probabilities", [len(spec.actions)]),
            ("logits", [len(spec.actions)]),
            ("values", []),
        )
        make = self._helper.make_tensor_value_info
        graph = self._helper.make_graph(
            self._nodes,
            "understudy",
            [make("states", number, ["n", spec.state_dim])],
            [make(name, number, ["n", *shape]) for name, shape in widths],
            self._constants,
        )
        model = self._helper.make_model(graph, opset_imports=[self._helper.make_opsetid("", OPSET)], ir_version=8)
        about = {"features": self._state.features, "actions": spec.actions, "version": self._state.version}
        self._helper.set_model_props(model, {name: json.dumps(value) for name, value in about.items()})
        checker.check_model(model)
        content: bytes = model.SerializeToString()
        return content


def _scalar(number: float) -> NDArray[np.float32]:
    return np.array(number, np.float32)
