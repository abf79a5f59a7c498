"""Sequential tests: their error at every look, their power, and what games are worth."""

import math

import numpy as np
import pytest

from understudy.models.evidence import Budget, Played, SequentialTest, difference, interval, score

ERROR = 0.05


def capital_the_slow_way(comparisons: list[float], margin: float = 0.0) -> float:
    """The mean over the bets of what each one makes of a capital of 1."""
    total = 0.0
    for bet, weight in zip((0.08, 0.2, 0.35, 0.5, 0.7, 0.9), (0.5, 1.75, 2, 1.5, 1.75, 1), strict=True):
        total += weight / 8.5 * math.prod(1 + bet * (c - margin) / (1 + margin) for c in comparisons)
    return total


def ever_refuted(test: SequentialTest, comparisons: np.ndarray, error: float = ERROR) -> int | None:
    """After how many comparisons the null hypothesis was refuted; None if it never was."""
    for number, comparison in enumerate(comparisons.tolist(), 1):
        test = test.after(comparison)
        if test.refutes(error):
            return number
    return None


@pytest.mark.parametrize("margin", [0.0, -0.1])
def test_the_capital_is_that_of_the_formula(margin: float) -> None:
    comparisons = [1.0, -1.0, 0.0, 0.5, -0.25, 1.0]
    test = SequentialTest.fixed(margin=margin)
    for comparison in comparisons:
        test = test.after(comparison)
    assert test.capital == pytest.approx(capital_the_slow_way(comparisons, margin))
    assert test.seen == 6


def test_a_test_never_loses_more_than_its_capital() -> None:
    test = SequentialTest.moving(margin=-0.1)
    for _ in range(500):
        test = test.after(-1.0)
        assert test.capital > 0


def test_the_reserve_is_paid_in_completely_and_never_more() -> None:
    test = SequentialTest.moving()
    for _ in range(1000):
        test = test.after(0.0)  # nothing is won or lost
        assert test.capital + test.reserve == pytest.approx(1.0)
    assert 0 < test.reserve < 0.1


@pytest.mark.slow
@pytest.mark.parametrize("test", [SequentialTest.fixed(), SequentialTest.moving()], ids=["fixed", "moving"])
def test_equal_models_are_told_apart_in_few_runs_at_any_look(test: SequentialTest) -> None:
    rng = np.random.default_rng(1)
    wrong = sum(ever_refuted(test, rng.choice((-1.0, 1.0), 600)) is not None for _ in range(400))
    assert wrong <= 0.05 * 400 + 2 * math.sqrt(0.05 * 0.95 * 400)


def test_a_fixed_level_at_every_look_would_be_wrong_far_more_often() -> None:
    """The reason for all this, and a sign that the simulation above can fail."""
    rng = np.random.default_rng(2)
    wrong = 0
    for _ in range(200):
        total = np.cumsum(rng.choice((-1.0, 1.0), 600))
        wrong += bool((total / np.sqrt(np.arange(1, 601)) > 1.645)[10:].any())
    assert wrong > 0.2 * 200


@pytest.mark.parametrize(("share", "games"), [(0.7, 40), (0.6, 170)])
def test_a_better_model_is_recognised(share: float, games: int) -> None:
    """Computed exactly: the probabilities of all numbers of wins with which nothing is refuted yet."""
    stake, bets = Budget().stake, np.array((0.08, 0.2, 0.35, 0.5, 0.7, 0.9))
    weights = stake * np.array((0.5, 1.75, 2, 1.5, 1.75, 1)) / 8.5
    open_cases = np.ones(1)
    for number in range(1, games + 1):
        wins = np.arange(number + 1)[:, None]
        open_cases = np.append(open_cases * (1 - share), 0) + np.append(0, open_cases * share)
        open_cases[(weights * (1 + bets) ** wins * (1 - bets) ** (number - wins)).sum(axis=1) >= 1 / (0.9 * ERROR)] = 0
    assert open_cases.sum() <= 0.5


def test_a_change_late_in_the_run_is_found_almost_as_fast() -> None:
    rng = np.random.default_rng(4)
    good, bad = rng.choice((-1.0, 0.0, 1.0), 1000), np.full(100, 0.8)
    found = ever_refuted(SequentialTest.moving(), np.concatenate([good, bad]))
    assert found is not None
    assert 1000 < found <= 1030
    fixed = ever_refuted(SequentialTest.fixed(), np.concatenate([good, bad]))  # it has lost its capital by then
    assert fixed is None or fixed - 1000 > 2 * (found - 1000)


def test_a_comparison_outside_of_its_range_is_refused() -> None:
    with pytest.raises(ValueError, match="between -1 and 1"):
        SequentialTest.fixed().after(1.5)


@pytest.mark.slow
def test_a_sequence_of_equal_candidates_has_the_error_of_one() -> None:
    rng = np.random.default_rng(5)
    wrong = 0
    for _ in range(300):
        budget = Budget()
        for _ in range(8):
            test = SequentialTest.fixed(stake=budget.stake)
            budget = budget.began()
            for comparison in rng.choice((-1.0, 1.0), 80).tolist():
                test = test.after(comparison)
                if test.refutes(ERROR):
                    wrong += 1
                    break
            else:
                budget = budget.ended(test.capital)
                continue
            break
    assert wrong <= 0.05 * 300 + 2 * math.sqrt(0.05 * 0.95 * 300)


def test_a_budget_is_never_overspent() -> None:
    budget = Budget()
    for left in (0.2, 5.0, 0.0, 0.01):
        stake = budget.stake
        assert 0 < stake < budget.cash <= 1
        budget = budget.began()
        budget = budget.ended(left * stake)
        assert budget.cash <= 1


def test_what_a_game_is_worth() -> None:
    assert [score(r) for r in ("Victory", "win", "Tie", "draw", "Defeat", "loss")] == [1, 1, 0.5, 0.5, 0, 0]
    assert score("Unknown") is None
    assert score("Unknown", truncated=True) == 0.5
    assert score("Victory", truncated=True) == 1
    assert score("Unknown", truncated=True, crashed=True) == 0


def test_a_block_compares_every_pair() -> None:
    won, lost, drawn = Played(1.0), Played(0.0), Played(0.5)
    assert difference([won], [lost, drawn]) == pytest.approx(0.75)
    assert difference([lost, won], [won]) == pytest.approx(-0.5)
    # Without results, by rewards: better than one, equal to the other.
    assert difference([Played(None, 3.0)], [Played(None, 1.0), Played(None, 3.0)]) == pytest.approx(0.5)
    assert difference([Played(None, -1.0)], [won]) == -1.0


def test_an_interval_holds_the_mean_at_every_look() -> None:
    rng = np.random.default_rng(6)
    missed = 0
    for _ in range(60):
        comparisons = rng.choice((-1.0, 0.0, 1.0), 150, p=(0.1, 0.5, 0.4))
        low, high = interval(comparisons.tolist())
        missed += not low <= 0.3 <= high
    assert missed <= 6
    assert interval([]) == (-1.0, 1.0)
    low, high = interval(rng.choice((-1.0, 0.0, 1.0), 1500, p=(0.1, 0.5, 0.4)).tolist())
    assert 0.2 < low < 0.3 < high < 0.4


@pytest.mark.parametrize("first", [1.0, -1.0, 1 / 3])
def test_an_interval_holds_the_mean_of_comparisons_that_change(first: float) -> None:
    comparisons = [first] * 60
    for _ in range(200):
        comparisons.append(-0.5 * first)
        low, high = interval(comparisons)
        assert low < np.mean(comparisons) < high
