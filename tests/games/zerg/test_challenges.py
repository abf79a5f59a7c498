from __future__ import annotations

from collections import Counter

from understudy.games.zerg.challenges import CURRICULUM_START, MIX, WINDOW, Challenge, curriculum_level, next_challenge
from understudy.games.zerg.starcraft import DIFFICULTIES


def challenge(number: int, difficulty: str = "mix", race: str = "Random", map_seed: int | None = None) -> Challenge:
    return next_challenge(number, [], race=race, difficulty=difficulty, map_seed=map_seed, seed=3)


def test_the_mix_has_every_race_plan_and_difficulty_equally_often() -> None:
    games = [challenge(number) for number in range(2 * 15 * len(MIX))]
    assert set(Counter((g.race, g.build, g.difficulty) for g in games).values()) == {2}
    assert {g.difficulty for g in games} == set(MIX)
    assert len({g.seed for g in games}) == len(games)


def test_what_is_asked_for_is_played() -> None:
    game = challenge(7, "Easy", "Zerg", 4)
    assert (game.race, game.difficulty, game.map_seed) == ("Zerg", "Easy", 4)
    assert challenge(7) == challenge(7)


def test_the_curriculum_goes_up_when_won_and_down_when_lost() -> None:
    start = DIFFICULTIES.index(CURRICULUM_START)
    wins = [(CURRICULUM_START, "Victory")] * WINDOW
    losses = [(CURRICULUM_START, "Defeat")] * WINDOW
    assert curriculum_level([]) == curriculum_level(wins[:-1]) == CURRICULUM_START
    assert curriculum_level(wins) == DIFFICULTIES[start + 1]
    assert curriculum_level(losses) == DIFFICULTIES[start - 1]
    even = [(CURRICULUM_START, result) for result in ("Victory", "Defeat") * 20]
    assert curriculum_level(even) == CURRICULUM_START


def test_the_curriculum_stays_within_the_difficulties_and_crashes_do_not_count() -> None:
    results: list[tuple[str, str]] = []
    for _ in range(100):
        results.append((curriculum_level(results), "Victory"))
    assert curriculum_level(results) == DIFFICULTIES[-1]
    assert curriculum_level([(CURRICULUM_START, "Crash")] * 20) == CURRICULUM_START
