"""A network in many matches at the same time, one decision of each per step, with its memory of each match."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from understudy.networks.affine import affine, layer_norm
from understudy.networks.workspace import Workspace

if TYPE_CHECKING:
    from understudy.networks.network import Floats, Integers
    from understudy.networks.transformer import LayerParameters

    Bools = NDArray[np.bool_]


class InPlay:
    """For a network that sees one state at a time: there is nothing to remember."""

    remembers = False

    def __init__(self, evaluate: Callable[[Floats], tuple[Floats, Floats]]) -> None:
        self._evaluate = evaluate

    def begin(self, states: Floats, lengths: Integers) -> None:
        """Replace the memory of each match by its last `lengths` (B,) normalised states (B, reach, S)."""

    def forget(self, which: Bools) -> None:
        """Clear the memory of these matches (B,), which have ended."""

    def decide(self, states: Floats) -> tuple[Floats, Floats]:
        """Logits (B, A) and values (B,) for the next normalised state of every match."""
        return self._evaluate(states)

    def value(self, states: Floats, matches: Integers) -> Floats:
        """Values (N,) of normalised states that would come next in these matches; they are not remembered."""
        return self._evaluate(states)[1]


class TransformerInPlay(InPlay):
    """Keys and values of the last `context` states of every match and layer, the newest last."""

    remembers = True

    def __init__(self, parts: tuple[Floats, Sequence[LayerParameters], Floats, Floats], matches: int) -> None:
        self._input, self._blocks, self._final_norm, self._head = parts
        heads, self._context = self._blocks[0].position_bias.shape
        width = self._input.shape[1]
        self._shape = (heads, width // heads)
        dtype = self._input.dtype
        size = (len(self._blocks), matches, heads, self._context, width // heads)
        self._keys, self._values = np.zeros(size, dtype), np.zeros(size, dtype)
        self._seen = np.zeros(matches, np.int64)
        self._space = Workspace(dtype)

    def begin(self, states: Floats, lengths: Integers) -> None:
        """See InPlay.begin. The keys of a state depend on earlier states, so all are computed again, in order."""
        self._seen[:] = 0
        reach = states.shape[1]
        for i in range(reach - int(lengths.max(initial=0)), reach):
            self._advance(states[:, i], counts=lengths >= reach - i)

    def forget(self, which: Bools) -> None:
        """See InPlay.forget."""
        self._seen[which] = 0

    def decide(self, states: Floats) -> tuple[Floats, Floats]:
        """See InPlay.decide."""
        outputs = self._advance(states, counts=np.ones(len(states), np.bool_))
        return outputs[:, :-1], outputs[:, -1]

    def value(self, states: Floats, matches: Integers) -> Floats:
        """See InPlay.value."""
        kept = (self._keys[:, matches], self._values[:, matches])
        return self._outputs(states, kept, self._seen[matches] + 1)[:, -1]

    def _advance(self, states: Floats, counts: Bools) -> Floats:
        """The outputs for the next states; for the matches in `counts`, these are remembered."""
        self._seen += counts
        return self._outputs(states, (self._keys, self._values), self._seen)

    def _outputs(self, states: Floats, kept: tuple[Floats, Floats], seen: Integers) -> Floats:
        """Write keys and values of these states to the last place, and attend to the `seen` last ones."""
        space = self._space
        space.begin()
        outside = np.arange(self._context) < self._context - np.maximum(seen, 1)[:, None]  # at least the state itself
        hidden = np.where(outside, -np.inf, 0).astype(self._input.dtype)[:, None]
        x = affine(states, self._input, space)
        for block, keys, values in zip(self._blocks, *kept, strict=True):
            qkv = affine(layer_norm(x, block.attention_norm, space)[0], block.qkv, space)
            query, key, value = (part.reshape(-1, *self._shape) for part in np.split(qkv, 3, axis=1))
            for ring, newest in ((keys, key), (values, value)):
                ring[:, :, :-1] = ring[:, :, 1:]
                ring[:, :, -1] = newest
            mixed = _attend(query, keys, values, block.position_bias + hidden)
            x += affine(mixed.reshape(x.shape), block.projection, space)
            active = affine(layer_norm(x, block.mlp_norm, space)[0], block.up, space)
            np.maximum(active, 0, out=active)
            x += affine(active, block.down, space)
        return affine(layer_norm(x, self._final_norm, space)[0], self._head, space)


def _attend(query: Floats, keys: Floats, values: Floats, bias: Floats) -> NDArray[Any]:
    """The mean of the values (N, heads, context, d), weighted by how well keys match the queries (N, heads, d)."""
    scores = np.matmul(keys, query[..., None])[..., 0]
    scores *= query.shape[-1] ** -0.5
    scores += bias
    scores -= scores.max(axis=-1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=-1, keepdims=True)
    mixed: NDArray[Any] = np.matmul(scores[:, :, None], values)[:, :, 0]
    return mixed
