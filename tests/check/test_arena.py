"""The arena: games are fair, recorded once, and resumed; who plays is found by name."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from understudy.check.arena import Arena, rated
from understudy.check.contestants import contestants_of
from understudy.cli import main
from understudy.errors import GameFailed, SettingsError
from understudy.games import spec as specs
from understudy.games.spec import Contestants, GameSpec
from understudy.ledger.arena import ArenaLedger
from understudy.models.live import Interface, new_model
from understudy.models.sprt import Sprt
from understudy.models.store import ModelStore
from understudy.parallel.arena import ArenaPlayer, play_pairs
from understudy.rundir import RunDir
from understudy.settings import NetworkSettings, TrainingSettings

RANDOM = ArenaPlayer("random", scripted="random")
FIRST = ArenaPlayer("lowest", scripted="lowest")


def lowest(states: NDArray[np.float32], legal: NDArray[np.bool_], rng: np.random.Generator) -> NDArray[np.int64]:
    """Takes the first free square: it more often completes a line before a random player does."""
    chosen: NDArray[np.int64] = legal.argmax(axis=1)
    return chosen


@pytest.fixture(autouse=True)
def _with_rival(monkeypatch: pytest.MonkeyPatch) -> None:
    games = dict(specs.registered_games())
    games["tictactoe"] = dataclasses.replace(games["tictactoe"], rivals={"lowest": lowest})
    monkeypatch.setattr(specs, "registered_games", lambda: games)


@pytest.fixture
def run(tmp_path: Path) -> RunDir:
    """A run of tic-tac-toe with three versions."""
    place = RunDir.at(tmp_path / "run")
    place.create()
    store = ModelStore(place.model, place.ledger)
    actions = tuple(f"{row}{column}" for row in "abc" for column in "123")
    store.create(new_model(Interface(18, actions), NetworkSettings(hidden=(8,)), TrainingSettings(), 1))
    for _ in range(2):
        head = store.load()
        store.publish(dataclasses.replace(head, seed=head.seed + 1), head, publisher="learner")
    return place


def test_a_pair_is_two_games_with_sides_exchanged_and_the_same_arguments_give_the_same_games() -> None:
    games = play_pairs("tictactoe", FIRST, RANDOM, [3, 4])
    assert [(first, second, pair) for first, second, pair, _ in games] == [
        *(("lowest", "random", 3), ("lowest", "random", 4)),
        *(("random", "lowest", 3), ("random", "lowest", 4)),
    ]
    assert games == play_pairs("tictactoe", FIRST, RANDOM, [3, 4])


def test_results_are_those_of_the_first_player() -> None:
    games = play_pairs("tictactoe", FIRST, FIRST, [0])  # squares in their order: the first has 7, 5, 3
    assert [result for *_, result in games] == [1, 1]


def test_models_vote_and_models_of_another_game_are_refused(run: RunDir, monkeypatch: pytest.MonkeyPatch) -> None:
    found = contestants_of([str(run.root), f"{run.root}@vote2", f"{run.root}@stage", "random"], "tictactoe")
    assert [player.name for player in found] == ["run v1", "run v2", "run v3", "run vote of v2 to v3", "random"]
    assert len(found[3].models) == 2
    assert len(play_pairs("tictactoe", found[3], found[0], [0, 1])) == 4
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[2] / "examples"))
    with pytest.raises(SettingsError, match="18 features and 9 actions, the game"):
        play_pairs("connect_four:SPEC", found[0], RANDOM, [0])


@pytest.mark.parametrize(
    ("name", "why"), [("nobody", "no contestant 'nobody'"), ("RUN@9", "does not keep version 9"), ("RUN@x", "after @")]
)
def test_names_that_mean_nobody_are_refused(run: RunDir, name: str, why: str) -> None:
    with pytest.raises(SettingsError, match=why):
        contestants_of([name.replace("RUN", str(run.root))], "tictactoe")


def test_every_game_is_recorded_once_and_a_second_run_plays_only_what_is_missing(run: RunDir) -> None:
    with ArenaLedger(run.ledger) as ledger:
        Arena("tictactoe", (FIRST, RANDOM), ledger, 20, "auto").play(1)
        before = ledger.query("SELECT * FROM arena_games")
        assert len(before) == 20
        Arena("tictactoe", (FIRST, RANDOM), ledger, 20, "auto").play(1)
        assert ledger.query("SELECT * FROM arena_games") == before
        Arena("tictactoe", (FIRST, RANDOM), ledger, 30, "auto").play(1)
        assert len(ledger.query("SELECT * FROM arena_games")) == 30
        ledger.record("tictactoe", [("lowest", "random", 0, -1)])  # known already
        assert len(ledger.pairs("tictactoe", "lowest", "random")) == 15
        table = rated(ledger, "tictactoe", {"random": 0.0}).table
        assert [(row.player, row.games) for row in table] == [("lowest", 30), ("random", 30)]


def test_a_test_of_two_ends_as_soon_as_it_is_decided(run: RunDir) -> None:
    with ArenaLedger(run.ledger) as ledger:
        arena = Arena("tictactoe", (FIRST, RANDOM), ledger, 2000, "auto", Sprt(0, 50))
        arena.play(1)
        assert "lowest is stronger than random" in arena.verdict()
        assert len(ledger.query("SELECT * FROM arena_games")) < 1000


def test_with_many_contestants_games_go_where_the_order_is_least_certain(run: RunDir) -> None:
    others = [ArenaPlayer(f"random {n}", scripted="random") for n in range(3)]
    with ArenaLedger(run.ledger) as ledger:
        Arena("tictactoe", (FIRST, *others), ledger, 40, "uncertain").play(1)
        games = ledger.results("tictactoe")
        assert sum(sum(counts.values()) for counts in games.values()) == 2 * 20 * 4 * 2
        among = sum(sum(c.values()) for two, c in games.items() if "lowest" not in two)
        assert among > sum(sum(c.values()) for two, c in games.items()) / 2  # that "lowest" is stronger is soon clear


@pytest.mark.slow
def test_the_command_plays_in_processes_and_prints_a_table(run: RunDir, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["arena", str(run.root), "random", "--game", "tictactoe", "--games", "4", "--workers", "2"]
    assert main([*arguments, "--anchor", "random=0"]) == 0
    out = capsys.readouterr().out
    assert "24/24 games" in out
    assert "anchor" in out
    assert main(["arena", str(run.root), "--game", "tictactoe", "--sprt", "0", "50"]) == 1
    assert "two contestants, not 3" in capsys.readouterr().err


@pytest.mark.slow
def test_a_match_of_a_run_is_played_with_what_is_on_stage(run: RunDir, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["match", str(run.root), "random", "--game", "tictactoe", "--games", "4"]) == 0
    out = capsys.readouterr().out
    assert "4/4 games" in out
    assert f"{run.root.name} v{ModelStore(run.model, run.ledger).kept_versions()[-1]}" in out
    assert main(["match", str(run.root), "random", "--clock", "10"]) == 1
    assert "--clock and --save cannot be used" in capsys.readouterr().err


def test_a_game_of_one_player_is_compared_by_its_evaluator(run: RunDir, monkeypatch: pytest.MonkeyPatch) -> None:
    def evaluate(model: str, first: int, games: int) -> dict[str, str]:
        return {"results": ("W" if "000002" in model else "L") * games}

    games = {**specs.registered_games()}
    games["drift"] = GameSpec(name="drift", matches=games["drift"].matches, evaluator=evaluate)
    monkeypatch.setattr(specs, "registered_games", lambda: games)
    one, other = contestants_of([f"{run.root}@2", f"{run.root}@3"], "drift")
    assert play_pairs("drift", one, other, [7]) == [("run v2", "run v3", 7, 1), ("run v3", "run v2", 7, -1)]


def test_outside_opponents_of_a_game_of_one_player_win_what_the_version_loses(
    run: RunDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    def play(name: str, model: str, first: int, games: int) -> dict[str, str]:
        assert (name, games) == ("Hard", 2)
        return {"results": "WL"}

    outside = Contestants(names="Hard", known=lambda name: name == "Hard", play=play)
    games = {**specs.registered_games()}
    games["drift"] = GameSpec(name="drift", matches=games["drift"].matches, contestants=outside)
    monkeypatch.setattr(specs, "registered_games", lambda: games)
    version, hard = contestants_of([f"{run.root}@2", "Hard"], "drift")
    assert play_pairs("drift", version, hard, [7]) == [("run v2", "Hard", 7, 1), ("Hard", "run v2", 7, 1)]
    assert play_pairs("drift", hard, version, [7]) == [("Hard", "run v2", 7, -1), ("run v2", "Hard", 7, -1)]
    with pytest.raises(SettingsError, match="none of random, Hard"):
        contestants_of(["Harder"], "drift")
    with ArenaLedger(run.ledger) as ledger, pytest.raises(SettingsError, match="have a game"):
        Arena("drift", (hard, RANDOM), ledger, 2, "all")
    with ArenaLedger(run.ledger) as ledger, pytest.raises(SettingsError, match="which need an evaluator"):
        Arena("drift", contestants_of([f"{run.root}@2", f"{run.root}@3"], "drift"), ledger, 2, "all")


def test_a_scripted_opponent_that_does_not_decide_in_every_match_is_named(
    run: RunDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(specs.registered_games()["tictactoe"].rivals, "lowest", lambda *_: 0)
    with pytest.raises(GameFailed, match=r"array of shape \(\); it must return one action for each of the 1 matches"):
        play_pairs("tictactoe", FIRST, RANDOM, [1])


def test_who_cannot_play_is_left_out_and_the_others_go_on(run: RunDir, capsys: pytest.CaptureFixture[str]) -> None:
    broken = ArenaPlayer("broken", scripted="nobody knows it")
    with ArenaLedger(run.ledger) as ledger:
        Arena("tictactoe", (FIRST, RANDOM, broken), ledger, 10, "all").play(1)
        assert len(ledger.query("SELECT * FROM arena_games")) == 10
        with pytest.raises(SettingsError, match="cannot play"):
            Arena("tictactoe", (FIRST, broken), ledger, 10, "all", Sprt(0, 50)).play(1)
    told = capsys.readouterr()
    assert "lowest and broken play each other no more: 3 batches failed" in told.err
    assert "10/10 games" in told.out


@pytest.mark.slow
def test_with_uncertain_pairing_everybody_plays_before_anybody_plays_often(run: RunDir) -> None:
    players = [ArenaPlayer(f"random {n}", scripted="random") for n in range(9)]
    with ArenaLedger(run.ledger) as ledger:
        Arena("tictactoe", players, ledger, 2, "uncertain").play(1)
        rows = rated(ledger, "tictactoe", {}).table
    assert len(rows) == 9
    assert min(row.games for row in rows) >= 4
