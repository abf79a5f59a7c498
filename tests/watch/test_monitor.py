from __future__ import annotations

import contextlib
import io
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from rich.console import Console, Group

from game_files import put_game
from understudy.cli import main
from understudy.run.log import append_entry, show
from understudy.run.update_log import UpdateLog
from understudy.rundir import RunDir
from understudy.watch.formats import size
from understudy.watch.monitor_rows import frame, sparkline
from understudy.watch.report import look_back, status_line
from understudy.watch.snapshot import RunSnapshot, read_run
from watch.prepared import new_run, set_status

ROOT = Path(__file__).parent.parent.parent


def screen(
    run: RunDir, width: int, height: int, before: RunSnapshot | None = None, encoding: str = "utf-8"
) -> list[str]:
    """What the monitor shows on a terminal of this size without colour."""
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    console = Console(file=stream, width=width, height=height, no_color=True, highlight=False, legacy_windows=False)
    seen = read_run(run, log_lines=100)
    console.print(Group(*frame(seen, before or seen, look_back(run), console, height)))
    stream.seek(0)
    return stream.read().splitlines()


def test_a_small_terminal_shows_every_part_of_the_run(learned: RunDir) -> None:
    set_status(learned)
    put_game(learned.buffer, result="Tie")
    lines = screen(learned, 80, 24)
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80
    assert lines[2].startswith("GREEN  Running, for ")
    assert ": version 5" in lines[2]
    labels = [line.split("  ")[0] for line in lines if not line.startswith(" ")]
    wanted = ["Buffer", "Archive", "Rejected", "Model", "Learner", "Win rate", "Loss", "Machine", "Log"]
    assert [label for label in labels if label in wanted] == wanted
    text = "\n".join(lines)
    assert "1 game, " in text
    assert "Tie " in text
    assert "version 5 by learner" in text
    assert "40 files, 4 batches, 480 samples" in text
    assert "Learner Stopped: Total Processed: 40 files" in text


def test_the_stage_is_told_in_full_where_there_is_room(learned: RunDir) -> None:
    words = "v5, the newest version, is on stage; the champion is v1 since 20:24."
    words += " The line beats the champion in 62 % of 40"
    set_status(learned, gate={"sentence": f"{words} comparisons against the same opponents, 50-73 %."})
    (small,) = [line for line in screen(learned, 80, 24) if line.startswith("Stage")]
    assert small == "Stage     v5, the newest version, is on stage; the champion is v1 since 20:24"
    large = " ".join(line.strip() for line in screen(learned, 80, 44))
    assert f"Stage     {words} comparisons against the same opponents, 50-73 %." in large


def test_self_play_has_a_mean_return_in_place_of_a_win_rate(learned: RunDir) -> None:
    set_status(learned, selfplay={"updates": 7, "decisions": 900, "games": 12})
    text = "\n".join(screen(learned, 80, 24))
    assert "self-play: 7 updates, 900 decisions, 12 games" in text
    assert "Win rate" not in text
    assert f"mean {read_run(learned).metrics['mean_return']:.4f} a game" in text
    assert "first player" not in text


def test_of_two_players_the_mean_return_is_that_of_the_first(learned: RunDir) -> None:
    set_status(learned, selfplay={"updates": 7, "decisions": 900, "games": 12})
    updates = UpdateLog(learned.updates, 0)
    updates.note(1, 1, 12, 900, {"mean_return": -0.5, "players": 2})
    updates.flush()
    assert " a game, first player" in "\n".join(screen(learned, 80, 24))


def test_the_status_line_counts_the_games_of_self_play(learned: RunDir) -> None:
    assert " games=40 " in status_line(learned)[0]
    set_status(learned, selfplay={"updates": 7, "decisions": 900, "games": 12})
    assert " games=12 " in status_line(learned)[0]  # the ledger has its evaluation games only


def test_a_large_terminal_shows_the_log_as_it_is(learned: RunDir) -> None:
    lines = screen(learned, 120, 44)
    assert len(lines) <= 44
    assert "  Batch Size:      10 games" in lines
    assert any(line.strip().startswith("game_") and "KB" in line for line in lines)


def test_what_changed_since_the_look_before_is_shown(learned: RunDir) -> None:
    before = read_run(learned)
    put_game(learned.buffer)
    put_game(learned.buffer, seed=2)
    assert any(line.startswith("Buffer") and line.endswith("[+2]") for line in screen(learned, 80, 24, before))


def test_trouble_is_told_in_words_on_top(learned: RunDir) -> None:
    set_status(learned, state="stopped", heartbeat_age=60)
    put_game(learned.buffer)
    first, second = screen(learned, 80, 24)[2:4]
    assert first.startswith("RED    The learner stopped 1m 0s ago, and 1 game waits.")
    assert second.startswith("       ")


def test_a_terminal_without_unicode_gets_none(learned: RunDir) -> None:
    assert all(line.isascii() for line in screen(learned, 80, 24, encoding="cp1252"))


def test_once_prints_a_frame_and_ends(learned: RunDir, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["monitor", str(learned.root), "--once"]) == 0
    shown = capsys.readouterr().out
    assert "GREY   Finished, " in shown
    assert f"understudy learn {learned.root}" in " ".join(shown.split())
    assert "\x1b" not in shown


HOSTILE = "game_20260101_000000_\x1b]0;hit\x07\x1b[2J\u202eVictory_1.npz"


def test_escape_sequences_in_names_are_not_sent_to_the_terminal(
    learned: RunDir, capsys: pytest.CaptureFixture[str]
) -> None:
    (learned.rejected / HOSTILE).write_bytes(b"")
    (learned.buffer / HOSTILE).write_bytes(b"")
    set_status(learned, state="waiting: \x1b[31mred\x1b[0m", last_error="\x9b2J", errors=1)
    append_entry(learned.log, "Note\x1b[1m", {"Reason": "one\n[2026-01-01 00:00:00] Forged Entry\x1b[2J"}, time.time())
    for text in ("\n".join(screen(learned, 80, 24)), "\n".join(screen(learned, 120, 44)), status(learned, capsys)):
        assert not [character for character in text if not character.isprintable() and character != "\n"]
    assert "\n[2026-01-01 00:00:00] Forged" not in learned.log.read_text(encoding="utf-8")
    show(f"loses to {HOSTILE}")
    assert "\x1b" not in capsys.readouterr().out


def status(run: RunDir, capsys: pytest.CaptureFixture[str]) -> str:
    main(["status", str(run.root)])
    return capsys.readouterr().out


def test_status_is_one_line_for_scripts_and_fails_when_something_is_wrong(
    learned: RunDir, capsys: pytest.CaptureFixture[str]
) -> None:
    set_status(learned)
    assert main(["status", str(learned.root)]) == 0
    facts = dict(part.split("=", 1) for part in shlex.split(capsys.readouterr().out))
    assert (facts["state"], facts["health"], facts["version"], facts["waiting"]) == ("waiting", "green", "5", "0")
    assert facts["detail"] == "for games"
    set_status(learned, heartbeat_age=60)
    assert main(["status", str(learned.root)]) == 1
    out = capsys.readouterr().out
    assert out.startswith("state=failed health=red ")
    assert out.count("\n") == 1


def test_json_is_the_whole_snapshot_with_health_and_history(
    learned: RunDir, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["monitor", str(learned.root), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["health"]["light"] == "grey"
    assert told["health"]["phase"]["word"] == "finished"
    assert told["model"]["version"] == 5
    assert len(told["history"]["metrics"]["loss"]["value"]) == 4


def test_missing_and_empty_directories_give_a_sentence_that_says_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["monitor", str(tmp_path / "nothing")]) == 1
    assert capsys.readouterr().err.endswith("makes one.\n")
    assert main(["monitor", str(tmp_path), "--once"]) == 0
    assert "Not started. Start a bot with this run:" in capsys.readouterr().out
    assert main(["monitor", str(new_run(tmp_path / "new").root), "--once"]) == 0


def test_the_familiar_script_shows_the_run_live_and_ctrl_c_ends_it(learned: RunDir) -> None:
    pty = pytest.importorskip("pty")
    parent, child = pty.openpty()
    command = [sys.executable, str(ROOT / "tools" / "monitor_background_training.py"), str(learned.root)]
    environment = {**os.environ, "TERM": "xterm", "PYTHONPATH": str(ROOT / "src"), "COLUMNS": "80", "LINES": "24"}
    process = subprocess.Popen(
        command, stdin=child, stdout=child, stderr=child, env=environment, start_new_session=True
    )
    os.close(child)
    shown = b""
    try:
        while b"Machine" not in shown:
            shown += os.read(parent, 65536)
        process.send_signal(signal.SIGINT)
        with contextlib.suppress(OSError):  # its terminal is closed
            while part := os.read(parent, 65536):  # what nobody reads would keep it from ending
                shown += part
        code = process.wait(60)
    finally:
        process.kill()
        process.wait()
        os.close(parent)
    assert b"GREY" in shown
    assert b"Monitoring Started: " in shown
    assert b"Uptime: " in shown
    assert code == 0


def test_a_sparkline_is_as_long_as_asked_for_or_as_the_values_are() -> None:
    assert sparkline([], 10, "12345678") == "-"
    assert sparkline([0, 1, 2, 3], 10, "1234") == "1234"
    assert sparkline([5, 5], 10, "1234") == "11"
    assert sparkline(list(range(100)), 4, "1234") == "1234"
    assert sparkline([0.5], 4, "1234", 0.0, 1.0) == "3"


def test_sizes_are_told_as_people_read_them() -> None:
    assert [size(n) for n in (0, 999, 1000, 52_100, 1e6, 2.5e9, 1e13)] == [
        "0 B",
        "999 B",
        "1.0 KB",
        "52.1 KB",
        "1.0 MB",
        "2.5 GB",
        "10.0 TB",
    ]
