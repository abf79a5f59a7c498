from __future__ import annotations

from pathlib import Path

import pytest

from understudy.run import update_log
from understudy.run.update_log import UpdateLog, read_updates
from understudy.watch.history import RunHistory
from understudy.watch.update_history import as_series, with_updates


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "logs" / "updates.jsonl"


def note(log: UpdateLog, first: int, last: int) -> None:
    for update in range(first, last + 1):
        log.note(update, update // 10, 2 * update, 100 * update, {"loss": float(update), "bad": float("nan")})


def test_every_update_has_a_line_with_what_was_counted_and_measured(path: Path) -> None:
    note(UpdateLog(path, 0), 1, 30)
    rows = read_updates(path)
    assert [row["update"] for row in rows] == list(range(1, 31))
    assert {name: rows[-1][name] for name in ("version", "games", "decisions", "n")} == {
        "version": 3,
        "games": 60,
        "decisions": 3000,
        "n": 1,
    }
    assert rows[-1]["values"] == {"loss": 30.0}


def test_the_file_is_bounded_and_covers_the_whole_run(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(update_log, "MOST_LINES", 20)
    log = UpdateLog(path, 0)
    note(log, 1, 1000)
    log.flush()
    rows = read_updates(path)
    assert len(rows) < 20
    assert sum(row["n"] for row in rows) == 1000
    assert rows[0]["values"]["loss"] == pytest.approx((1 + rows[0]["n"]) / 2)  # the mean of the first updates
    assert rows[-1]["update"] == 1000
    mean = sum(row["n"] * row["values"]["loss"] for row in rows) / 1000
    assert mean == pytest.approx(500.5)


def test_a_run_that_goes_on_counts_on_and_forgets_what_was_not_published(path: Path) -> None:
    note(UpdateLog(path, 0), 1, 25)
    again = UpdateLog(path, 20)  # updates 21 to 25 were lost with their process
    note(again, 21, 22)
    rows = read_updates(path)
    assert [row["update"] for row in rows] == list(range(1, 23))
    assert rows[-1]["games"] == 40 + 44  # of the run so far, and of this process


def test_a_damaged_line_costs_one_point_only(path: Path) -> None:
    note(UpdateLog(path, 0), 1, 3)
    lines = path.read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join([lines[0], "nonsense", '{"update": "x"}', lines[2], lines[1][:20]]), encoding="utf-8")
    assert [row["update"] for row in read_updates(path)] == [1, 3]


def test_the_history_shows_updates_with_every_axis_in_few_points(path: Path) -> None:
    assert with_updates(RunHistory(), path) == RunHistory()
    note(UpdateLog(path, 0), 1, 1000)
    history = with_updates(RunHistory(), path, points=50)
    assert history.along == "update"
    loss = history.metrics["loss"]
    assert len(loss.x) <= 50
    assert (loss.x[-1], loss.games[-1], loss.decisions[-1], loss.version[-1]) == (1000, 2000, 100_000, 100)
    assert loss.low[0] == 1.0 < loss.value[0] < loss.high[0]
    assert len(as_series(read_updates(path)[:1], 50)["loss"].x) == 1
