from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator, Sequence

import cshogi
import numpy as np
import pytest
from numpy.typing import NDArray

from games.shogi.material import material
from games.shogi.random_games import random_positions
from understudy.games.shogi.actions import WHITE
from understudy.games.shogi.inference import Outputs
from understudy.games.shogi.rules import Ending, ShogiGame, mating_move, short_mate
from understudy.games.shogi.search import Limits, Search, SearchSettings, centipawns
from understudy.games.shogi.search_tree import LOSS, WIN, Node, back_up, prove

SHUFFLE = "k8/9/9/9/9/9/9/9/8K b - 1"  # nothing but kings


def usi(move: int) -> str:
    return str(cshogi.move_to_usi(move))


def test_a_mate_in_one_is_played() -> None:
    game = ShogiGame("4k4/9/4P4/9/9/9/9/9/4K4 b G 1")
    thought = Search(material).think(game, Limits(nodes=50))
    assert usi(thought.move) == "G*5b"
    assert thought.value == 1


def test_a_piece_that_hangs_is_taken_and_the_value_is_that_of_the_player_to_move() -> None:
    sfen = "4k4/9/9/4r4/9/9/9/4R4/3K5 b - 1"
    for start, best in ((sfen, "5h5d"), (cshogi.rotate_sfen(sfen), "5b5f")):
        thought = Search(material).think(ShogiGame(start), Limits(nodes=300))
        assert usi(thought.move) == best
        assert thought.value > 0.5
        assert thought.line[0] == thought.move


def test_a_piece_is_not_given_for_a_defended_pawn() -> None:
    game = ShogiGame("4k4/4g4/4p4/9/9/9/9/4R4/3K5 b - 1")
    thought = Search(material).think(game, Limits(nodes=600))
    assert usi(thought.move) != "5h5c"


def test_the_search_ends_at_its_number_of_nodes_and_leaves_the_game_alone() -> None:
    game = ShogiGame()
    game.push_usi("7g7f")
    before = game.board.sfen()
    for nodes in (1, 2, 7, 100):
        thought = Search(material).think(game, Limits(nodes=nodes))
        assert thought.nodes == nodes
        assert sum(visits for _, visits in thought.visits) == nodes - 1
        assert (game.board.sfen(), len(game.moves), game.result) == (before, 1, None)


def test_the_search_ends_in_time_and_when_told_to() -> None:
    stop = threading.Event()
    stop.set()
    assert Search(material).think(ShogiGame(), Limits(stop=stop)).nodes == 1
    thought = Search(material).think(ShogiGame(), Limits(deadline=time.monotonic() + 0.05))
    assert thought.nodes > 1


def test_nothing_begins_that_would_end_after_the_deadline() -> None:
    limits = Limits(nodes=100, deadline=time.monotonic() + 1000)
    assert not limits.reached(99, next_seconds=10)
    assert limits.reached(99, next_seconds=2000)
    assert limits.reached(100)


def test_the_game_is_restored_when_the_evaluator_fails() -> None:
    calls = 0

    def failing(planes: NDArray[np.float32]) -> Outputs:
        nonlocal calls
        calls += 1
        if calls > 3:
            raise RuntimeError("out of order")
        return material(planes)

    game = ShogiGame()
    with pytest.raises(RuntimeError):
        Search(failing).think(game, Limits(nodes=100))
    assert game.moves == []


def test_one_leaf_at_a_time_and_eight_count_visits_alike() -> None:
    for leaves in (1, 8):
        thought = Search(material, SearchSettings(leaves=leaves)).think(
            ShogiGame("4k4/9/9/4r4/9/9/9/4R4/3K5 b - 1"), Limits(nodes=200)
        )
        assert sum(visits for _, visits in thought.visits) == 199
        assert abs(thought.value) <= 1


def test_repetition_is_a_draw_for_the_search_too() -> None:
    game = ShogiGame()
    for move in (["2h3h", "8b7b", "3h2h", "7b8b"] * 3)[:-1]:
        game.push_usi(move)
    assert game.result is None
    thought = Search(material).think(game, Limits(nodes=200))
    repeating = {usi(move): visits for move, visits in thought.visits}["7b8b"]
    assert repeating > 0
    assert game.result is None


def test_mating_moves_are_legal_mates() -> None:
    assert mating_move(ShogiGame()) == 0
    game = ShogiGame("4k4/9/4P4/9/9/9/9/9/4K4 b G 1")
    result = game.push(mating_move(game))
    assert result is not None


def test_centipawns_are_symmetric_and_bounded() -> None:
    assert centipawns(0) == 0
    assert centipawns(0.5) == -centipawns(-0.5) > 0
    assert centipawns(1) == -centipawns(-1) < 10_000


def test_the_selection_is_the_highest_bound_of_all_moves() -> None:
    rng = np.random.default_rng(0)
    node = Node()
    node.visits, node.total = 1, 0.3
    node.expand(np.arange(1, 31, dtype=np.int32), rng.dirichlet(np.full(30, 0.4)).astype(np.float32))
    assert node.priors is not None
    for _ in range(400):
        tried = {child.move: child for child in node.children}
        unknown = -node.total / node.visits - 0.3 * math.sqrt(sum(child.prior for child in node.children))
        bounds = []
        for move, prior in zip(node.moves.tolist() if node.moves is not None else [], node.priors, strict=True):
            child = tried.get(move)
            value = child.total / child.visits if child else unknown
            visits = child.visits if child else 0
            bounds.append(value + 1.4 * math.sqrt(node.visits) * float(prior) / (1 + visits))
        chosen = node.select(1.4, 0.3)
        assert node.moves is not None
        assert chosen.move == int(node.moves[int(np.argmax(bounds))])
        back_up([node, chosen], float(rng.normal(0, 0.3)), expected=False)


def test_a_win_is_proved_by_one_move_and_a_loss_by_all() -> None:
    root, children = _grown(3)
    prove([root, children[0]], WIN)
    assert (root.proof, children[0].proof) == (LOSS, WIN)
    root, children = _grown(2)
    prove([root, children[0]], LOSS)
    assert root.proof == 0
    prove([root, children[1]], LOSS)
    assert root.proof == WIN


def _grown(moves: int) -> tuple[Node, list[Node]]:
    root = Node()
    root.visits = 1
    root.expand(np.arange(1, moves + 1, dtype=np.int32), np.full(moves, 1 / moves, np.float32))
    children = []
    for _ in range(moves):
        child = root.select(1.0, 0.0)
        back_up([root, child], -0.5, expected=False)
        child.expand(np.array([99], np.int32), np.ones(1, np.float32))
        children.append(child)
    return root, children


def test_visits_of_the_last_search_count_when_the_game_goes_on() -> None:
    search, game = Search(material), ShogiGame(SHUFFLE)
    first = search.think(game, Limits(nodes=300))
    game.push(first.line[0])
    game.push(first.line[1])
    second = search.think(game, Limits(nodes=50))
    assert second.nodes == 50
    assert sum(visits for _, visits in second.visits) > 60
    other = ShogiGame()
    other.push_usi("1g1f")
    assert sum(visits for _, visits in search.think(other, Limits(nodes=50)).visits) == 49


def test_a_search_without_nodes_still_has_a_move_and_a_value() -> None:
    search, game = Search(material), ShogiGame()
    for nodes in (0, 100, 0):
        thought = search.think(game, Limits(nodes=nodes))
        assert thought.move in game.legal_moves
        assert abs(thought.value) <= 1


def test_the_best_moves_come_with_their_lines_and_values() -> None:
    game = ShogiGame("4k4/9/9/4r4/9/9/9/4R4/3K5 b - 1")
    thought = Search(material).think(game, Limits(nodes=300), lines=3)
    assert thought.lines[0].moves == thought.line
    assert len({line.move for line in thought.lines}) == 3
    assert thought.lines[0].visits >= thought.lines[1].visits >= thought.lines[2].visits
    assert thought.value == thought.lines[0].value > thought.lines[1].value


def test_a_position_that_occurred_since_the_root_is_a_draw() -> None:
    search, game = Search(material), ShogiGame(SHUFFLE)
    search.think(game, Limits(nodes=400))
    root = search._root
    assert root is not None
    seen = [node for node in _nodes(root) if node.cycle >= 0]
    assert seen
    assert all(node.known == 0 and node.moves is None for node in seen)


def _nodes(node: Node) -> Iterator[Node]:
    for child in node.children:
        yield child
        yield from _nodes(child)


def test_who_gives_check_all_the_time_loses_and_a_position_before_the_root_may_occur_again() -> None:
    game = ShogiGame("4k4/9/9/9/9/9/9/4R4/4K4 w - 1")
    for move in ("5a4a", "5h4h", "4a5a", "4h5h"):  # Black checks with every move
        game.push_usi(move)
    assert game.cycle(1) is None
    found = game.cycle(0)
    assert found is not None
    assert (found[0], found[1].winner, found[1].ending) == (0, WHITE, Ending.PERPETUAL_CHECK)
    game.push_usi("5a4a")
    search = Search(material)
    search.think(game, Limits(nodes=200))
    root = search._root
    assert root is not None
    game.push_usi("5h4h")
    assert game.cycle(5) is None  # it occurred before the root: not the end yet


def test_a_cycle_is_looked_at_again_when_its_first_position_lies_before_the_root() -> None:
    search, game = Search(material), ShogiGame(SHUFFLE)
    search.think(game, Limits(nodes=500))
    assert search._root is not None
    for node in (search._root.children[0], search._root.children[0].children[0]):
        game.push(node.move)
    kept = search._root.children[0].children[0]
    old = {id(node): (node, node.visits) for node in _nodes(kept) if 0 <= node.cycle < 2}
    search.think(game, Limits(nodes=1000))
    assert search._root is kept
    again = [node for node, visits in old.values() if node.visits > visits]
    assert again
    assert all(node.moves is not None or node.cycle >= 2 for node in again)


def test_a_draw_is_worth_what_the_player_at_the_root_thinks_of_it() -> None:
    """A position that leads to a draw at once, or to a slightly worse game."""
    moves = (["2h3h", "8b7b", "3h2h", "7b8b"] * 3)[:-1]
    visits = []
    for worth in (-0.9, 0.9):
        game = ShogiGame()
        for move in moves:
            game.push_usi(move)
        thought = Search(material, SearchSettings(draw_value=worth)).think(game, Limits(nodes=400))
        visits.append({usi(move): count for move, count in thought.visits}["7b8b"])
    assert visits[1] > 10 * visits[0]


def test_short_mates_are_real() -> None:
    """cshogi's search for a mate in three against all moves and answers."""
    found = 0
    for game in random_positions(0, 1500):
        if game.result is None and (move := short_mate(game)):
            found += 1
            assert _mates(game, move, 3)
    assert found >= 3


def _mates(game: ShogiGame, move: int, plies: int) -> bool:
    """Whether this move forces mate within this many plies, by examining everything."""
    player, result = game.turn, game.push(move)
    try:
        if result is not None:
            return result.winner == player
        if plies == 1 or not game.in_check:
            return False
        return all(_answered(game, answer, plies - 2) for answer in list(game.legal_moves))
    finally:
        game.pop()


def _answered(game: ShogiGame, answer: int, plies: int) -> bool:
    try:
        return game.push(answer) is None and any(_mates(game, move, plies) for move in list(game.legal_moves))
    finally:
        game.pop()


def test_mates_come_from_the_callables_of_the_settings() -> None:
    asked: list[str] = []

    def at_root(game: ShogiGame, limits: Limits) -> Sequence[int]:
        asked.append(game.board.sfen())
        return game.legal_moves[:1]

    game = ShogiGame()
    thought = Search(material, SearchSettings(root_mate=at_root)).think(game, Limits(nodes=10))
    assert (thought.move, thought.value, thought.mate) == (game.legal_moves[0], 1.0, True)
    assert asked == [game.board.sfen()]
    none = SearchSettings(leaf_mate=lambda _: 0)
    position = ShogiGame("4k4/9/4P4/9/9/9/9/9/4K4 b G 1")
    thought = Search(material, none).think(position, Limits(nodes=100))  # the tree itself proves it
    assert (usi(thought.move), thought.value, thought.mate) == ("G*5b", 1.0, True)
    assert thought.nodes < 100


def test_the_tree_stays_within_its_bound() -> None:
    search = Search(material, SearchSettings(most_nodes=50))
    assert search.think(ShogiGame(), Limits(nodes=10_000)).nodes <= 50 + search.settings.leaves


def test_a_search_that_may_be_stopped_asks_a_slow_network_for_few_positions_at_a_time() -> None:
    asked: list[int] = []

    def slow(planes: NDArray[np.float32]) -> Outputs:
        asked.append(len(planes))
        time.sleep(0.01 * len(planes))
        return material(planes)

    Search(slow).think(ShogiGame(), Limits(nodes=24, stop=threading.Event()))
    assert set(asked[4:]) <= {1, 2}
    asked.clear()
    Search(slow).think(ShogiGame(), Limits(nodes=24))
    assert max(asked) == 8


def test_noise_is_drawn_anew_and_moves_by_their_visits() -> None:
    game, results = ShogiGame(), []
    for seed in (1, 2):
        search = Search(material, SearchSettings(noise=0.5), np.random.default_rng(seed))
        results.append(search.think(game, Limits(nodes=100)))
    assert results[0].visits != results[1].visits
    rng = np.random.default_rng(0)
    thought = results[0]
    assert thought.drawn(0.0, rng) == thought.move
    drawn = [thought.drawn(1.0, rng) for _ in range(400)]
    shares = {move: visits / sum(v for _, v in thought.visits) for move, visits in thought.visits}
    assert abs(drawn.count(thought.move) / 400 - shares[thought.move]) < 0.08
    assert len({thought.drawn(0.01, rng) for _ in range(20)}) <= 2


def test_noise_keeps_what_was_found_and_the_order_of_the_moves() -> None:
    search = Search(material, SearchSettings(noise=0.25), np.random.default_rng(0))
    game = ShogiGame()
    first = search.think(game, Limits(nodes=60))
    second = search.think(game, Limits(nodes=60))
    assert dict(first.visits).keys() == dict(second.visits).keys()
    assert all(dict(second.visits)[move] >= visits for move, visits in first.visits)
