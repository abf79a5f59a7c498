"""A decision in play: 50 features, layers of 128 and 64, 8 actions, one state at a time.

`select_action` does everything a bot needs: normalise, evaluate, explore, sample, and record to disk. The peers' lesser
tasks are measured beside it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from games import ACTIONS, N_ACTIONS, STATE_DIM, STEPS
from measure import Row, run_alone, take_turns, timed, typical
from peers import TorchMlp, TorchTransformer, sb3_ppo
from understudy import RLAgent, model_factory
from understudy.settings import NetworkSettings

TITLE = "A decision (50 → 128 → 64 → 8, one state)"
ROUNDS = 15
CONTEXT = 32

Turn = Callable[[], Sequence[float]]


def rows() -> list[Row]:
    rng = np.random.default_rng(0)
    states = list(rng.standard_normal((STEPS, STATE_DIM), np.float32))
    legal = rng.random(N_ACTIONS) < 0.7
    legal[0] = True
    with tempfile.TemporaryDirectory() as folder, RLAgent(STATE_DIM, ACTIONS, run_dir=folder, seed=0) as agent:
        results = take_turns(
            {
                "select_action": _game(agent, states, None),
                "torch forward": _torch_forward(states),
                "select_action, legal mask": _game(agent, states, legal),
                "torch forward + sample": _torch_sample(states),
                "network.step": _network_steps(NetworkSettings(), states),
                "SB3 predict": _sb3_predict(states),
                "transformer step": _network_steps(NetworkSettings(policy="transformer", context=CONTEXT), states),
                "torch transformer": _torch_transformer(rng),
            },
            ROUNDS,
        )

    def row(what: str, peer: str, share: float = 0.5, limit: float | None = None, factor: float | None = None) -> Row:
        ours, theirs = (1e6 * typical(results[name], share) for name in (what, peer))
        return Row(f"{what} p{100 * share:.0f}", ours, "µs", f"{peer} p{100 * share:.0f}", theirs, limit, factor)

    return [
        row("select_action", "torch forward", limit=15, factor=2),
        row("select_action", "torch forward", 0.99),
        row("select_action", "torch forward + sample"),
        row("select_action", "SB3 predict"),
        row("select_action, legal mask", "torch forward"),
        row("select_action, legal mask", "torch forward", 0.99),
        row("network.step", "torch forward", factor=2),
        row("network.step", "torch forward", 0.99),
        row("transformer step", "torch transformer", factor=1),
        row("transformer step", "torch transformer", 0.99),
    ]


def _game(agent: RLAgent, states: Sequence[NDArray[np.float32]], legal: NDArray[np.bool_] | None) -> Turn:
    """A whole game; its beginning and its end, which no decision waits for, are not counted."""

    def turn() -> Sequence[float]:
        agent.begin_episode()
        if legal is None:
            seconds = timed(agent.select_action, states)
        else:
            seconds = timed(lambda state: agent.select_action(state, legal), states)
        agent.close()
        return seconds

    return turn


def _network_steps(settings: NetworkSettings, states: Sequence[NDArray[np.float32]]) -> Turn:
    network = model_factory(STATE_DIM, N_ACTIONS, settings, np.random.default_rng(0))
    return lambda: timed(network.step, states)


@torch.inference_mode()
def _torch_forward(states: Sequence[NDArray[np.float32]]) -> Turn:
    network = TorchMlp().eval()
    batches = [torch.from_numpy(state)[None] for state in states]
    return torch.inference_mode()(lambda: timed(network, batches))


def _torch_sample(states: Sequence[NDArray[np.float32]]) -> Turn:
    network = TorchMlp().eval()

    def decide(state: NDArray[np.float32]) -> int:
        logits = network(torch.from_numpy(state)[None])[:, :-1]
        return int(torch.distributions.Categorical(logits=logits).sample())  # type: ignore[no-untyped-call]

    return torch.inference_mode()(lambda: timed(decide, states))


def _sb3_predict(states: Sequence[NDArray[np.float32]]) -> Turn:
    policy = sb3_ppo().policy
    return lambda: timed(policy.predict, states)


def _torch_transformer(rng: np.random.Generator) -> Turn:
    network = TorchTransformer().eval()
    window = torch.from_numpy(rng.standard_normal((1, CONTEXT, STATE_DIM), np.float32))
    return torch.inference_mode()(lambda: timed(network, [window] * STEPS))


if __name__ == "__main__":
    run_alone(TITLE, rows)
