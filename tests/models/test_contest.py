"""The contest of champion and line: verdicts, their error levels, and plain values."""

import json
import random

from understudy.models.contest import Contest, Verdict, block_size, challenger, contest_from, line_on_stage

ERROR, MARGIN = 0.05, 0.1


def after(contest: Contest, *comparisons: float) -> Contest:
    for comparison in comparisons:
        contest = contest.after(comparison)
    return contest


def first_verdict(contest: Contest, comparison: float, most: int = 400) -> tuple[int, Verdict | None]:
    for number in range(1, most + 1):
        contest = contest.after(comparison)
        if (verdict := contest.verdict(ERROR)) is not None:
            return number, verdict
    return most, None


def test_a_challenger_that_always_loses_is_dropped_sooner_than_one_that_always_wins_is_promoted() -> None:
    harmed, harm = first_verdict(challenger("strict", MARGIN), -1.0)
    promoted, promotion = first_verdict(challenger("strict", MARGIN), 1.0)
    assert (harm, promotion) == ("harm", "promote")
    assert harmed < promoted


def test_after_harm_a_line_is_refused_or_returns_after_few_comparisons() -> None:
    refused, harm = first_verdict(challenger("guard", MARGIN), -1.0)
    returned, verdict = first_verdict(challenger("guard", MARGIN), 1.0)
    assert (harm, verdict) == ("harm", "promote")
    assert refused <= returned < first_verdict(line_on_stage(MARGIN), 1.0)[0]


def test_a_line_that_always_loses_is_taken_off_sooner_than_one_that_always_wins_becomes_champion() -> None:
    harmed, harm = first_verdict(line_on_stage(MARGIN), -1.0)
    promoted, promotion = first_verdict(line_on_stage(MARGIN), 1.0)
    assert (harm, promotion) == ("harm", "promote")
    assert harmed < promoted


def test_an_equal_line_becomes_champion_in_guard_and_never_in_strict() -> None:
    assert first_verdict(line_on_stage(MARGIN), 0.0)[1] == "promote"
    assert first_verdict(challenger("strict", MARGIN), 0.0)[1] == "drop"


def test_a_line_that_did_a_little_worse_does_not_become_champion_however_sure_that_is() -> None:
    contest = after(line_on_stage(MARGIN), *[-0.01] * 300)
    assert contest.worth.refutes(0.01)  # surely not worse by a tenth
    assert contest.verdict(ERROR) is None


def test_a_line_may_return_after_harm_a_little_worse_but_not_half_a_margin_worse() -> None:
    assert first_verdict(challenger("guard", MARGIN), -0.04)[1] == "promote"
    below = after(challenger("guard", MARGIN), *[-0.06] * 250)
    assert below.worth.refutes(below.levels(ERROR)[1])  # surely not worse by a tenth
    assert below.verdict(ERROR) != "promote"


def test_a_challenger_that_is_only_equal_gives_way() -> None:
    contest = challenger("strict", MARGIN)
    for number in range(2000):
        contest = contest.after(1.0 if number % 2 else -1.0)
        if contest.verdict(ERROR):
            break
    assert contest.verdict(ERROR) == "drop"


def test_a_line_needs_more_evidence_to_return_each_time_it_was_taken_off() -> None:
    first, again = (first_verdict(challenger("guard", MARGIN, harms=harms), 0.0) for harms in (1, 4))
    assert first[1] == again[1] == "promote"
    assert first[0] < again[0]
    assert line_on_stage(MARGIN, harms=1).suspected


def test_a_line_that_returned_is_taken_off_again_sooner() -> None:
    first, again = (first_verdict(line_on_stage(MARGIN, harms=harms), -1.0) for harms in (0, 1))
    assert first[1] == again[1] == "harm"
    assert again[0] < first[0]


def test_suspicion_comes_before_the_verdict() -> None:
    contest = line_on_stage(MARGIN)
    assert not contest.suspected
    while not contest.suspected:
        contest = contest.after(-1.0)
    assert contest.verdict(ERROR) is None


def test_a_contest_survives_json() -> None:
    for contest in (after(line_on_stage(MARGIN), 1.0, -0.5), after(challenger("strict", MARGIN), 0.25)):
        assert contest_from(json.loads(json.dumps(contest.as_json()))) == contest


def test_blocks_have_one_game_of_the_smaller_share() -> None:
    assert [block_size(share) for share in (0.5, 0.9, 0.2, 0.1, 0.05)] == [2, 2, 5, 10, 20]


def test_the_test_of_harm_goes_on_under_the_next_champion() -> None:
    rng = random.Random(0)
    contest = after(line_on_stage(MARGIN), *(rng.choice((-1.0, 1.0)) for _ in range(50)))
    assert line_on_stage(MARGIN, contest).harm == contest.harm


def test_a_challenger_that_has_the_champions_results_soon_gives_way_to_a_newer_one() -> None:
    """After a change of the world both may lose every game; a later candidate has learned more."""
    assert first_verdict(challenger("strict", MARGIN), 0.0) == (25, "drop")
    contest = challenger("strict", MARGIN)
    for _ in range(100):  # there is no newer one
        contest = contest.after(0.0)
        assert contest.verdict(ERROR, newer=False) is None


def test_a_challenger_that_is_hardly_better_gives_way_a_few_times_and_is_then_tested_to_the_end() -> None:
    ends, budget = [], None
    for _ in range(5):
        contest = challenger("strict", MARGIN, budget)
        while (verdict := contest.verdict(ERROR)) is None:
            contest = contest.after((0.5, -0.5, 0.5, -0.25)[contest.seen % 4])
        ends.append((contest.seen, verdict))
        budget = contest.budget.ended(contest.worth.capital)
    assert ends == [(25, "drop"), (50, "drop"), (100, "drop"), (300, "drop"), (300, "drop")]
