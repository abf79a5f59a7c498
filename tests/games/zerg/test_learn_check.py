from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

pytest.importorskip("sc2")
pytest.importorskip("numba")

from understudy.games.zerg import learn_check
from understudy.games.zerg.direct.bulk import mixed_opponent
from understudy.games.zerg.learn_check import (
    FINALISTS,
    FIRST_LOOK,
    FIXED,
    FRESH,
    Contestant,
    fixed_strategies,
    rate,
    say_opponents,
    sign_test,
)


class HerePool:
    """Does the work of other processes in this one."""

    def map(self, function: Callable[..., Any], *arguments: Any) -> Iterator[Any]:
        return map(function, *arguments)


def test_games_that_both_win_or_lose_say_nothing() -> None:
    assert sign_test([True] * 5, [True] * 5) == 1.0
    assert sign_test([True] * 8 + [False] * 100, [False] * 108) == pytest.approx(2 / 2**8)
    assert sign_test([False] * 108, [True] * 8 + [False] * 100) == pytest.approx(2 / 2**8)
    assert sign_test([True, False] * 20, [False, True] * 20) == 1.0


def test_only_the_best_fixed_strategies_play_all_games(monkeypatch: pytest.MonkeyPatch) -> None:
    played: list[tuple[str, int]] = []

    def chunk(contestant: Contestant, numbers: range) -> list[bool]:
        played.extend((contestant.name, number) for number in numbers)
        return [contestant.plan[-1] >= 4] * len(numbers)  # those that end with ATTACK or ALL_IN

    monkeypatch.setattr(learn_check, "_evaluate_chunk", chunk)
    said: list[str] = []
    won = fixed_strategies(HerePool(), 200, said.append)  # type: ignore[arg-type]
    assert {name: len(games) for name, games in won.items()} == {
        contestant.name: 200 if contestant.plan[-1] >= 4 else FIRST_LOOK for contestant in FIXED
    }
    assert sum(rate(games) == 1.0 for games in won.values()) == FINALISTS
    assert {number for _, number in played} == set(range(FRESH, FRESH + 200))
    assert len(played) == len(set(played))
    assert said[0] == f"{FIXED[0].name}: 0.0% of {FIRST_LOOK}"
    assert len(said) == len(FIXED) + FINALISTS


def test_an_opponent_that_a_plan_beats_and_the_policy_does_not_is_a_weakness() -> None:
    names = [mixed_opponent(FRESH + n).name for n in range(150)]
    weak, hard = names[0], names[1]
    policy = [name not in (weak, hard) for name in names]
    plan = [name != hard for name in names]  # beats the first one, too; nothing here beats the second one
    said: list[str] = []
    assert say_opponents(policy, {"PLAN": plan, "SHORT": [True] * 60}, said.append) == [weak]
    assert len(said) == len(set(names))
    games = names.count(weak)
    assert f"  {weak}: policy 0 of {games}; PLAN {games}  WEAKNESS" in said
    assert f"  {hard}: policy 0 of {names.count(hard)}; PLAN 0" in said
