from __future__ import annotations

import math
from typing import Any

import cshogi
import numpy as np
import pytest

from games.shogi.material import material
from understudy.games.shogi.actions import BLACK, WHITE
from understudy.games.shogi.players import (
    GreedyPlayer,
    MoveChoice,
    PolicyPlayer,
    RandomPlayer,
    SearchPlayer,
    ShogiPlayer,
    outcome,
    play,
    play_match,
)
from understudy.games.shogi.record import GameRecord
from understudy.games.shogi.rules import Ending, Result, ShogiGame
from understudy.games.shogi.score import ContestScore, elo


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def chosen(player: GreedyPlayer, sfen: str) -> set[str]:
    return {cshogi.move_to_usi(player.choose(ShogiGame(sfen)).move) for _ in range(20)}


def test_the_greedy_player_mates_then_takes_the_most_valuable_piece() -> None:
    player = GreedyPlayer(rng())
    assert chosen(player, "4k4/9/4P4/9/9/9/9/9/4K4 b G 1") == {"G*5b"}
    assert chosen(player, "4k4/9/9/4p1b2/9/9/4R1L2/9/3K5 b - 1") == {"3g3d"}
    assert len(chosen(player, ShogiGame().start)) > 5


Played = tuple[ContestScore, list[GameRecord]]


def match_of(
    first: ShogiPlayer, second: ShogiPlayer, games: int, chance: np.random.Generator, **options: Any
) -> Played:
    """A match and its games, which come one by one."""
    records: dict[int, GameRecord] = {}
    score = play_match(first, second, games, chance, **options, on_game=records.__setitem__)
    assert list(records) == list(range(1, score.games + 1))
    return score, list(records.values())


def test_a_match_between_players_of_different_strength_shows_it() -> None:
    score, records = match_of(GreedyPlayer(rng(1)), RandomPlayer(rng(2)), 10, rng(3), max_moves=300)
    assert score.games == len(records) == 10
    assert score.wins >= 8
    assert score.losses == 0


@pytest.mark.slow
def test_search_beats_the_policy_it_searches_with() -> None:
    search, policy = SearchPlayer(material, 32), PolicyPlayer(material, temperature=1.0, rng=rng(4))
    score, records = match_of(search, policy, 4, rng(5), max_moves=250)
    assert score.wins >= 3
    assert {record.names for record in records} == {("search", "policy"), ("policy", "search")}


def test_pairs_of_games_share_an_opening_and_exchange_colours() -> None:
    _, records = match_of(RandomPlayer(rng(6)), GreedyPlayer(rng(7)), 4, rng(8), opening_moves=6, max_moves=60)
    openings = [record.moves[:6] for record in records]
    assert openings[0] == openings[1] != openings[2] == openings[3]
    assert records[0].names == ("random", "greedy")
    assert records[1].names == ("greedy", "random")


def test_evaluations_are_written_down_for_black() -> None:
    sfen = "4k4/9/9/9/9/9/9/2R6/3K5 b - 1"  # Black has a rook more
    record = play(PolicyPlayer(material), PolicyPlayer(material), sfen, max_moves=6)
    assert len(record.evaluations) == len(record.moves) == 6
    assert all(value is not None and value > 100 for value in record.evaluations)


def test_a_player_may_resign() -> None:
    class Quitter:
        name = "quitter"

        def choose(self, game: ShogiGame) -> MoveChoice:
            return MoveChoice(None)

    assert play(RandomPlayer(rng()), Quitter()).result == Result(BLACK, Ending.RESIGNATION)


def test_the_same_seeds_play_the_same_match() -> None:
    def match() -> list[tuple[str, ...]]:
        players = PolicyPlayer(material, 1.0, rng(1)), RandomPlayer(rng(2))
        return [record.moves for record in match_of(*players, 2, rng(3), max_moves=40)[1]]

    assert match() == match()


def test_scores_and_elo() -> None:
    score = ContestScore(6, 2, 2)
    assert score.share == pytest.approx(0.7)
    assert score.interval() == pytest.approx((0.3968, 0.8922), abs=2e-4)
    assert elo(0.5) == 0
    assert elo(10 / 11) == pytest.approx(400)
    assert (elo(1), elo(0)) == (math.inf, -math.inf)
    assert "70.0%" in str(score)


def test_outcomes_in_words() -> None:
    assert outcome(Result(WHITE, Ending.MATE)) == "White wins (mate)"
    assert outcome(Result(None, Ending.REPETITION)) == "draw (repetition)"
    assert outcome(None) == "broken off"
