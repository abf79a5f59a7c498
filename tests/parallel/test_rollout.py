from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

from parallel.small import AlwaysCut, Counting, make_model, player_spec
from understudy.learning.batch import Batch, check_fit
from understudy.learning.targets import targets_of
from understudy.parallel.rollout import Rollout, RolloutShape, as_batch, in_order
from understudy.parallel.synchronizer import ModelSynchronizer
from understudy.settings import ParallelSettings, TrainingSettings

SETTINGS = ParallelSettings(num_workers=2, games_per_worker=5, batch_size=100)


def played(workers: int = 2, rounds: int = 3, name: str = "Counting") -> list[list[Rollout]]:
    """For each worker the rollouts it played, one after the other."""
    model = make_model(AlwaysCut if name == "AlwaysCut" else Counting)
    synchronizer = ModelSynchronizer(SETTINGS)
    block = synchronizer.prepare(model)
    result = []
    for worker in range(workers):
        player = player_spec(name, model, 5).open(worker)
        synchronizer.restore(block, player)
        player.begin(0)
        shape = RolloutShape.of(player.game, SETTINGS)
        rollouts = [Rollout(shape) for _ in range(rounds)]
        assert all(player.play(rollout) for rollout in rollouts)
        result.append(rollouts)
    return result


def episodes(batch: Batch) -> list[slice]:
    ends = [*batch.starts[1:].tolist(), len(batch.actions)]
    return [slice(a, b) for a, b in zip(batch.starts.tolist(), ends, strict=True)]


def test_an_episode_never_mixes_matches_games_or_workers() -> None:
    batch = as_batch([rollouts[0] for rollouts in played()])
    states = batch.of_decisions(batch.states)
    for part in episodes(batch):
        match, game, age = states[part, 0], states[part, 1], states[part, 2]
        assert len(set(match.tolist())) == len(set(game.tolist())) == 1
        np.testing.assert_array_equal(age, age[0] + np.arange(len(age)))
    assert len(states) == 2 * 100
    assert len(batch.starts) > 20


def test_each_tail_is_bootstrapped_from_its_own_last_position() -> None:
    batch = as_batch([rollouts[1] for rollouts in played()])
    states = batch.of_decisions(batch.states)
    assert batch.final_sides is not None
    finals = dict(zip(batch.cut.tolist(), batch.states[batch.finals], strict=True))
    goes_on = 0
    for number, part in enumerate(episodes(batch)):
        last = states[part][-1]
        if number in finals:
            final = finals[number]
            np.testing.assert_array_equal(final[:3], last[:3] + np.array([0, 0, 1]))
            assert batch.final_sides[number] == 1 - 2 * final[3]
            goes_on += 1
    over = sum(1 for number in range(len(batch.starts)) if number not in finals)
    assert goes_on >= 10  # at the least every match's part at the end of its rollout
    assert over > 5


def test_games_that_were_over_have_no_last_position_and_games_that_were_cut_have_one() -> None:
    for rollouts in played():
        for rollout in rollouts:
            T, B, F = rollout["steps"], 5, rollout["finals"]
            ended = rollout.ended[:T]
            game = rollout.states[:T, :, 1]
            expected = {(t, b) for t in range(T) for b in range(B) if ended[t, b] and game[t, b] % 3 == 2}
            expected |= {(T - 1, b) for b in range(B) if not ended[T - 1, b]}
            assert {(int(i) // B, int(i) % B) for i in rollout.final_after[:F]} == expected


def test_the_next_rollout_goes_on_where_the_last_one_stopped() -> None:
    for rollouts in played():
        assert in_order(rollouts)
        assert not in_order(rollouts[::-1])
        for earlier, later in itertools.pairwise(rollouts):
            T, F = earlier["steps"], earlier["finals"]
            tails = {int(i) % 5: s for i, s in zip(earlier.final_after[:F], earlier.final_states[:F], strict=True)}
            for b in np.flatnonzero(~earlier.ended[T - 1]).tolist():
                np.testing.assert_array_equal(later.states[0, b], tails[b])


def test_workers_play_different_matches_and_the_same_ones_again() -> None:
    first, again = played(), played()
    np.testing.assert_array_equal(first[0][2].states, again[0][2].states)
    np.testing.assert_array_equal(first[0][2].actions, again[0][2].actions)
    assert not np.array_equal(first[0][0].actions, first[1][0].actions)


def test_masks_survive_their_packing_and_forbidden_actions_are_not_taken() -> None:
    batch = as_batch([rollouts[0] for rollouts in played()])
    assert batch.legal is not None
    age = batch.of_decisions(batch.states)[:, 2].astype(int)
    np.testing.assert_array_equal(batch.legal, np.arange(3) != age[:, None] % 3)
    check_fit(batch, 4, 3)


def test_returns_of_finished_games_add_up_over_rollouts() -> None:
    rollouts = played(workers=1, rounds=4)[0]
    seen = np.concatenate([rollout.results()[0] for rollout in rollouts])
    totals = np.zeros(5)
    expected: list[float] = []
    lengths = np.zeros(5, int)
    for rollout in rollouts:
        for t in range(rollout["steps"]):
            totals += np.where(rollout.sides[t], -1, 1) * rollout.rewards[t]
            lengths += 1
            for b in np.flatnonzero(rollout.ended[t]):
                expected.append(totals[b])
                assert rollout.lengths[t, b] == lengths[b]
                totals[b] = lengths[b] = 0
    np.testing.assert_allclose(seen, expected, atol=1e-5)
    assert sum(rollout["games"] for rollout in rollouts) == len(expected)


def test_a_rollout_ends_early_rather_than_lose_a_last_position() -> None:
    rollouts = played(workers=1, rounds=2, name="AlwaysCut")[0]
    for rollout in rollouts:
        assert rollout["steps"] < rollout.shape.steps
        assert rollout["finals"] == rollout.decisions
    assert as_batch(rollouts).games == 2 * rollouts[0].decisions


def targets_the_slow_way(
    rollout: Rollout, values: NDArray[np.float32], final_values: NDArray[np.float32], gamma: float, lam: float
) -> NDArray[np.float64]:
    """GAE by recursion: the value of the next position counts against me when it is the other player's turn."""
    T, B, F = rollout["steps"], rollout.shape.matches, rollout["finals"]
    advantages = np.zeros((T, B))
    finals = {int(i): f for f, i in enumerate(rollout.final_after[:F])}
    for b in range(B):
        for t in reversed(range(T)):
            mine = rollout.sides[t, b]
            delta = float(rollout.rewards[t, b]) - float(values[t, b])
            if t * B + b in finals:
                f = finals[t * B + b]
                delta += gamma * final_values[f] * (1 if rollout.final_sides[f] == mine else -1)
            elif not rollout.ended[t, b]:
                same = 1 if rollout.sides[t + 1, b] == mine else -1
                delta += gamma * same * values[t + 1, b]
                advantages[t, b] = gamma * lam * same * advantages[t + 1, b]
            advantages[t, b] += delta
    return advantages


def test_advantages_change_sign_between_players() -> None:
    rollouts = [worker[1] for worker in played()]
    batch = as_batch(rollouts)
    rng = np.random.default_rng(3)
    values = rng.normal(size=len(batch.states)).astype(np.float32)
    settings = TrainingSettings(gamma=0.9, gae_lambda=0.8)
    n = len(batch.actions)
    targets = targets_of(settings, batch, values[:n], batch.bootstraps(values), np.zeros(n, np.float32))
    slow = []
    at, final_at = 0, n
    for rollout in rollouts:
        T, F = rollout["steps"], rollout["finals"]
        V = values[at : at + T * 5].reshape(5, T).T
        slow.append(targets_the_slow_way(rollout, V, values[final_at : final_at + F], 0.9, 0.8).T.reshape(-1))
        at, final_at = at + T * 5, final_at + F
    np.testing.assert_allclose(targets.advantages, np.concatenate(slow), atol=1e-4)
