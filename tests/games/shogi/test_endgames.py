from __future__ import annotations

import numpy as np

from games.shogi.mates import SHORT
from understudy.games.shogi.endgames import MOST_MOVES, Endgames
from understudy.games.shogi.league import OneByOne
from understudy.games.shogi.matches import LeagueEntry, ShogiMatches
from understudy.games.shogi.players import GreedyPlayer
from understudy.games.shogi.rules import START, Ending, ShogiGame, mating_move


def game_of(moves: list[str], max_moves: int = 500) -> ShogiGame:
    game = ShogiGame(max_moves=max_moves)
    for usi in moves:
        game.push_usi(usi)
    return game


def test_an_endgame_is_a_position_of_a_won_game_with_the_winner_to_move() -> None:
    endgames, rng = Endgames(), np.random.default_rng(0)
    assert endgames.draw(rng) is None
    endgames.add(game_of(SHORT))
    positions = {game_of(SHORT[:plies]).board.sfen(): 13 - plies for plies in range(0, 13, 2)}
    drawn = [endgames.draw(rng) for _ in range(300)]
    distances = [positions[endgame.sfen] for endgame in drawn if endgame is not None and endgame.winner == 0]
    assert len(distances) == 300
    assert set(distances) == set(range(1, 14, 2))
    assert distances.count(1) > 3 * distances.count(13)  # the nearer to the end, the likelier


def test_long_games_begin_again_near_their_end_only() -> None:
    player, game = GreedyPlayer(np.random.default_rng(5)), ShogiGame()
    while game.result is None:
        game.push(player.choose(game).move or 0)
    assert len(game.moves) > 2 * MOST_MOVES
    endgames, rng = Endgames(), np.random.default_rng(0)
    endgames.add(game)
    numbers = [int(drawn.sfen.split()[3]) for _ in range(300) if (drawn := endgames.draw(rng))]
    assert max(numbers) == len(game.moves)  # the last move but none: mate in one
    assert min(numbers) == len(game.moves) + 2 - 2 * MOST_MOVES


def test_only_whole_games_that_ended_by_mate_are_remembered() -> None:
    resigned = ShogiGame()
    resigned.resign()
    part = ShogiGame(game_of(SHORT[:12]).board.sfen())
    part.push_usi(SHORT[12])
    assert part.result is not None
    assert part.result.ending is Ending.MATE
    endgames = Endgames()
    for game in (resigned, part, game_of(SHORT[:4], max_moves=4), game_of(SHORT[:4])):
        endgames.add(game)
    assert endgames.draw(np.random.default_rng(0)) is None
    endgames.add(game_of(SHORT))
    endgames.clear()
    assert endgames.draw(np.random.default_rng(0)) is None


def test_the_learner_takes_the_winners_place_against_the_same_rival() -> None:
    matches = ShogiMatches(3, 200, [LeagueEntry(OneByOne(GreedyPlayer), 2)], late=0.7)
    matches.reset(np.random.SeedSequence(4))
    rng, late, mates = np.random.default_rng(1), 0, 0
    for _ in range(600):
        step = matches.step(np.array([rng.integers(len(game.legal_moves)) for game in matches.games]))
        for i in np.flatnonzero(step.over | step.cut).tolist():
            game = matches.games[i]
            if game.start != START and i < 2:
                assert game.moves == []
                assert matches.to_move()[i] == matches._learner_side[i]
                late += 1
                mates += bool(mating_move(game))
    assert late > 20
    assert mates > late / 10
    matches.reset(np.random.SeedSequence(4))
    assert all(game.start == START for game in matches.games)


def test_games_of_the_learner_with_itself_begin_near_their_ends_too() -> None:
    matches = ShogiMatches(1, late=0.9)
    matches.reset(np.random.SeedSequence(0))
    for usi in SHORT:
        matches.step(np.array([matches.games[0].legal_moves.index(matches.games[0].move_of_usi(usi))]))
    positions = {game_of(SHORT[:plies]).board.sfen() for plies in range(0, 13, 2)}
    starts = set()
    for _ in range(60):
        starts.add(matches.games[0].start)
        matches.begin_anew(np.array([True]))
    assert START in starts
    assert len(starts) > 4
    assert starts <= positions | {START}
