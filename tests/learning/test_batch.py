from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from understudy.errors import EpisodeError
from understudy.experience.episode import Episode
from understudy.learning.batch import Samples, lay_out
from understudy.networks.factory import model_factory
from understudy.settings import NetworkSettings

S, A = 3, 4


def episode(steps: int, seed: int = 0, cut: bool = False, **arrays: Any) -> Episode:
    rng = np.random.default_rng(seed)
    game = Episode(
        states=rng.normal(size=(steps, S)).astype(np.float32),
        actions=rng.integers(0, A, steps),
        rewards=rng.normal(size=steps).astype(np.float32),
        final_state=rng.normal(size=S).astype(np.float32) if cut else None,
    )
    return dataclasses.replace(game, **arrays)


def test_a_cut_game_is_followed_by_its_final_state() -> None:
    games = [episode(2, 0), episode(3, 1, cut=True), episode(1, 2, cut=True), episode(2, 3)]
    batch = lay_out(games, S, A)
    assert batch.state_starts.tolist() == [0, 2, 6, 8]
    assert batch.starts.tolist() == [0, 2, 5, 6]
    assert games[1].final_state is not None
    np.testing.assert_array_equal(batch.states[5], games[1].final_state)
    np.testing.assert_array_equal(batch.of_decisions(batch.states), np.concatenate([g.states for g in games]))
    np.testing.assert_array_equal(batch.bootstraps(10.0 * np.arange(len(batch.states))), [0, 50, 70, 0])


@pytest.mark.parametrize("policy", ["mlp", "transformer"])
def test_the_bootstrap_of_a_cut_game_has_seen_its_history(policy: Any) -> None:
    settings = NetworkSettings(policy=policy, hidden=(8,), context=3, width=8, heads=2)
    network = model_factory(S, A, settings, np.random.default_rng(0))
    games = [episode(5, 0), episode(6, 1, cut=True), episode(2, 2, cut=True)]
    batch = lay_out(games, S, A)
    _, values = network.forward(batch.states, batch.state_starts)
    for game, bootstrap in zip(games, batch.bootstraps(values).tolist(), strict=True):
        network.begin_episode()
        for state in game.states:
            network.step(state)
        expected = 0 if game.final_state is None else network.step(game.final_state)[1]
        assert bootstrap == pytest.approx(expected, abs=1e-5)


def test_games_without_trials_stand_beside_games_with_them() -> None:
    assert lay_out([episode(1), episode(2)], S, A).trial is None
    batch = lay_out([episode(1), episode(2, trial=np.array([True, False]))], S, A)
    assert batch.trial is not None
    assert batch.trial.tolist() == [False, True, False]


def test_games_without_masks_or_log_probs_stand_beside_games_with_them() -> None:
    legal = np.eye(A, dtype=np.bool_)[[1, 2]]
    masked = episode(2, 0, actions=np.array([1, 2]), legal=legal, log_probs=np.array([-0.5, -1], np.float32))
    batch = lay_out([masked, episode(1, 1)], S, A)
    assert batch.legal is not None
    np.testing.assert_array_equal(batch.legal, [*legal, [True] * A])
    assert batch.recorded.tolist() == [True, True, False]
    assert lay_out([episode(1)], S, A).legal is None


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"states": np.zeros((2, S + 1), np.float32)}, "states of 4 numbers; the network takes 3"),
        ({"actions": np.array([0, A])}, "actions from 0 to 4; the network knows 0 to 3"),
        ({"actions": np.array([-1, 0])}, "actions from -1 to 0"),
        ({"legal": np.ones((2, A + 1), np.bool_)}, "masks of 5 actions"),
        ({"actions": np.array([0, 1]), "legal": np.eye(A, dtype=np.bool_)[[0, 2]]}, "Game 0 .* at step 1"),
    ],
)
def test_games_of_another_network_are_refused(arrays: dict[str, Any], message: str) -> None:
    with pytest.raises(EpisodeError, match=message):
        lay_out([episode(2, **arrays)], S, A)


@pytest.mark.parametrize("games", [[], [episode(2), episode(0)]], ids=["no game", "no decision"])
def test_nothing_to_learn_from_is_an_error(games: list[Episode]) -> None:
    with pytest.raises(EpisodeError, match="at least one"):
        lay_out(games, S, A)


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("size", [1, 4, 7, 1000])
def test_pieces_cover_all_states_and_decisions_in_order(whole: bool, size: int) -> None:
    batch = lay_out([episode(4, 0, cut=True), episode(1, 1), episode(9, 2, cut=True), episode(3, 3)], S, A)
    pieces = list(batch.pieces(size, whole))
    rows = [np.arange(len(batch.states))[piece] for piece, _, _ in pieces]
    decisions = [np.arange(len(batch.actions))[part] for _, _, part in pieces]
    np.testing.assert_array_equal(np.concatenate(rows), np.arange(len(batch.states)))
    np.testing.assert_array_equal(np.concatenate(decisions), np.arange(len(batch.actions)))
    for (piece, starts, part), covered in zip(pieces, rows, strict=True):
        assert set(batch.decisions[part]) <= set(covered)
        assert {s for s in batch.state_starts.tolist() if s in covered} == set((starts + piece.start).tolist())
        assert not whole or starts[0] == 0


def samples(lengths: list[int] | None, n: int) -> Samples:
    numbers = np.arange(n)
    return Samples(
        states=np.repeat(numbers[:, None], S, axis=1).astype(np.float32),
        actions=numbers,
        legal=(numbers % 2 == 0)[:, None],
        old_log_probs=numbers + 0.25,
        advantages=numbers + 0.5,
        targets=numbers + 0.75,
        starts=None if lengths is None else np.cumsum([0, *lengths[:-1]]),
    )


@pytest.mark.parametrize(("lengths", "n"), [(None, 57), ([20, 1, 30, 6], 57), (None, 1), ([1], 1)])
@pytest.mark.parametrize("size", [1, 10, 57, 1000])
def test_minibatches_are_all_samples_once_with_what_belongs_to_them(
    lengths: list[int] | None, n: int, size: int
) -> None:
    parts = list(samples(lengths, n).minibatches(size, np.random.default_rng(0)))
    for part in parts:
        assert part.legal is not None
        np.testing.assert_array_equal(part.states[:, 0], part.actions)
        np.testing.assert_array_equal(part.legal[:, 0], part.actions % 2 == 0)
        np.testing.assert_array_equal(part.old_log_probs, part.actions + 0.25)
        np.testing.assert_array_equal(part.advantages, part.actions + 0.5)
        np.testing.assert_array_equal(part.targets, part.actions + 0.75)
    assert sorted(np.concatenate([part.actions for part in parts]).tolist()) == list(range(n))


def test_minibatches_are_nearly_equal_and_none_is_a_scrap() -> None:
    sizes = [len(part.actions) for part in samples(None, 257).minibatches(256, np.random.default_rng(0))]
    assert sorted(sizes) == [128, 129]


def test_minibatches_of_a_sequential_network_are_whole_episodes() -> None:
    lengths = [5, 1, 8, 3, 3, 10, 2]
    begins = np.cumsum([0, *lengths[:-1]]).tolist()
    parts = list(samples(lengths, sum(lengths)).minibatches(10, np.random.default_rng(0)))
    assert 1 < len(parts) < len(lengths)
    seen = []
    for part in parts:
        assert part.starts is not None
        for first, rows in zip(part.starts, np.split(part.actions, part.starts[1:]), strict=True):
            begin = int(part.actions[first])
            seen.append(begin)
            assert rows.tolist() == list(range(begin, begin + lengths[begins.index(begin)]))
    assert sorted(seen) == begins


def test_minibatches_of_episodes_hold_what_is_only_seen_and_say_where_the_decisions_are() -> None:
    before, lengths, after = [2, 0, 3, 0, 1], [4, 1, 5, 3, 2], [1, 0, 0, 1, 1]
    kinds = [[-1] * b + [0] * n + [-1] * a for b, n, a in zip(before, lengths, after, strict=True)]
    rows = np.flatnonzero(np.concatenate(kinds) == 0)
    starts = np.cumsum([0, *(len(kind) for kind in kinds[:-1])])
    states = np.arange(sum(len(kind) for kind in kinds), dtype=np.float32)[:, None]
    n = np.arange(sum(lengths))
    whole = Samples(states, n, None, n + 0.25, n + 0.5, n + 0.75, starts, rows)
    parts = list(whole.minibatches(6, np.random.default_rng(0)))
    assert 1 < len(parts) < 5
    begins = []
    for part in parts:
        assert part.rows is not None
        assert part.starts is not None
        np.testing.assert_array_equal(part.states[part.rows, 0], rows[part.actions])
        np.testing.assert_array_equal(part.old_log_probs, part.actions + 0.25)
        np.testing.assert_array_equal(part.advantages, part.actions + 0.5)
        np.testing.assert_array_equal(part.targets, part.actions + 0.75)
        for episode in np.split(part.states[:, 0], part.starts[1:]):
            begins.append(int(episode[0]))
            assert episode.tolist() == list(
                range(begins[-1], begins[-1] + len(kinds[starts.tolist().index(begins[-1])]))
            )
    assert sorted(begins) == starts.tolist()
    assert sorted(np.concatenate([part.actions for part in parts]).tolist()) == n.tolist()


def test_minibatches_are_shuffled_by_the_generator_given() -> None:
    first, again, other = (
        np.concatenate([part.actions for part in samples(None, 50).minibatches(10, np.random.default_rng(seed))])
        for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)
    assert not np.array_equal(first, np.arange(50))
