"""The rating list of `shogi-check`: the pairings, and the list's content."""

from __future__ import annotations

from pathlib import Path

import pytest

from understudy.games.shogi import strength
from understudy.games.shogi.arena_players import known
from understudy.games.shogi.checkpoint import Checkpoint, new_network, save_checkpoint
from understudy.games.shogi.score import ContestScore
from understudy.games.shogi.strength import Strength, fairy_stockfish, goals, ladders
from understudy.games.shogi.usi_process import find_engines
from understudy.models.ratings import PairResults
from understudy.settings import NetworkSettings

TINY = NetworkSettings(policy="resnet", blocks=1, channels=8, attention_width=4, value_width=4)


def test_ladders_name_players_of_the_arena() -> None:
    found = ladders()
    assert found[0] == ["random", "greedy"]
    assert all(known(name) for ladder in found for name in ladder)
    assert len(found) == 1 + len(find_engines())


def test_nobody_is_met_who_was_beaten_with_fewer_nodes_or_is_beyond_one_who_wins_nearly_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shares = {
        (0, "a"): 1.0,
        (0, "b"): 0.5,
        (0, "c"): 0.05,
        (0, "x"): 0.0,
        (200, "b"): 0.95,
        (200, "c"): 0.3,
        (200, "d"): 0.2,
        (200, "x"): 0.0,
        (800, "c"): 0.6,
        (800, "d"): 0.0,
        (800, "x"): 0.1,
        (800, "y"): 0.1,
    }
    met: list[tuple[int, str]] = []

    def meet(_: Strength, nodes: int, opponent: str) -> ContestScore:
        met.append((nodes, opponent))
        won = round(100 * shares[nodes, opponent])
        return ContestScore(won, 0, 100 - won)

    monkeypatch.setattr(Strength, "_meet", meet)
    Strength(Path("model.npz"), 2, print).climb([["a", "b", "c", "d"], ["x", "y"]])
    assert met == list(shares)


def test_goals_come_with_the_minutes() -> None:
    assert goals(1) == {}
    assert goals(15) == {("800 nodes", fairy_stockfish(0)): 0.5}
    assert set(goals(60)) == {("800 nodes", fairy_stockfish(level)) for level in (0, 3)}


@pytest.mark.slow
def test_all_players_are_in_one_list_by_who_moved_first(tmp_path: Path) -> None:
    for number in (1, 2):
        save_checkpoint(tmp_path / f"{number}.npz", Checkpoint(new_network(TINY, number)))
    lines: list[str] = []
    found = Strength(tmp_path / "1.npz", 2, lines.append)
    found.climb([["random"], ["greedy"]], nodes=(0, 8))
    found.against(tmp_path / "2.npz", 2)
    players = {row.player: row for row in found.ratings().table}
    assert players.keys() == {"policy", "8 nodes", "random", "greedy", f"{tmp_path / '2.npz'}, policy"}
    assert players["random"].elo == 0
    assert players["random"].anchor
    assert players["greedy"].elo > players["policy"].elo
    assert len(lines) == len(found.scores)
    games = found._results
    assert all(isinstance(of, PairResults) and of.won + of.drawn + of.lost == 1 for of in games)
    assert {(of.first, of.second) for of in games} >= {("policy", "greedy"), ("greedy", "policy")}


@pytest.mark.parametrize(("won", "reached"), [(20, True), (19, False)])
def test_the_verdict_is_that_of_the_goals(monkeypatch: pytest.MonkeyPatch, won: int, reached: bool) -> None:
    match = ("800 nodes", fairy_stockfish(0))
    found = {match: ContestScore(won, 0, 40 - won)}
    monkeypatch.setattr(Strength, "climb", lambda of, _: of.scores.update(found))
    lines: list[str] = []
    assert strength.measure_strength(Path("model.npz"), 15, 40, 0, say=lines.append) == reached
    assert lines[-1].endswith("(goal 50%)")
    assert strength.measure_strength(Path("model.npz"), 5, 40, 0, say=lines.append)
