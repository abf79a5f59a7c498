"""The check of a candidate on recorded games: its figures against slow formulas, and what it refuses."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path

import numpy as np
import pytest

from understudy.agent import RLAgent
from understudy.experience.episode import Episode, EpisodeMeta, read_episode, write_episode
from understudy.ledger.connection import LedgerGame
from understudy.ledger.gate import GateLedger
from understudy.models.gate import Gate
from understudy.models.live import LiveModel
from understudy.models.off_policy import check_candidate
from understudy.models.recent_games import newest_games
from understudy.models.store import ModelStore
from understudy.rundir import RunDir
from understudy.settings import GateSettings, Settings, StorageSettings, TrainingSettings

DECISIONS = 5


def biased(sign: float) -> LiveModel:
    """A model that answers 1 where the first feature is positive (`sign` above 0), or the opposite."""
    settings = Settings(training=TrainingSettings(normalize_states=False, exploration=0.0))
    with RLAgent(1, 2, run_dir=None, hidden=(4,), seed=1, settings=settings) as agent:
        state = agent._model.export()
    network = LiveModel(state)
    parameters = np.zeros_like(network.network.parameters)
    views = network.network.views(parameters)
    first, *_, last = [views[name] for name, _ in network.network.layout if views[name].ndim == 2]
    first[0, :2] = 1.0, -1.0  # relu(x), relu(−x)
    last[0, 0], last[1, 0] = -sign, sign
    last[0, 1], last[1, 1] = sign, -sign
    return LiveModel(dataclasses.replace(state, arrays={**state.arrays, "parameters": parameters}))


def games(model: LiveModel, count: int, seed: int) -> list[Episode]:
    """Games that a model plays; one is won if most answers are right. The recorded rewards are of no use."""
    rng = np.random.default_rng(seed)
    played = []
    for number in range(count):
        states = rng.choice((-1.0, 1.0), (DECISIONS, 1)).astype(np.float32)
        logits, _ = model.network.evaluate(states)
        p_one = 1 / (1 + np.exp(logits[:, 0] - logits[:, 1]))
        actions = (rng.random(DECISIONS) < p_one).astype(np.int64)
        right = int(np.sum(actions == (states[:, 0] > 0)))
        log_probs = np.log(np.where(actions == 1, p_one, 1 - p_one)).astype(np.float32)
        meta = EpisodeMeta(result="Victory" if right > DECISIONS / 2 else "Defeat", id=f"{number:08d}")
        rewards = -np.ones(DECISIONS, np.float32)
        played.append(Episode(states, actions, rewards, log_probs=log_probs, meta=meta))
    return played


def test_a_model_beside_itself_differs_in_nothing() -> None:
    model = biased(0.5)
    found = check_candidate(model, model, games(model, 30, 1))
    assert found is not None
    assert (found.kl, found.differing, found.gain, found.refused) == (0.0, 0.0, 0.0, False)
    assert found.effective == pytest.approx(30 * DECISIONS, rel=0.01)


def test_the_figures_are_those_of_the_formulas() -> None:
    champion, candidate = biased(0.3), biased(0.9)
    played = games(champion, 40, 2)
    found = check_candidate(candidate, champion, played)
    assert found is not None
    weights, gains, divergences = [], [], []
    rate = float(np.mean([game.meta.result == "Victory" for game in played]))
    for game in played:
        total = 0.0
        for state, action, log_prob in zip(game.states, game.actions, game.log_probs, strict=True):  # type: ignore[arg-type]
            right = (action == 1) == (state[0] > 0)
            new, old = (1 / (1 + math.exp(-2 * edge * (1 if right else -1))) for edge in (0.9, 0.3))
            ratio = new / math.exp(log_prob)
            weights.append(ratio)
            total += (ratio - old / math.exp(log_prob)) * ((game.meta.result == "Victory") - rate)
            p, q = (1 / (1 + math.exp(-2 * edge)) for edge in (0.3, 0.9))
            divergences.append(p * math.log(p / q) + (1 - p) * math.log((1 - p) / (1 - q)))
        gains.append(total)
    assert found.effective == pytest.approx(sum(weights) ** 2 / np.dot(weights, weights), rel=1e-4)
    assert found.kl == pytest.approx(np.mean(divergences), rel=1e-4)
    assert found.gain == pytest.approx(np.mean(gains), rel=1e-3)
    assert found.high - found.gain == pytest.approx(1.96 * np.std(gains, ddof=1) / math.sqrt(40), rel=1e-2)
    assert found.differing == 0.0


def test_a_candidate_that_unlearned_the_game_is_refused_though_its_rewards_were_good() -> None:
    champion = biased(0.4)
    found = check_candidate(biased(-0.4), champion, games(champion, 100, 3))
    assert found is not None
    assert found.refused
    assert found.differing == 1.0
    assert found.high < 0


def test_equal_and_better_candidates_are_not_refused() -> None:
    champion = biased(0.4)
    for seed in range(8):
        played = games(champion, 60, 10 + seed)
        for edge in (0.4, 0.42, 0.8):
            found = check_candidate(biased(edge), champion, played)
            assert found is not None
            assert not found.refused


def test_few_games_refuse_nothing_and_weights_that_are_not_finite_always_do() -> None:
    champion = biased(0.4)
    few = check_candidate(biased(-0.4), champion, games(champion, 10, 4))
    assert few is not None
    assert not few.refused
    broken = biased(0.4)
    broken.network.parameters[:] = np.nan
    with np.errstate(invalid="ignore"):
        found = check_candidate(broken, champion, games(champion, 10, 4))
    assert found is not None
    assert found.refused
    assert check_candidate(champion, champion, []) is None


@pytest.mark.slow
def test_a_bot_refuses_candidates_before_they_play_and_then_the_line_begins_again(tmp_path: Path) -> None:
    run, champion = RunDir.at(tmp_path), biased(0.4)
    run.create()
    store = ModelStore(run.model, run.ledger)
    store.create(champion.export())
    for episode in games(champion, 100, 5):
        write_episode(
            run.archive / f"game_20260101_000000_{episode.meta.result}_{episode.meta.id}.npz", episode, compress=False
        )
    settings = Settings(gate=GateSettings(mode="strict", candidate_games=1), training=champion.base.training)
    Gate(run.ledger, store).use(settings.gate)
    spec = champion.base.spec
    with RLAgent(1, spec.actions, run_dir=tmp_path, settings=settings, hidden=(4,), online_training=False) as agent:
        for number in range(4):
            head = store.load()
            if number < 3:
                learned = LedgerGame(f"learned-{number}", "x.npz", "Victory", 10, 1.0, 100)
                trained = dataclasses.replace(head, arrays=biased(-0.4).export().arrays)
                store.publish(trained, head, publisher="learner", consumed=[learned])
            agent.begin_episode(opponent_id="somebody")
            agent.select_action([1.0])
            agent.end_episode("Victory")
    with GateLedger(run.ledger) as ledger:
        events = ledger.events()
        assert ledger.query("SELECT count(*) FROM gate_games WHERE role = 'challenger'")[0][0] == 0
    assert [event.what for event in events] == ["began", "unplayed", "unplayed", "unplayed"]
    assert "recorded games" in events[1].sentence
    assert store.load().publisher == "gate"


def test_the_newest_games_of_archive_and_buffer_are_read(tmp_path: Path) -> None:
    with RLAgent(1, 2, run_dir=tmp_path, hidden=(4,), seed=1, online_training=False) as agent:
        for number in range(3):
            agent.select_action([float(number)])
            agent.observe_reward(1.0)
            agent.end_episode("Victory")
        expected = agent._model.expected
    run = RunDir.at(tmp_path)
    for path in list(run.buffer.glob("*.npz"))[:1]:
        run.archive.mkdir(exist_ok=True)
        path.rename(run.archive / path.name)
    whole = [*run.buffer.glob("*.npz"), *run.archive.glob("*.npz")]
    (run.buffer / "game_20990101_000000_Victory_bad.npz").write_bytes(b"no game")
    found = newest_games(run, expected)
    wanted = {read_episode(path, StorageSettings()).meta.id for path in whole}
    assert {game.meta.id for game in found} == wanted
    assert len(found) == 3
