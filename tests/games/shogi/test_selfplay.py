"""Shogi through the machinery of self-play: who learns from what, and that a run can be interrupted."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from understudy.errors import MatchesDamaged
from understudy.games.shogi.checkpoint import load_checkpoint
from understudy.games.shogi.league import GAMES_OF_A_PAST, OneByOne, PastSelf, ShogiLeague
from understudy.games.shogi.matches import BOARD, MOST_LEGAL, LeagueEntry, ShogiMatches
from understudy.games.shogi.players import RandomPlayer
from understudy.games.shogi.record_files import read_records
from understudy.games.shogi.sample_games import SampleGames
from understudy.learning.batch import Batch
from understudy.learning.trainer import Trainer
from understudy.models.state import ModelState
from understudy.models.store import ModelStore
from understudy.networks.factory import model_factory
from understudy.parallel.loop import TrainingLoopManager
from understudy.parallel.player import Player
from understudy.parallel.rollout import Rollout, RolloutShape, as_batch
from understudy.parallel.sequential import SequentialWorkers
from understudy.rundir import RunDir
from understudy.settings import NetworkSettings, ParallelSettings, Settings, TrainingSettings

TINY = NetworkSettings(policy="resnet", blocks=1, channels=8, attention_width=4, value_width=4)
TRAINING = TrainingSettings(epochs=2, minibatch=64, normalize_states=False, exploration=0.0)
PARALLEL = ParallelSettings(num_workers=2, games_per_worker=8, batch_size=64, checkpoint_updates=2, max_staleness=0)


def trainer() -> Trainer:
    network = model_factory(ShogiMatches.state_dim, MOST_LEGAL, TINY, np.random.default_rng(1))
    network.parameters += np.abs(np.random.default_rng(2).normal(scale=0.05, size=network.parameters.size)).astype("f4")
    return Trainer(network, TRAINING, seed=0)


def played(by: Trainer, max_moves: int, steps: int, rivals: int = 0) -> Rollout:
    game = ShogiMatches(4, max_moves, [LeagueEntry(OneByOne(RandomPlayer), rivals)])
    player = Player(game, by.network, by.normalizer)
    player.begin(0)
    rollout = Rollout(RolloutShape.of(game, ParallelSettings(batch_size=4 * steps)))
    assert player.play(rollout)
    return rollout


def targets(by: Trainer, batch: Batch) -> Any:
    log_probs, values = by._evaluate(batch, batch.states)
    of_decisions = batch.of_decisions(values)
    return by._targets(batch, of_decisions, batch.bootstraps(values), log_probs - batch.log_probs), of_decisions, values


def test_what_one_player_expects_after_its_move_is_what_the_other_one_fears() -> None:
    by = trainer()
    batch = as_batch([played(by, 500, 6)])
    (vs, advantages), values, all_values = targets(by, batch)
    assert batch.sides is not None
    assert batch.sides.reshape(4, 6).tolist() == [[1, -1, 1, -1, 1, -1]] * 4
    gamma, lam = TRAINING.gamma, TRAINING.gae_lambda
    after = all_values[len(values) :]  # nothing has ended: each match is bootstrapped from its own next position
    for match in range(4):
        advantage = 0.0
        for t in reversed(range(6)):
            row = 6 * match + t
            following = values[row + 1] if t < 5 else after[batch.cut.tolist().index(match)]
            delta = -gamma * following - values[row]
            advantage = delta - gamma * lam * advantage
            assert advantages[row] == pytest.approx(advantage, abs=1e-5)
            assert vs[row] == pytest.approx(values[row] + advantage, abs=1e-5)


def test_exchanged_colours_exchange_nothing_that_is_learned() -> None:
    by = trainer()
    batch = as_batch([played(by, 7, 12, rivals=2)])
    assert batch.sides is not None
    assert batch.final_sides is not None
    mirrored = dataclasses.replace(batch, sides=-batch.sides, final_sides=-batch.final_sides)
    for ours, theirs in zip(targets(by, batch)[0], targets(by, mirrored)[0], strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_games_that_were_cut_are_not_losses() -> None:
    by = trainer()
    rollout = played(by, 3, 9)
    batch = as_batch([rollout])
    assert rollout["games"] == 4 * 3
    assert not batch.rewards.any()
    assert len(batch.cut) == len(batch.starts)
    for final, side in zip(batch.finals, batch.final_sides[batch.cut], strict=True):  # type: ignore[index]
        planes = batch.states[final, :BOARD].reshape(46, 81)
        assert planes[43, 0] == 1  # after the last move that was allowed
        assert side == -1
        assert planes[42, 0] == 0


def test_a_match_against_a_rival_belongs_to_one_player() -> None:
    batch = as_batch([played(trainer(), 500, 6, rivals=2)])
    assert batch.sides is not None
    assert batch.sides.reshape(4, 6).tolist() == [[1] * 6, [-1] * 6, [1, -1] * 3, [1, -1] * 3]


def run_dir(folder: Path) -> tuple[RunDir, ModelStore]:
    run = RunDir.at(folder)
    run.create()
    return run, ModelStore(run.model, run.ledger)


def trained(folder: Path, updates: int, seed: int = 3) -> tuple[TrainingLoopManager, ModelState]:
    run, store = run_dir(folder)
    settings = Settings(network=TINY, training=TRAINING, parallel=PARALLEL)
    loop = TrainingLoopManager(f"shogi:{run.versions}", settings, store=store, seed=seed)
    loop.run(updates=updates)
    return loop, store.load()


@pytest.mark.slow
def test_an_update_changes_the_network_that_plays(tmp_path: Path) -> None:
    before, _ = trained(tmp_path / "before", 1, seed=4)  # a seed with which no ReLU of the few is dead from the start
    loop, _ = trained(tmp_path / "after", 2, seed=4)
    assert isinstance(loop.workers, SequentialWorkers)
    for player in loop.workers._opened:
        np.testing.assert_array_equal(player.network.parameters, loop.model.network.parameters)
    changed = loop.model.network.parameters != before.model.network.parameters
    assert all(view.any() for name, view in loop.model.network.views(changed).items() if "weight" in name)
    states = np.zeros((1, ShogiMatches.state_dim), np.float32)
    assert loop.model.network.evaluate(states)[1] != before.model.network.evaluate(states)[1]


@pytest.mark.slow
def test_a_run_that_was_interrupted_goes_on_bit_for_bit(tmp_path: Path) -> None:
    _, whole = trained(tmp_path / "whole", 6)
    for _ in range(3):
        _, state = trained(tmp_path / "parts", 2)
    assert state.counters == whole.counters
    assert state.counters["updates"] == 6
    assert state.arrays.keys() == whole.arrays.keys()
    for name, array in whole.arrays.items():
        np.testing.assert_array_equal(state.arrays[name], array, err_msg=name)


def test_the_model_of_a_run_plays_like_any_checkpoint(tmp_path: Path) -> None:
    loop, _ = trained(tmp_path, 1)
    network = load_checkpoint(RunDir.at(tmp_path).model).network
    matches = ShogiMatches(2)
    matches.reset(np.random.SeedSequence(0))
    states = np.empty((2, matches.state_dim), np.float32)
    matches.observe(states)
    logits, values = loop.model.network.evaluate(states)
    all_logits, same_values = network.evaluate(states[:, :BOARD])
    listed = states[:, BOARD : BOARD + 30].astype(int)
    np.testing.assert_allclose(logits[:, :30], np.take_along_axis(all_logits, listed, 1), atol=1e-6)
    np.testing.assert_allclose(values, same_values, atol=1e-6)


@pytest.mark.slow
def test_a_past_self_is_one_of_the_versions_and_the_same_lots_draw_the_same_one(tmp_path: Path) -> None:
    loop, state = trained(tmp_path, 4)
    versions = RunDir.at(tmp_path).versions
    drawn = []
    for seed in (0, *range(16)):
        past = PastSelf(versions)
        past.prepare(np.random.default_rng(seed))
        assert past._network is not None
        drawn.append(past._network.parameters.tobytes())
    assert drawn[0] == drawn[1]
    assert len(set(drawn)) == 3  # new, after two updates, after four
    assert state.arrays["parameters"].tobytes() in drawn
    assert loop.model.version == 3


@pytest.mark.slow
def test_matches_against_rivals_are_saved_with_their_lots_and_their_endgames(tmp_path: Path) -> None:
    trained(tmp_path, 4)
    versions = str(RunDir.at(tmp_path).versions)

    def play(league: ShogiLeague, steps: int) -> list[bytes]:
        seen, states = [], np.empty((16, league.state_dim), np.float32)
        for t in range(steps):
            rewards = league.step(
                np.array([(7 * t + i) % len(g.legal_moves) for i, g in enumerate(league.games)])
            ).rewards
            league.observe(states)
            seen += [rewards.tobytes(), states.tobytes()]
        return seen

    league, other = ShogiLeague(16, versions), ShogiLeague(16, versions)
    league.reset(np.random.SeedSequence(1))
    play(league, 150)
    assert any(league._endgames[i].moves() for i in range(len(league._entries)))
    assert other.restore(league.snapshot()).all()
    assert play(league, 150) == play(other, 150)


def test_a_snapshot_with_an_illegal_move_is_refused() -> None:
    matches = ShogiMatches(1)
    matches.reset(np.random.SeedSequence(0))
    matches.games[0].moves.append(1)
    with pytest.raises(MatchesDamaged, match="not valid shogi"):
        ShogiMatches(1).restore(matches.snapshot())


def test_a_match_that_begins_anew_has_the_learner_to_move() -> None:
    matches = ShogiMatches(3, rivals=[LeagueEntry(OneByOne(RandomPlayer), 2)])
    matches.reset(np.random.SeedSequence(0))
    matches.step(np.zeros(3, np.int64))
    moves = [len(game.moves) for game in matches.games]
    assert matches.begin_anew(np.array([True, False, True])).tolist() == [True, False, True]
    assert matches.to_move().tolist() == [1, 1, 0]  # the first match changes sides, so its rival has moved
    assert [len(game.moves) for game in matches.games] == [1, moves[1], 0]


@pytest.mark.slow
def test_a_past_self_is_drawn_anew_now_and_then(tmp_path: Path) -> None:
    trained(tmp_path, 4)
    past = PastSelf(RunDir.at(tmp_path).versions)
    past.prepare(np.random.default_rng(0))
    drawn = set()
    for _ in range(20 * GAMES_OF_A_PAST):
        past.next_game(None)
        drawn.add(past.snapshot()["version"])
    assert drawn == {"000001", "000002", "000003"}


@pytest.mark.slow
def test_games_to_look_at_are_kept_with_their_evaluations_up_to_a_number(tmp_path: Path) -> None:
    loop, _ = trained(tmp_path, 2)
    samples = SampleGames(tmp_path / "games", every=2, keep=1)
    first = samples.after_update(loop.model)
    assert first is not None
    (record,) = read_records(first)
    assert record.names == ("update 2", "update 2")
    assert len(record.evaluations) == len(record.moves) > 0
    for move, thought in zip(record.moves, record.thoughts, strict=True):
        assert thought is not None
        shares = [share for _, share in thought.moves[:5]]
        assert shares == sorted(shares, reverse=True)
        assert move in dict(thought.moves)
        assert 0 < sum(shares) <= 1.001
    loop.model.trainer.updates = 3
    assert samples.after_update(loop.model) is None
    loop.model.trainer.updates = 4
    second = samples.after_update(loop.model)
    assert list((tmp_path / "games").iterdir()) == [second]


def test_what_the_weights_that_learn_thought_in_play_need_not_be_asked_again() -> None:
    by = trainer()
    rollout = played(by, 4, 6)  # games of four moves: some are cut off inside the rollout, others continue
    rollout.stamp(version=3)
    assert as_batch([rollout], version=4).values is None
    batch = as_batch([rollout], version=3)
    log_probs, values = by._evaluate(batch, batch.states)
    assert batch.values is not None
    np.testing.assert_allclose(batch.values, values, atol=1e-5)
    np.testing.assert_allclose(batch.log_probs, log_probs, atol=1e-5)
    assert by._proximal(batch, batch.states)[1] is batch.values


@pytest.mark.parametrize("other", [{"exploration": 0.1}, {"normalize_states": True}])
def test_a_policy_that_was_not_quite_the_one_that_learns_is_asked_again(other: dict[str, Any]) -> None:
    by = trainer()
    batch = as_batch([played(by, 4, 6)], version=0)
    by = Trainer(by.network, dataclasses.replace(TRAINING, **other), seed=0)
    assert by._proximal(batch, batch.states)[1] is not batch.values


@pytest.mark.slow
def test_a_run_that_plays_with_its_newest_weights_never_asks_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Trainer] = []
    monkeypatch.setattr(Trainer, "_evaluate", lambda trainer, *_: asked.append(trainer))
    trained(tmp_path, 3)
    assert not asked
