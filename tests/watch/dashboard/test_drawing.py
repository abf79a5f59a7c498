from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from numpy.typing import NDArray

from understudy.games.shogi.pages.board import board
from understudy.games.shogi.pages.replayed import Replayed
from understudy.games.shogi.pages.viewer import thought_then
from understudy.ledger.connection import Version
from understudy.machine.load_log import Load
from understudy.watch.dashboard import charts
from understudy.watch.dashboard.charts import Line
from understudy.watch.dashboard.learning import axis_titles
from understudy.watch.dashboard.machine import over_time
from understudy.watch.dashboard.markup import Markup, table, tag
from understudy.watch.dashboard.metric_charts import ChartView, lines_of, normal_range, smoothed
from understudy.watch.dashboard.models import lineage, versions_table
from understudy.watch.dashboard.run_notes import defaults, difference_table, settings_table
from understudy.watch.history import Series
from understudy.watch.metrics import all_metrics
from understudy.watch.win_rates import Rates

Floats = NDArray[np.float32]


def test_text_is_escaped_and_markup_is_not() -> None:
    assert tag("b", "<i>", Markup("<i>"), title='"') == '<b title="&quot;">&lt;i&gt;<i></b>'
    assert "<script>" not in table(("<script>",), [("<script>",)])


def test_a_line_with_a_band_brings_the_area_between_low_and_high() -> None:
    options = charts.line_chart([Line("rate", [(1, 0.5, 0.4, 0.7), (2, 0.6, 0.5, 0.8)])], x_name="game")
    low, span, line = options["series"]
    assert low["data"] == [[1, 0.4], [2, 0.5]]
    assert [round(height, 6) for _, height in span["data"]] == [0.3, 0.3]
    assert line["data"][0] == [1, 0.5, 0.4, 0.7]
    assert options["xAxis"]["name"] == "game"


def test_a_single_point_stands_in_the_middle() -> None:
    one = charts.line_chart([Line("rate", [(7, 0.5)]), Line("other", [(7, 0.1)])], x_name="game")
    assert (one["xAxis"]["min"], one["xAxis"]["max"]) == (6, 8)
    two = charts.line_chart([Line("rate", [(7, 0.5), (8, 0.5)])], x_name="game")
    assert (two["xAxis"]["min"], two["xAxis"]["max"]) == ("dataMin", "dataMax")


def test_shares_are_stacked_in_colours_of_their_own() -> None:
    options = charts.share_chart([1, 2], {"A": [0.25, 0.5], "B": [0.75, 0.5]}, x_name="game")
    assert [series["stack"] for series in options["series"]] == ["all", "all"]
    assert len({series["areaStyle"]["color"] for series in options["series"]}) == 2
    for series in options["series"]:  # else legend and tooltip show another colour than the area
        assert series["itemStyle"]["color"] == series["areaStyle"]["color"]
        assert series["areaStyle"]["opacity"] == 1


def test_readings_of_the_load_have_gaps_where_no_learner_ran_and_are_thinned_with_their_extremes() -> None:
    few = [Load(at, cpu=at) for at in (0.0, 10.0, 500.0)]
    assert over_time(few, lambda load: load.cpu) == [(0, 0), (10_000, 10), (11_000, None), (500_000, 500)]
    assert over_time(few, lambda load: load.memory) == []
    many = [Load(10.0 * number, workers=number % 4) for number in range(1600)]
    thinned = over_time(many, lambda load: load.workers)
    assert thinned == [(40_000 * number, 1.5, 0, 3) for number in range(400)]


def test_what_was_thought_when_a_move_was_played_is_shown_with_the_move() -> None:
    pytest.importorskip("cshogi")
    from understudy.games.shogi.thoughts import Thought  # noqa: PLC0415 - the extra shogi may be missing

    thought = Thought((("7g7f", 0.61), ("2g2f", 0.2)), 0.25)
    start, then = "9/9/9/9/9/9/9/9/9 b - 1", "9/9/9/9/9/9/9/9/9 w - 2"
    game = Replayed(
        ("update 7", "White"), "draw", (start, then, start), ("2g2f", "3c3d"), (None, None), (thought, None)
    )
    first, second, end = (thought_then(game, at, kanji=False) for at in range(3))
    assert "update 7 thought (value for Black +0.25)" in first
    assert "width: 61%" in first
    assert first.count("played</span>") == 1
    assert first.index("2g2f") < first.index("played</span>")
    assert "does not say" in second
    assert "The game has ended." in end


def version(number: int, parent: int | None, publisher: str = "learner") -> Version:
    return Version(number, parent, publisher, 0.0, 1, 10, 0.1, 0.5, {})


def test_only_versions_that_are_kept_and_not_in_use_can_be_rolled_back_to() -> None:
    text = versions_table([version(3, 2), version(2, 1), version(1, None, "new")], kept=(2, 3), head=3)
    assert 'data-version="2"' in text
    assert 'data-version="3"' not in text
    assert 'data-version="1"' not in text
    assert "no longer kept" in text


def test_the_lineage_bends_where_a_version_did_not_come_from_the_one_before() -> None:
    straight = lineage([version(2, 1), version(1, None)])
    bent = lineage([version(3, 1, "rollback"), version(2, 1), version(1, None)])
    assert straight.count("<path") == 1
    assert "back" not in straight
    assert bent.count('class="from back"') == 1
    assert bent.count('class="dot back"') == 1


def test_a_board_has_forty_pieces_and_marks_the_last_move() -> None:
    start = "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1"
    drawn = board(start, "7g7f")
    assert drawn.count('class="piece"') == 40
    assert drawn.count('class="moved"') == 2
    assert drawn.count("rotate(180)") == 20
    assert drawn.count("歩") == 18
    letters = board("4k4/9/9/9/9/9/9/9/4K3+R b 2Pb 1", kanji=False)
    assert ">+R<" in letters
    assert "to move" in letters


def test_the_moves_a_network_would_play_are_legal_ranked_and_its_value_is_for_black() -> None:
    pytest.importorskip("cshogi")
    from understudy.games.shogi.pages.opinion import opinion  # noqa: PLC0415 - the extra shogi may be missing

    def evaluate(planes: Floats) -> tuple[Floats, Floats]:
        logits = np.zeros((1, 13_527), np.float32)
        logits[0, ::2] = 2.0
        return logits, np.array([[0.7, 0.2, 0.1]], np.float32)  # the player to move wins

    start = "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL"
    black, white = opinion(evaluate, f"{start} b - 1"), opinion(evaluate, f"{start} w - 1")
    assert black.value == pytest.approx(0.6)
    assert white.value == pytest.approx(-0.6)
    shares = [share for _, share in black.moves]
    assert shares == sorted(shares, reverse=True)
    assert len(black.moves) == 5
    assert all(usi[1] in "ghi" for usi, _ in black.moves)  # Black moves from below
    assert all(usi[1] in "abc" for usi, _ in white.moves)


def test_smoothing_follows_the_mean_from_the_first_point() -> None:
    assert smoothed([3.0] * 5, 25) == pytest.approx([3.0] * 5)
    values = [0.0, 10.0] * 50
    assert smoothed(values, 1) == values
    assert smoothed(values, 25)[-1] == pytest.approx(5.0, abs=0.5)
    slow = [sum(0.5 * 0.5**age * values[n - age] for age in range(n + 1)) / (1 - 0.5 ** (n + 1)) for n in range(100)]
    assert smoothed(values, 3) == pytest.approx(slow)


def test_a_metric_is_drawn_along_the_chosen_axis() -> None:
    series = Series([1, 2], at=[5.0, 6.0], games=[10, 30], decisions=[100, 300], version=[1, 1], value=[0.5, 0.7])
    series = dataclasses.replace(series, low=[0.4, 0.6], high=[0.6, 0.8])
    assert lines_of(series, "loss", ChartView())[0].points == [(1, 0.5, 0.4, 0.6), (2, 0.7, 0.6, 0.8)]
    assert [point[0] for point in lines_of(series, "loss", ChartView("decisions"))[0].points] == [100, 300]
    assert [point[0] for point in lines_of(series, "loss", ChartView("at"))[0].points] == [5000, 6000]
    raw, smooth = lines_of(series, "loss", ChartView("games", 5))
    assert raw.faint
    assert [point[:2] for point in raw.points] == [(10, 0.5), (30, 0.7)]
    assert smooth.points[1] == (30, pytest.approx(smoothed([0.5, 0.7], 5)[1]))


def test_settings_show_what_is_not_the_default_and_in_what_runs_differ() -> None:
    usual = defaults()
    own = {"training.gamma": 0.9, "training.clip": usual["training.clip"]}
    shown = settings_table(own)
    assert shown.index("training.gamma") < shown.index("training.clip")
    assert f"<td>0.9</td><td>default: {usual['training.gamma']}</td>" in shown
    assert "<b>training.clip</b>" not in shown
    apart = difference_table([("one", own), ("<two>", {**own, "training.gamma": 0.5}), ("none", {})])
    assert "<td>training.gamma</td><td>0.9</td><td>0.5</td>" in apart
    assert "training.clip" not in apart
    assert "&lt;two&gt;" in apart
    assert "same settings" in difference_table([("one", own), ("two", own)])


def test_a_note_that_says_the_same_as_an_axis_of_the_game_is_not_shown_beside_it() -> None:
    by_race = {"Zerg": Rates(x=[1], to=[1], at=[0.0], value=[1.0], low=[0.2], high=[1.0], games=[1], played=[1])}
    assert axis_titles({"opponent_race": by_race, "race": dict(by_race), "build": {"Rush": Rates()}}) == {
        "opponent_race": "Opponent race",
        "build": "Build",
    }


def test_the_normal_range_follows_the_setting_that_bounds_the_metric() -> None:
    kl, loss = all_metrics()["kl"], all_metrics()["loss"]
    assert normal_range(kl, {}) == kl.range == (0.0001, 0.02)
    assert normal_range(kl, {"training.target_kl": 0.05}) == (0.0001, 0.05)
    assert normal_range(kl, {"training.target_kl": 0.0}) == kl.range  # no limit
    assert normal_range(loss, {"training.target_kl": 0.05}) == loss.range
