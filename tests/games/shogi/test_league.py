"""Whom the learner meets: simple rivals fade out once they are beaten, past selves and itself take their place."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from understudy.errors import MatchesDamaged
from understudy.games.saved import pack
from understudy.games.shogi.league import (
    GAMES_OF_A_PAST,
    LEAST_MATCHES,
    RING,
    SIMPLE,
    PastSelf,
    ShogiLeague,
    ring_of,
)
from understudy.games.shogi.matches import NOBODY, LeagueEntry, ShogiMatches
from understudy.games.shogi.rules import Ending, Result

GREEDY, RANDOM, PAST = range(3)


def league(folder: Path | None = None, matches: int = 64) -> ShogiLeague:
    found = ShogiLeague(matches, "" if folder is None else str(folder))
    found.reset(np.random.SeedSequence(1))
    return found


def counts(of: ShogiLeague) -> Counter[int]:
    return Counter(of._rival_of.tolist())


def beat(of: ShogiLeague, name: str, points: float, games: int = 400) -> None:
    for _ in range(games):
        of._standings.count(name, points)


def replay_all(of: ShogiLeague) -> None:
    """Every match ends; nobody's strength is seen in it."""
    of.begin_anew(np.ones(of.matches, np.bool_))


def test_a_beginner_meets_simple_players_first(tmp_path: Path) -> None:
    assert counts(league(tmp_path)) == {GREEDY: 36, RANDOM: 16, PAST: 6, NOBODY: 6}
    assert counts(league()) == {GREEDY: 36, RANDOM: 16, NOBODY: 12}


def test_rivals_that_are_solved_fade_out_and_come_back_when_they_win_again(tmp_path: Path) -> None:
    of = league(tmp_path)
    beat(of, "random", 1.0)
    replay_all(of)
    assert counts(of)[RANDOM] <= 1
    assert counts(of)[GREEDY] == 36
    assert counts(of)[PAST] >= 13
    beat(of, "greedy", 0.99)
    replay_all(of)
    assert counts(of)[GREEDY] <= 3
    assert abs(counts(of)[PAST] - counts(of)[NOBODY]) <= 1
    assert counts(of)[PAST] >= 29
    beat(of, "greedy", 0.4)
    replay_all(of)
    assert counts(of)[GREEDY] == 36


def test_shares_follow_how_often_the_learner_wins(tmp_path: Path) -> None:
    of = league(tmp_path)
    for points, share in ((0.0, 1.0), (0.4, 1.0), (0.75, 0.75), (0.9, 0.36)):
        of._standings = type(of._standings)()
        beat(of, "greedy", points, 3000)
        assert of.shares()[GREEDY] == pytest.approx(SIMPLE["greedy"] * share, rel=0.1)
    beat(of, "greedy", 1.0, 3000)
    assert of.shares()[GREEDY] >= LEAST_MATCHES / of.matches
    assert of.shares()[PAST] == pytest.approx((1 - of.shares()[:PAST].sum()) / 2)


def test_matches_need_not_end_together_for_the_shares_to_hold(tmp_path: Path) -> None:
    of = league(tmp_path)
    beat(of, "random", 1.0)
    beat(of, "greedy", 1.0)
    rng = np.random.default_rng(0)
    for _ in range(300):
        which = np.zeros(of.matches, np.bool_)
        which[rng.integers(of.matches)] = True
        of.begin_anew(which)
    assert counts(of)[GREEDY] + counts(of)[RANDOM] <= 2
    assert abs(counts(of)[PAST] - counts(of)[NOBODY]) <= 1


class Resigns:
    """A rival that gives up at once."""

    def __init__(self) -> None:
        self.points: list[float | None] = []

    def prepare(self, rng: np.random.Generator) -> None: ...

    def answer(self, games: object) -> list[None]:
        return [None] * len(games)  # type: ignore[arg-type]

    def next_game(self, points: float | None) -> None:
        self.points.append(points)

    def snapshot(self) -> dict[str, object]:
        return {}

    def restore(self, saved: object) -> None: ...


def test_a_rival_is_told_the_learners_points_in_whole_games_only() -> None:
    rival = Resigns()
    matches = ShogiMatches(2, rivals=[LeagueEntry(rival, 1)])
    matches.reset(np.random.SeedSequence(0))
    matches.begin_anew(np.array([True, False]))  # was restarted
    for _ in range(3):
        matches.step(np.zeros(2, np.int64))
    assert rival.points[0] is None
    assert set(rival.points[1:]) == {1.0}
    assert len(rival.points) >= 3
    game = matches.games[1]
    game.result = Result(None, Ending.REPETITION)
    assert ShogiMatches._points(game, 0) == 0.5
    game.result = Result(1, Ending.MATE)
    assert ShogiMatches._points(game, 0) == 0.0
    game.start = "4k4/9/9/9/9/9/9/9/4K4 b - 1"
    assert ShogiMatches._points(game, 1) is None


def test_results_against_simple_rivals_are_counted_by_name(tmp_path: Path) -> None:
    of = league(tmp_path)
    for entry in of._entries:
        assert entry.matches == 0
    of._finished(RANDOM, 1.0)
    of._finished(GREEDY, 0.0)
    of._finished(GREEDY, None)
    of._finished(PAST, 0.0)
    assert of._standings.snapshot() == {"random": [1.0, 1.0], "greedy": [0.0, 1.0]}
    past = of._entries[PAST].rival
    assert isinstance(past, PastSelf)
    assert past._standings.snapshot() == {"": [0.0, 1.0]}


def test_the_ring_is_spread_over_the_versions_that_are_kept() -> None:
    assert ring_of([]) == []
    assert ring_of([4, 9]) == ["000004", "000009"]
    ring = [int(version) for version in ring_of(range(1, 101))]
    assert len(ring) == RING
    assert ring[0] == 1
    assert ring[-1] == 100
    assert max(np.diff(ring)) - min(np.diff(ring)) <= 1


def test_past_selves_that_are_always_beaten_are_drawn_less(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for version in (1, 2, 3):
        (tmp_path / f"{version:06d}.npz").touch()
    monkeypatch.setattr(PastSelf, "_load", lambda past, version: setattr(past, "_version", version))
    past = PastSelf(tmp_path)
    past.prepare(np.random.default_rng(0))
    points = {"000001": 1.0, "000002": 0.5, "000003": 0.0}
    drawn: Counter[str] = Counter()
    for _ in range(120 * GAMES_OF_A_PAST):
        drawn[past._version] += 1
        past.next_game(points[past._version])
    assert drawn["000002"] > 3 * max(drawn["000001"], drawn["000003"])
    assert min(drawn.values()) > 0
    (tmp_path / "000002.npz").unlink()  # pruned
    past._draw()
    assert past._standings.snapshot().keys() == {"000001", "000003"}


def test_a_league_goes_on_with_its_rivals_and_standings(tmp_path: Path) -> None:
    def play(of: ShogiLeague, steps: int) -> list[bytes]:
        seen = []
        for t in range(steps):
            places = [(7 * t + i) % len(game.legal_moves) for i, game in enumerate(of.games)]
            seen += [of.step(np.array(places)).rewards.tobytes(), of._rival_of.tobytes()]
        return seen

    one, other = league(tmp_path, 8), ShogiLeague(8, str(tmp_path))
    play(one, 60)
    beat(one, "random", 1.0, 50)
    assert other.restore(one.snapshot()).all()
    assert other._standings.snapshot() == one._standings.snapshot() != {}
    assert play(one, 150) == play(other, 150)
    assert one.snapshot() == other.snapshot()


def test_a_snapshot_of_something_else_is_refused(tmp_path: Path) -> None:
    of = league(tmp_path, 4)
    with pytest.raises(MatchesDamaged):
        of.restore(pack({"standings": {}}, {}))
    plain = ShogiMatches(4)
    plain.reset(np.random.SeedSequence(0))
    with pytest.raises(MatchesDamaged):
        of.restore(plain.snapshot())
