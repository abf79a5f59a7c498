from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from understudy.errors import RunDirError
from understudy.ledger import history
from understudy.ledger.connection import Ledger, LedgerGame, Totals
from understudy.ledger.history import MOST_VALUES, OTHER_VALUES
from understudy.watch.history import read_history


def game(name: str, **about: Any) -> LedgerGame:
    return LedgerGame(name, f"{name}.npz", "Victory", 10, 1.5, 100, **about)


def test_a_version_and_its_games_are_recorded_together_or_not_at_all(tmp_path: Path) -> None:
    with Ledger(tmp_path / "l.sqlite") as ledger:
        ledger.record_version(1, None, "learner", [game("a")], {"loss": 0.5, "seconds": 2.0, "entropy": 0.1})
        with pytest.raises(sqlite3.IntegrityError):
            ledger.record_version(2, 1, "learner", [game("b"), game("a")], {"loss": 0.5})
        assert ledger.head() == 1
        assert ledger.known(["a", "b"]) == {"a"}
        (version,) = ledger.versions()
    assert (version.games, version.steps, version.loss, version.seconds) == (1, 10, 0.5, 2.0)
    assert version.stats == {"entropy": 0.1}


def test_totals_are_of_one_publisher(tmp_path: Path) -> None:
    with Ledger(tmp_path / "l.sqlite") as ledger:
        ledger.record_version(1, None, "new")
        for i, loss in enumerate((1.0, 2.0, 6.0)):
            ledger.record_version(i + 2, i + 1, "learner", [game(f"{i}")], {"loss": loss, "seconds": 1.0})
        ledger.record_version(9, 4, "bot", [game("x")], {"loss": 100.0}, "online")
        totals = ledger.totals("learner")
    assert (totals.batches, totals.games, totals.steps, totals.seconds) == (3, 3, 30, 3.0)
    assert (totals.average_loss, totals.last_loss) == (3.0, 6.0)


def test_an_empty_ledger_has_empty_totals(tmp_path: Path) -> None:
    with Ledger(tmp_path / "l.sqlite") as ledger:
        totals = ledger.totals("learner")
        assert (totals.batches, totals.average_loss, totals.last_loss, ledger.head()) == (0, None, None, None)


def test_many_ids_can_be_asked_for_at_once(tmp_path: Path) -> None:
    with Ledger(tmp_path / "l.sqlite") as ledger:
        ledger.record_version(1, None, "learner", [game(f"{i}") for i in range(1200)])
        assert len(ledger.known(f"{i}" for i in range(3000))) == 1200


def test_a_file_that_is_no_database_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "l.sqlite").write_bytes(b"no database at all, whatever its name" * 50)
    with pytest.raises(RunDirError, match="understudy doctor"):
        Ledger(tmp_path / "l.sqlite")


def test_a_reader_does_not_disturb_a_writer(tmp_path: Path) -> None:
    with Ledger(tmp_path / "l.sqlite") as writer:
        writer.record_version(1, None, "learner")
        with Ledger(tmp_path / "l.sqlite", read_only=True) as reader:
            assert reader.head() == 1
            writer.record_version(2, 1, "learner")
            assert reader.head() == 2
            with pytest.raises(RunDirError, match="cannot be written"):
                reader.record_rejected("x", "why", 1)


def test_a_ledger_of_an_earlier_version_gets_the_tables_that_came_later(tmp_path: Path) -> None:
    path = tmp_path / "l.sqlite"
    with Ledger(path) as ledger:
        ledger.record_version(1, None, "learner", [game("a")])
    with sqlite3.connect(path) as db:
        db.executescript("DROP TABLE job_failures; PRAGMA user_version = 1;")
    db.close()
    with Ledger(path) as ledger:
        assert [ledger.record_failure("analyse", "hash", "why") for _ in range(2)] == [1, 2]
        assert ledger.head() == 1


def test_the_oldest_rows_are_let_go_and_stay_counted_in_the_charts_too(tmp_path: Path) -> None:
    with Ledger(tmp_path / "l.sqlite") as ledger:
        ledger.record_version(1, None, "learner", [game(f"a{i}") for i in range(2000)], {"loss": 0.5})
        ledger.record_skipped([game(f"b{i}") for i in range(1000)])
        before = read_history(ledger, points=20)
        ledger.forget_games(3000)
        assert len(ledger.games()) == 3000
        ledger.forget_games(900)
        assert len(ledger.games()) == 901
        assert ledger.known(["a5", "b50", "b200"]) == {"b200"}
        assert ledger.games_by_outcome() == {"learned": 2000, "online": 0, "skipped": 1000, "rejected": 0}
        assert read_history(ledger, points=20).win_rate == before.win_rate
        ledger.record_skipped([game("c")])
        ledger.forget_games(500)
        assert (len(ledger.games()), sum(ledger.games_by_outcome().values())) == (501, 3001)


def test_a_game_in_the_archive_keeps_its_row(tmp_path: Path) -> None:
    with Ledger(tmp_path / "l.sqlite") as ledger:
        ledger.record_version(1, None, "learner", [game(f"{i}") for i in range(50)], {"loss": 0.5})
        ledger.mark_archived([("20.npz", 100, "20")])
        ledger.forget_games(5)
        assert [row[0].id for row in ledger.games()] == [f"{i}" for i in range(20, 50)]


def test_a_ledger_of_version_3_keeps_its_results_by_race_and_difficulty_as_axes(tmp_path: Path) -> None:
    path = tmp_path / "l.sqlite"
    with sqlite3.connect(path) as db:
        db.executescript(Path(__file__).with_name("version_3.sql").read_text(encoding="utf-8"))
    db.close()
    with Ledger(path) as ledger:
        assert [game.axes for game, *_ in ledger.games()] == [
            {"opponent_race": "Zerg", "difficulty": "Hard"},
            {"opponent_race": "Terran", "difficulty": "Hard"},
            {},
        ]
        rows = ledger.query("SELECT axis, value, won, lost FROM axis_blocks WHERE size = 8 ORDER BY axis, value")
        assert rows == [
            ("difficulty", "Hard", 1, 1),
            ("opponent_race", "Terran", 0, 1),
            ("opponent_race", "Zerg", 1, 0),
        ]
        assert ledger.query("SELECT along, won, lost FROM result_blocks WHERE size IN (1, 8)") == [
            ("game", 2, 1),
            ("version", 2, 1),
        ]
    with Ledger(path) as ledger:  # once is enough
        assert len(ledger.query("SELECT * FROM axis_blocks WHERE size = 8")) == 3


def test_an_axis_with_a_new_value_in_every_game_does_not_fill_the_ledger(tmp_path: Path) -> None:
    with Ledger(tmp_path / "l.sqlite") as ledger:
        for number in range(60):
            ledger.record_version(
                number + 1, number or None, "learner", [game(str(number), axes={"note": f"{number}"})]
            )
        values = dict(ledger.query("SELECT value, won FROM axis_blocks WHERE size = 128"))
    assert len(values) == MOST_VALUES + 1
    assert values[OTHER_VALUES] == 60 - MOST_VALUES


@pytest.mark.slow
def test_rows_of_old_versions_are_let_go_and_stay_counted_in_totals_and_charts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def filled(name: str) -> Ledger:
        ledger = Ledger(tmp_path / name)
        for version in range(1, 501):
            who = "quiet" if version == 7 else "learner"
            ledger.record_version(version, version - 1 or None, who, [], {"loss": version / 500, "games": 2})
        return ledger

    monkeypatch.setattr("understudy.ledger.connection._FORGET_EVERY", 50)
    whole = filled("whole.sqlite")
    monkeypatch.setattr(history, "KEPT_VERSIONS", 60)
    monkeypatch.setattr(history, "KEPT_BLOCKS", {1: 100, 16: 100, 128: 100, 256: 256})
    with whole, filled("bounded.sqlite") as bounded:
        assert len(bounded.versions()) < 120
        assert bounded.versions()[0].publisher == "quiet"  # the newest of each publisher stays
        assert _without_time(bounded.totals("learner")) == pytest.approx(_without_time(whole.totals("learner")))
        assert bounded.head() == 500
        shown, expected = (read_history(ledger, points=2).metrics["loss"] for ledger in (bounded, whole))
        assert shown.value == pytest.approx(expected.value)
        blocks = "SELECT count(*) FROM metric_blocks WHERE size = 16"
        assert bounded.query(blocks)[0][0] < whole.query(blocks)[0][0] / 2


def _without_time(totals: Totals) -> tuple[float | None, ...]:
    return totals.batches, totals.games, totals.steps, totals.seconds, totals.average_loss, totals.last_loss
